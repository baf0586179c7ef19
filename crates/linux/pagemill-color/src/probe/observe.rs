use super::eviction::{Threshold, median};
use super::{TimedMemory, set_pages_max};

/// Pages for which no set is found, before no more are looked for.
const FAILURES_MAX: usize = 10;

/// Large sets that are enough, where no small one is found.
const LARGE_SETS_MAX: usize = 5;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Pages that are sorted by color.
    pub sample_pages: usize,
    /// Sets that are looked for at most; each is a color, if pages have colors.
    pub sets_max: usize,
    /// Lines of a set of the cache: a smaller set of pages that pushes one out did not do it alone.
    pub ways: u32,
}

/// What the timings say.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Cycles to read a page that is in the cache.
    pub hit_cycles: u64,
    /// Cycles to read a page that is not.
    pub miss_cycles: u64,
    /// Whether the two can be told apart.
    pub is_clear: bool,
    /// Pages of the smallest sets that push a page out, the middle one of those that were found.
    pub set_pages: u64,
    /// Sets that were found, of so few pages as a color needs.
    pub sets: usize,
    /// Pages for which no smaller set was found than of more pages than a color needs.
    pub large_sets: usize,
    /// Pages that were looked at.
    pub sampled: usize,
    /// Pages and the one set that pushes them out.
    pub assigned: Vec<Assigned>,
    /// Pages that more than one set pushes out.
    pub ambiguous: usize,
}

/// A page and its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The number of the set.
    pub set: usize,
    /// The page's frame, if that is known.
    pub frame: Option<u64>,
}

/// Sorts some pages by what pushes them out of the cache.
pub fn observe(memory: &mut dyn TimedMemory, plan: &Plan) -> Observation {
    let threshold = Threshold::measure(memory);
    let mut observation = Observation {
        hit_cycles: threshold.hit_cycles,
        miss_cycles: threshold.miss_cycles,
        is_clear: threshold.is_clear(),
        set_pages: 0,
        sets: 0,
        large_sets: 0,
        sampled: plan.sample_pages.min(memory.pages()),
        assigned: Vec::new(),
        ambiguous: 0,
    };
    if !observation.is_clear {
        return observation;
    }
    let step = memory.pages() / observation.sampled.max(1);
    let sample: Vec<usize> = (0..observation.sampled).map(|place| place * step).collect();
    let Sets { small, large } = find_sets(memory, threshold, plan, &sample);
    observation.sets = small.len();
    observation.large_sets = large.len();
    let sizes = small.iter().map(|set| set.len() as u64);
    observation.set_pages = if small.is_empty() {
        median(large)
    } else {
        median(sizes.collect())
    };
    let sets = small;
    for page in sample {
        let mut own = (0..sets.len()).filter(|number| {
            let others: Vec<usize> = sets[*number]
                .iter()
                .copied()
                .filter(|other| *other != page)
                .collect();
            // A page that is one of the set cannot be pushed out by the rest: it is of that color by construction.
            others.len() < sets[*number].len() || threshold.evicts(memory, &others, page)
        });
        match (own.next(), own.next()) {
            (Some(set), None) => observation.assigned.push(Assigned {
                set,
                frame: memory.frame(page),
            }),
            (Some(_), Some(_)) => observation.ambiguous += 1,
            (None, _) => {}
        }
    }
    observation
}

struct Sets {
    small: Vec<Vec<usize>>,
    /// Lengths of those that are too large.
    large: Vec<u64>,
}

/// A set for each color that a page of the sample has.
fn find_sets(
    memory: &mut dyn TimedMemory,
    threshold: Threshold,
    plan: &Plan,
    sample: &[usize],
) -> Sets {
    let mut pool: Vec<usize> = (0..memory.pages()).collect();
    let mut found = Sets {
        small: Vec::new(),
        large: Vec::new(),
    };
    let mut failures = 0;
    for victim in sample {
        let has_enough = found.small.len() >= plan.sets_max
            || failures > FAILURES_MAX
            || found.small.is_empty() && found.large.len() >= LARGE_SETS_MAX;
        if has_enough {
            break;
        }
        let is_known = (found.small.iter())
            .any(|set| set.contains(victim) || threshold.evicts(memory, set, *victim));
        if is_known {
            continue;
        }
        let set = threshold.smallest_set(memory, &pool, *victim);
        let set = set.filter(|set| set.len() + set.len() / 8 >= plan.ways as usize);
        match set {
            Some(set) if set.len() as u64 > set_pages_max(plan.ways) => {
                found.large.push(set.len() as u64);
            }
            // A second and a third look: what is missed once must not count as another color.
            Some(set) if !is_known_again(memory, threshold, &found.small, *victim) => {
                pool.retain(|page| !set.contains(page));
                found.small.push(set);
            }
            Some(_) => {}
            None => failures += 1,
        }
    }
    found
}

fn is_known_again(
    memory: &mut dyn TimedMemory,
    threshold: Threshold,
    sets: &[Vec<usize>],
    victim: usize,
) -> bool {
    (0..2).any(|_| sets.iter().any(|set| threshold.evicts(memory, set, victim)))
}
