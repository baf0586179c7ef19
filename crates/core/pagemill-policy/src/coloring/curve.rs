/// Misses of a task for every number of colors that it may have.
///
/// With page colors the number of *sets* varies and the ways stay, so this is no stack-distance curve, and it need not
/// fall everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissCurve {
    references: u64,
    /// `misses[k - 1]`: with k colors.
    misses: Vec<u64>,
}

/// Why numbers are no miss curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissCurveError {
    /// There is no number of colors.
    Empty,
    /// More misses than references.
    TooManyMisses {
        /// The number of colors.
        colors: usize,
        /// Misses with that many.
        misses: u64,
        /// References in all.
        references: u64,
    },
}

impl std::fmt::Display for MissCurveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("a miss curve has at least one number of colors"),
            Self::TooManyMisses {
                colors,
                misses,
                references,
            } => write!(
                f,
                "{misses} misses with {colors} colors are more than {references} references"
            ),
        }
    }
}

impl std::error::Error for MissCurveError {}

impl MissCurve {
    /// The curve of a task with `references`, of which `misses[k - 1]` miss with k colors.
    ///
    /// # Errors
    /// `misses` is empty, or holds more than `references`.
    pub fn new(references: u64, misses: Vec<u64>) -> Result<Self, MissCurveError> {
        if misses.is_empty() {
            return Err(MissCurveError::Empty);
        }
        let too_many = misses.iter().position(|misses| *misses > references);
        match too_many {
            None => Ok(Self { references, misses }),
            Some(place) => Err(MissCurveError::TooManyMisses {
                colors: place + 1,
                misses: misses[place],
                references,
            }),
        }
    }

    /// References to the cache.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// The largest number of colors that it covers.
    pub fn colors(&self) -> u16 {
        self.misses.len().try_into().unwrap_or(u16::MAX)
    }

    /// Misses with `colors` colors; more than it covers count as the most it does, and none as 1.
    pub fn misses(&self, colors: u16) -> u64 {
        let place = usize::from(colors).clamp(1, self.misses.len());
        self.misses[place - 1]
    }

    /// Misses over references; 0 without references.
    pub fn miss_ratio(&self, colors: u16) -> f64 {
        match self.references {
            0 => 0.0,
            references => self.misses(colors) as f64 / references as f64,
        }
    }

    /// The number of colors at which the miss ratio changes most: the best quota (CachePM, section 3.1.1).
    /// 1 where it never falls; the fewest among equals.
    pub fn best_quota(&self) -> u16 {
        let mut best = (0, 1);
        for colors in 2..=self.colors() {
            let drop = self.misses(colors - 1).saturating_sub(self.misses(colors));
            if drop > best.0 {
                best = (drop, colors);
            }
        }
        best.1
    }
}
