use super::MissCurve;

/// How a task's misses follow its share of the cache (CachePM, section 4.1 and table 2). The most sensitive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sensitivity {
    /// Class A: misses follow the share closely.
    High,
    /// Class B: misses follow the share.
    Medium,
    /// Class C: misses are many, whatever the share: a stream.
    LowManyMisses,
    /// Class D: misses are few, whatever the share.
    LowFewMisses,
}

impl Sensitivity {
    /// All classes, the most sensitive first.
    pub const ALL: [Self; 4] = [
        Self::High,
        Self::Medium,
        Self::LowManyMisses,
        Self::LowFewMisses,
    ];

    /// The letter of the document.
    pub fn letter(self) -> char {
        match self {
            Self::High => 'A',
            Self::Medium => 'B',
            Self::LowManyMisses => 'C',
            Self::LowFewMisses => 'D',
        }
    }

    /// Whether a larger share helps.
    pub fn is_sensitive(self) -> bool {
        matches!(self, Self::High | Self::Medium)
    }
}

impl std::fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.letter())
    }
}

/// Where the classes part. The document draws its classes and names no thresholds; the defaults are estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensitivityRule {
    /// Class A from this fall of the miss ratio on, from the smallest share to all colors.
    pub high_fall: f64,
    /// Class B from this fall on.
    pub medium_fall: f64,
    /// Class C from this miss ratio on, with all colors.
    pub many_misses: f64,
}

impl Default for SensitivityRule {
    fn default() -> Self {
        Self {
            high_fall: 0.30,
            medium_fall: 0.10,
            many_misses: 0.10,
        }
    }
}

impl SensitivityRule {
    /// What a task with the least share of `colors` has: an eighth, as the document leaves 8 of 64 colors to a task that needs
    /// few (CachePM, section 3.1.1).
    pub fn smallest_share(colors: u16) -> u16 {
        (colors / 8).max(1)
    }

    /// The class of a task. The fall is from `smallest` colors: what a task with the least share would have.
    pub fn class_of(&self, curve: &MissCurve, smallest: u16) -> Sensitivity {
        let with_all = curve.miss_ratio(curve.colors());
        let fall = curve.miss_ratio(smallest) - with_all;
        if fall >= self.high_fall {
            Sensitivity::High
        } else if fall >= self.medium_fall {
            Sensitivity::Medium
        } else if with_all >= self.many_misses {
            Sensitivity::LowManyMisses
        } else {
            Sensitivity::LowFewMisses
        }
    }
}
