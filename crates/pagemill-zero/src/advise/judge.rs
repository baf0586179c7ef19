/// How a setting stands beside the program as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its slowest run is faster than the fastest one as it is.
    Faster,
    /// The runs overlap: the difference may be noise.
    Same,
    /// Its fastest run is slower than the slowest one as it is.
    Slower,
}

impl Standing {
    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Same => "within the noise",
            Self::Slower => "slower",
        }
    }
}

/// What to use, and how everything else stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Index of what to use; 0 is the program as it is.
    pub best: usize,
    /// Of each.
    pub standings: Vec<Standing>,
}

/// Compares times of runs. The first are of the program as it is; the others are in order of preference. Sets may be empty, which
/// counts as [`Standing::Same`].
///
/// A gain counts only if no two runs overlap: of two settings with 5 runs each that are equally fast, that happens once in 252 times.
pub fn compare(runs: &[&[u64]]) -> Advice {
    let base = runs.first().copied().unwrap_or_default();
    let standings: Vec<Standing> = runs.iter().map(|runs| standing(base, runs)).collect();
    let is_faster = |index: &usize| standings[*index] == Standing::Faster;
    let fastest = (0..runs.len())
        .filter(is_faster)
        .min_by_key(|&index| median(runs[index]));
    let best = fastest.map_or(0, |fastest| {
        // Earlier ones are simpler to set up: take the first unless the fastest is clearly ahead.
        let is_as_fast = |index: &usize| standing(runs[*index], runs[fastest]) != Standing::Faster;
        (0..runs.len())
            .filter(is_faster)
            .find(is_as_fast)
            .unwrap_or(fastest)
    });
    Advice { best, standings }
}

fn standing(base: &[u64], runs: &[u64]) -> Standing {
    let bounds = |runs: &[u64]| Some((*runs.iter().min()?, *runs.iter().max()?));
    match (bounds(base), bounds(runs)) {
        (Some((least, _)), Some((_, most))) if most < least => Standing::Faster,
        (Some((_, most)), Some((least, _))) if least > most => Standing::Slower,
        _ => Standing::Same,
    }
}

/// The middle one; 0 of none.
pub fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Standing::{Faster, Same, Slower};

    #[test]
    fn only_runs_that_do_not_overlap_differ() {
        let advice = compare(&[
            &[10, 12, 11],
            &[9, 10, 8],
            &[9, 8, 9],
            &[13, 14, 15],
            &[12, 20, 13],
        ]);
        assert_eq!(advice.standings, [Same, Same, Faster, Slower, Same]);
        assert_eq!(advice.best, 2);
    }

    #[test]
    fn the_simpler_one_is_advised_unless_the_fastest_is_clearly_ahead() {
        let base: &[u64] = &[100, 101];
        assert_eq!(compare(&[base, &[50, 60], &[45, 55]]).best, 1);
        assert_eq!(compare(&[base, &[50, 60], &[40, 45]]).best, 2);
        assert_eq!(compare(&[base, &[90, 91], &[50, 60], &[45, 55]]).best, 2);
    }

    #[test]
    fn without_a_gain_nothing_is_changed() {
        assert_eq!(compare(&[&[5], &[5], &[6]]).best, 0);
        assert_eq!(compare(&[&[5, 6], &[]]).best, 0);
        assert_eq!(compare(&[]).best, 0);
    }
}
