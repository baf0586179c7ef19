use pagemill_linux::{Backing, Mapping};

use super::engine::{Engine, EngineEntry, EngineError, Probe};
use super::{clzero, memset, streaming};

/// Whichever CPU engine is fastest here. What a processor can do does not tell what it does well, so it is measured.
pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "auto",
    summary: "the fastest of the CPU engines, measured when it is opened",
    probe: || Probe::Ready("every processor".to_owned()),
    open: fastest,
};

const CANDIDATES: [EngineEntry; 5] = [
    streaming::AVX512,
    streaming::AVX2,
    streaming::SSE2,
    clzero::ENTRY,
    memset::ENTRY,
];

/// Larger than the caches next to a core, small enough to take milliseconds.
const SAMPLE_BYTES: usize = 16 << 20;

/// The least of a few: interruptions only ever add time.
const ROUNDS: usize = 4;

fn fastest() -> Result<Box<dyn Engine>, EngineError> {
    let mut usable: Vec<Box<dyn Engine>> = CANDIDATES
        .iter()
        .filter_map(|entry| (entry.open)().ok())
        .collect();
    if let Ok(mut sample) = Mapping::new(Backing::Anonymous, SAMPLE_BYTES, true) {
        let mut best_ns = vec![u64::MAX; usable.len()];
        for _ in 0..ROUNDS {
            for (engine, best_ns) in usable.iter_mut().zip(&mut best_ns) {
                let timing = engine.zero(&mut [sample.bytes_mut()])?;
                // CPU time: others on this core do not count.
                *best_ns = timing.cpu_ns.min(*best_ns);
            }
        }
        let least = (0..usable.len()).min_by_key(|&index| best_ns[index]);
        return Ok(usable.swap_remove(least.unwrap_or(0)));
    }
    // No memory to measure with: the widest stores there are.
    Ok(usable.swap_remove(0))
}
