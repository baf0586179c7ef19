//! Results of a whole run.

use crate::gpu::host::allocated::Allocated;
use crate::gpu::host::detail::Detail;
use crate::gpu::stats::{ExecutionStats, LaunchStats};
use pagemill_pages::MemoryStats;
use pagemill_pages::Timeline;
use pagemill_pages::managers::ledger::{AllocationReport, LineReport};
use pagemill_types::Picos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One launch by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchReport {
    /// The kernel.
    pub kernel: String,
    /// What it did and when.
    pub stats: LaunchStats,
}

impl LaunchReport {
    /// From launch to end.
    pub fn time(&self) -> Picos {
        self.stats.end - self.stats.start
    }
}

/// A whole run: totals, launches, and events if asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// From the first request of the host to the end of the last, in nanoseconds.
    pub time_ns: u64,
    /// Of that, with a kernel running.
    pub kernel_time_ns: u64,
    /// Of that, with a copy of the host, or pages coming back for it.
    pub copy_time_ns: u64,
    /// What warps did, over all launches.
    pub execution: ExecutionStats,
    /// What the memory side did, over the whole run.
    pub memory: MemoryStats,
    /// Bytes moved from CPU to GPU: by migration, or by copies where the host copies.
    pub migrated_bytes: u64,
    /// Bytes moved from GPU to CPU: pages coming back, evictions, copies.
    pub returned_bytes: u64,
    /// Distinct 128-byte segments of the program's buffers that kernels touched, in bytes.
    pub touched_bytes: u64,
    /// Bytes of the program's buffers.
    pub allocated_bytes: u64,
    /// The most that the program had at a time.
    pub allocated: Allocated,
    /// GPU memory that the program could have, if it was limited.
    pub capacity_bytes: Option<u64>,
    /// Whether a unified-memory driver moved pages.
    pub driven: bool,
    /// Hints of the program that had no effect under the page manager that was chosen.
    pub unheeded_hints: u64,
    /// Loads of single threads that reached beyond an allocation, and succeeded.
    pub loads_beyond: u64,
    /// Bytes valid in GPU memory at the end, where pages migrate.
    pub resident_bytes: u64,
    /// How many pages ended with how many valid ranges (index 0: with none), where pages migrate.
    pub ranges_per_page: Vec<u64>,
    /// What moved for each allocation of memory that pages, in the order of their addresses.
    pub allocations: Vec<AllocationReport>,
    /// What happened for each line of the program, by file and line, where its PTX has lines (`nvcc -lineinfo`).
    pub lines: Vec<LineReport>,
    /// The launches, in their order.
    pub launches: Vec<LaunchReport>,
    /// How much was timed; `None` if every launch was.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Events, if asked for.
    pub timeline: Timeline,
    /// Where pages were, when and why, as the bytes of a page map; empty where none was asked for or no page migrates.
    pub page_map: Vec<u8>,
    /// What kernels printed.
    pub output: String,
}

impl Report {
    /// The launches of each kernel as a run of their own, in the order of their first launch. What only a whole run has
    /// (copies, allocations, what is left on the GPU) stays zero; `touched_bytes` counts first touches.
    pub fn by_kernel(&self) -> Vec<(String, Self)> {
        let mut kernels: Vec<(String, Self)> = Vec::new();
        for launch in &self.launches {
            let place = kernels.iter().position(|(name, _)| *name == launch.kernel);
            let place = place.unwrap_or_else(|| {
                kernels.push((launch.kernel.clone(), Self::default()));
                kernels.len() - 1
            });
            kernels[place].1.add_launch(launch);
        }
        if let Some(sampling) = &self.sampling {
            for (name, part) in &mut kernels {
                part.sampling = Some(sampling.of_kernel(name, &part.launches));
            }
        }
        kernels
    }

    /// Makes what follows from the launches that of all of them, where the rest may be older than the last.
    pub fn add_up_launches(&mut self) {
        self.execution = ExecutionStats::default();
        for LaunchReport { stats, .. } in &self.launches {
            self.execution.add(&stats.execution);
            self.time_ns = self.time_ns.max(stats.end.as_nanos());
        }
    }

    fn add_launch(&mut self, launch: &LaunchReport) {
        let memory = &launch.stats.memory;
        self.time_ns += launch.time().as_nanos();
        self.kernel_time_ns += launch.time().as_nanos();
        self.execution.add(&launch.stats.execution);
        self.memory.add(memory);
        self.migrated_bytes += memory.to_gpu.bytes;
        self.returned_bytes += memory.to_cpu.bytes;
        self.touched_bytes += memory.touched_bytes;
        self.launches.push(launch.clone());
    }

    /// Lookups without a translation at hand, of all lookups.
    pub fn tlb_miss_rate(&self) -> f64 {
        self.memory.tlb_miss_rate()
    }
}

/// How much of a run was timed, and how good its time is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// What was asked for.
    pub detail: Detail,
    /// Launches that were timed.
    pub timed_launches: u64,
    /// Their thread instructions.
    pub timed_thread_instructions: u64,
    /// The true time is within this many nanoseconds of the run's at a confidence of 95 %; `None` where time is a bound.
    pub time_error_ns: Option<u64>,
    /// Bytes that moved, in either direction, in launches that were not timed.
    pub untimed_moved_bytes: u64,
    /// Whether the bytes that moved are those of a run with full detail, whatever the order of accesses in launches that were
    /// not timed.
    pub is_exact: bool,
    /// `time_error_ns` of each kernel.
    pub(crate) kernel_errors_ns: BTreeMap<String, u64>,
}

impl Sampling {
    /// The same of the launches of one kernel.
    pub(crate) fn of_kernel(&self, kernel: &str, launches: &[LaunchReport]) -> Self {
        let error = self.kernel_errors_ns.get(kernel).copied().unwrap_or(0);
        let error = self.time_error_ns.map(|_| error);
        Self {
            is_exact: self.is_exact,
            ..Self::over(self.detail, launches, error)
        }
    }

    pub(in crate::gpu) fn over(
        detail: Detail,
        launches: &[LaunchReport],
        time_error_ns: Option<u64>,
    ) -> Self {
        let mut sampling = Self {
            detail,
            time_error_ns,
            ..Self::default()
        };
        for LaunchReport { stats, .. } in launches {
            // A launch that was only executed has never been laid out on SMs.
            if stats.occupancy.is_some() {
                sampling.timed_launches += 1;
                sampling.timed_thread_instructions += stats.execution.thread_instructions;
            } else {
                let memory = &stats.memory;
                sampling.untimed_moved_bytes += memory.to_gpu.bytes + memory.to_cpu.bytes;
            }
        }
        sampling
    }
}
