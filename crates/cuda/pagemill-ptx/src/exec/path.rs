//! Where lanes of a warp stand, and where they go.

use pagemill_ptx_ir::code::path::Path;

/// Lanes that stand at one place, while other lanes of the warp run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fragment {
    pub path: Path,
    pub stack: Vec<Path>,
    /// What they wait for; `None` when they can run.
    pub waits: Option<Meeting>,
}

/// Where lanes wait for other lanes of their warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// At entry `index` of the warp-operation table, for the lanes of `members` that have not ended.
    Exchange { index: u32, members: u32 },
    /// At entry `index` of the barrier table, for all lanes that have not ended.
    Barrier { index: u32 },
}
