//! What an announced access still has to do.

use super::pattern::Pattern;

/// What was found out about an announced access, so that performing it need not find it out again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Due {
    /// Nothing that lasts.
    #[default]
    Unknown,
    /// All lanes fall into allocation `at` by `pattern`, as long as nothing is allocated or freed. Where they are scattered,
    /// their offsets are kept beside this.
    Whole {
        at: u32,
        pattern: Pattern,
        generation: u32,
    },
}
