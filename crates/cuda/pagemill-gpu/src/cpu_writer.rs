//! Populating memory from the CPU.

use std::num::NonZeroUsize;

/// More threads than this only wait for the kernel that hands out the pages.
const THREADS_MAX: usize = 8;

/// Writes `value` all over `memory`, each thread a part of its own.
pub(crate) fn fill<T: Copy + Send + Sync>(memory: &mut [T], value: T) {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = memory.len().div_ceil(cores.min(THREADS_MAX)).max(1);
    std::thread::scope(|scope| {
        for part in memory.chunks_mut(part) {
            scope.spawn(move || part.fill(value));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_written() {
        for size in [0, 1, 7, 4096, 100_003] {
            let mut bytes = vec![1_u8; size];
            fill(&mut bytes, 0);
            assert!(bytes.iter().all(|byte| *byte == 0));
        }
    }
}
