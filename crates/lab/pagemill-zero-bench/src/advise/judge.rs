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
mod tests;
