use super::TimedMemory;
use super::eviction::{Threshold, median};

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Pages that are sorted by color.
    pub sample_pages: usize,
    /// Sets that are looked for at most; each is a color, if pages have colors.
    pub sets_max: usize,
    /// Larger smallest sets end the search: no color needs so many pages.
    pub set_pages_max: usize,
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
    /// Pages of the smallest sets that push a page out; 0 if none was found.
    pub set_pages: u64,
    /// Sets that were found.
    pub sets: usize,
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
        sampled: plan.sample_pages.min(memory.pages()),
        assigned: Vec::new(),
        ambiguous: 0,
    };
    if !observation.is_clear {
        return observation;
    }
    let step = memory.pages() / observation.sampled.max(1);
    let sample: Vec<usize> = (0..observation.sampled).map(|place| place * step).collect();
    let sets = find_sets(memory, threshold, plan, &sample);
    observation.sets = sets.len();
    observation.set_pages = median(sets.iter().map(|set| set.len() as u64).collect());
    if observation.set_pages > plan.set_pages_max as u64 {
        return observation;
    }
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

/// A set for each color that a page of the sample has.
fn find_sets(
    memory: &mut dyn TimedMemory,
    threshold: Threshold,
    plan: &Plan,
    sample: &[usize],
) -> Vec<Vec<usize>> {
    let mut pool: Vec<usize> = (0..memory.pages()).collect();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut failures = 0;
    for victim in sample {
        if sets.len() >= plan.sets_max || failures > 3 {
            break;
        }
        let is_known = sets
            .iter()
            .any(|set| set.contains(victim) || threshold.evicts(memory, set, *victim));
        if is_known {
            continue;
        }
        match threshold.smallest_set(memory, &pool, *victim) {
            Some(set) if set.len() > plan.set_pages_max => {
                // No colors: further sets would be no smaller.
                sets.push(set);
                break;
            }
            Some(set) => {
                pool.retain(|page| !set.contains(page));
                sets.push(set);
            }
            None => failures += 1,
        }
    }
    sets
}
