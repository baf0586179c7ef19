//! How much of a run is timed.

use serde::{Deserialize, Serialize};

/// How much of a run is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// Every launch.
    #[default]
    Full,
    /// A part of the launches; the time of the others is estimated from it.
    Sampled,
    /// None: page traffic alone, and a bound for time.
    Pages,
}

impl Detail {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Full, Self::Sampled, Self::Pages];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Sampled => "sampled",
            Self::Pages => "pages",
        }
    }
}
