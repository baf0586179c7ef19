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

    /// The class with this letter, in either case.
    pub fn from_letter(letter: &str) -> Option<Self> {
        let is_own =
            |class: &Self| letter.eq_ignore_ascii_case(class.letter().encode_utf8(&mut [0; 4]));
        Self::ALL.into_iter().find(is_own)
    }

    /// A curve for a task of which only the class is known, over 1 to `colors` colors. An estimate: a slope, and for the sensitive classes
    /// a knee at three quarters (A) or half (B) of the cache, as the document draws them (CachePM, figures 3 to 6).
    pub fn typical_curve(self, colors: u16) -> MissCurve {
        let all = u64::from(colors.max(1));
        // Misses of 1,000 references. A falls by 700 in all, beyond the 300 at which its class begins; B by 200, between 100
        // and 300.
        let (start, slope, knee_fall, knee) = match self {
            Self::High => (900, 300, 400, all.div_ceil(4) * 3),
            Self::Medium => (400, 100, 100, all.div_ceil(2)),
            Self::LowManyMisses => (600, 0, 0, all),
            Self::LowFewMisses => (20, 0, 0, all),
        };
        let misses = (1..=all).map(|share| {
            let sloped = slope * (share - 1) / (all - 1).max(1);
            let behind_knee = if share >= knee { knee_fall } else { 0 };
            start - sloped - behind_knee
        });
        MissCurve::new(1000, misses.collect())
            .expect("at least 1 color, and at most 900 of 1000 miss")
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
