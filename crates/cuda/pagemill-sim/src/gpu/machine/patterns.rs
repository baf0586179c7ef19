//! What the built-in access patterns use of a GPU.

use super::{GpuMachine, Memory, Translation};
use pagemill_pages::patterns::{UvmMachine, UvmMemory, UvmSm};

impl GpuMachine {
    /// The parts of it that the built-in access patterns use; `None` for one without a driver, a memory with a rate, two
    /// levels of translation, reads over the link, and costs of patterns.
    pub fn for_patterns(&self) -> Option<UvmMachine> {
        let (
            Memory::Rate {
                bandwidth, latency, ..
            },
            Translation::TwoLevels(translation),
        ) = (self.memory, self.translation)
        else {
            return None;
        };
        let (driver, patterns) = (self.driver?, self.patterns?);
        self.link.reads?;
        Some(UvmMachine {
            name: self.name.clone(),
            sm: UvmSm {
                count: self.sm.count,
                clock: self.core_clock,
                max_threads: self.sm.max_threads,
                max_blocks: self.sm.max_blocks,
                iteration: patterns.iteration,
                unrolled_reads: patterns.unrolled_reads,
            },
            memory: UvmMemory {
                bytes: self.memory_bytes?,
                reserved_bytes: self.reserved_bytes,
                bandwidth,
                latency,
            },
            link: self.link,
            translation,
            driver,
        })
    }
}
