use std::collections::BTreeMap;

use super::Observation;

/// What the timings mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// A cached page is read as slowly as another: nothing can be said.
    NoSignal,
    /// No set of the pages looked at pushes a page out reliably.
    NoSets,
    /// It takes so many pages to push one out that no few of them can share its place: lines are spread one by one.
    Hashed {
        /// Pages that it took.
        set_pages: u64,
    },
    /// Any page pushes any other out.
    OneColor,
    /// Pages have colors.
    Colors {
        /// How many were found, or, where not all were looked for, how many there are by the part of the pages that they cover.
        colors: u64,
        /// Whether frame numbers tell them.
        follows: Follows,
    },
}

/// Whether colors follow from frame numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Follows {
    /// Frame numbers are hidden from this user.
    Unknown,
    /// Pages of one color have the same frame number, modulo the number of colors.
    FrameNumber,
    /// They do not: of two pages with the same color, this part agree.
    SomethingElse {
        /// From 0 to 1; what chance gives is 1 / colors.
        agreement: f64,
    },
}

/// What the last two verdicts that say anything say, if it is the same: other work on the machine misleads now and then, but seldom
/// twice in a row to the same end.
pub fn agreed(verdicts: &[Verdict]) -> Option<Verdict> {
    let says_something =
        |verdict: &&Verdict| !matches!(verdict, Verdict::NoSignal | Verdict::NoSets);
    let mut said = verdicts.iter().rev().filter(says_something);
    let (last, before) = (said.next()?, said.next()?);
    before.agrees_with(*last).then_some(*last)
}

impl Verdict {
    fn agrees_with(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Colors { colors, follows },
                Self::Colors {
                    colors: other_colors,
                    follows: other_follows,
                },
            ) => {
                colors.abs_diff(other_colors) * 4 <= colors
                    && std::mem::discriminant(&follows) == std::mem::discriminant(&other_follows)
            }
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }

    /// Whether giving programs frames by their numbers partitions the cache.
    pub fn is_usable(self) -> bool {
        matches!(
            self,
            Self::Colors {
                follows: Follows::FrameNumber,
                ..
            }
        )
    }
}

/// What the timings mean.
pub fn judge(observation: &Observation) -> Verdict {
    if !observation.is_clear {
        return Verdict::NoSignal;
    }
    if observation.sets == 0 {
        // One small set is proof of colors; large ones prove something only if there is never a small one.
        return match observation.large_sets {
            0..3 => Verdict::NoSets,
            _ => Verdict::Hashed {
                set_pages: observation.set_pages,
            },
        };
    }
    let covered = observation.assigned.len() + observation.ambiguous;
    if covered == 0 || observation.ambiguous * 2 > covered {
        return Verdict::NoSets;
    }
    let uncovered = observation.sampled - covered;
    let is_complete = uncovered * 10 <= observation.sampled;
    let sets = observation.sets as u64;
    let colors = if is_complete {
        sets
    } else {
        (sets * observation.sampled as u64 + covered as u64 / 2) / covered as u64
    };
    if colors == 1 {
        return Verdict::OneColor;
    }
    Verdict::Colors {
        colors,
        follows: follows(observation, colors),
    }
}

/// Pages that push out a page of the same color: as many as a set has lines; twice as many where replacement is not by age.
pub fn set_pages_max(ways: u32) -> u64 {
    u64::from(ways) * 2 + 2
}

fn follows(observation: &Observation, colors: u64) -> Follows {
    // Address bits select: what was found is rounded to a power of two.
    let modulus = nearest_power_of_two(colors);
    let mut residues: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for assigned in &observation.assigned {
        let Some(frame) = assigned.frame else {
            return Follows::Unknown;
        };
        residues
            .entry(assigned.set)
            .or_default()
            .push(frame % modulus);
    }
    let (mut pairs, mut agreeing) = (0_u64, 0_u64);
    for residues in residues.values() {
        for (place, first) in residues.iter().enumerate() {
            for second in &residues[place + 1..] {
                pairs += 1;
                agreeing += u64::from(first == second);
            }
        }
    }
    if pairs == 0 {
        return Follows::Unknown;
    }
    let agreement = agreeing as f64 / pairs as f64;
    if agreement >= 0.9 {
        Follows::FrameNumber
    } else {
        Follows::SomethingElse { agreement }
    }
}

fn nearest_power_of_two(number: u64) -> u64 {
    let above = number.next_power_of_two();
    let below = (above / 2).max(1);
    if number - below < above - number {
        below
    } else {
        above
    }
}
