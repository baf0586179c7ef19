//! One point of the benchmark.

use std::fmt;
use std::ops::Range;

use pagemill_policy::migration::{MigrationSpec, MigrationSpecError};
use pagemill_policy::residency::{
    AccessPattern, BLOCK_BYTES, DriverSpecError, Mechanism, PatternError, PatternSpec, Placement,
    Strategy, StrategyEntry, Variant,
};
use pagemill_types::Picos;

use super::grid::ReaderGrid;
use super::machine::UvmMachine;
use super::memory::{Memory, Sleeper};
use super::paths::Paths;
use super::report::UvmReport;
use super::run::Kernel;
use super::totals::Totals;
use crate::managers::driver::DriverPages;
use crate::managers::host_link::HostLink;
use crate::managers::ranges::{Ranges, RangesSpec};
use crate::managers::{Manager, events};
use crate::parts::translation::Translations;
use crate::{Timeline, TimelineEvent, TimelineKind};

/// Threads of a block, as in the published benchmark.
const THREADS_PER_BLOCK: u32 = 128;

/// What is run on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct UvmPoint {
    /// The order of reads.
    pub pattern: AccessPattern,
    /// Whether warps of a block keep together.
    pub variant: Variant,
    /// How the program places its data.
    pub strategy: &'static StrategyEntry,
    /// Bytes allocated over bytes of GPU memory free for them.
    pub factor: f64,
    /// Share of GPU memory that something else holds, from 0 to 1. The published benchmark has 0.67 for random reads.
    pub ballast: f64,
    /// Granule of striping in bytes.
    pub stripe_bytes: u64,
    /// Granule of random choice in bytes.
    pub random_page_bytes: u64,
    /// Runs of the kernel, whose mean counts.
    pub loops: u32,
    /// Whether data stay where the last loop left them. If not, strategies that start from CPU memory do so in each
    /// loop, as the published benchmark has it.
    pub reuse: bool,
    /// Seed of random reads.
    pub seed: u64,
    /// How partial pages migrate, for strategies that use them.
    pub partial: MigrationSpec,
}

/// Why a point cannot be run.
#[derive(Clone, Debug, PartialEq)]
pub enum UvmError {
    /// The factor is no number above 0, or the ballast none from 0 to below 1.
    Share {
        /// What it is called.
        name: &'static str,
        /// The refused value.
        value: f64,
    },
    /// The kernel would never run.
    NoLoop,
    /// The driver refuses the sizes.
    Driver(DriverSpecError),
    /// The pattern refuses the sizes.
    Pattern(PatternError),
    /// Partial pages refuse their settings.
    Partial(MigrationSpecError),
    /// The watcher stopped it.
    Stopped,
}

impl fmt::Display for UvmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share { name, value } => {
                let allowed = if *name == "factor" {
                    "above 0 and at most 64"
                } else {
                    "from 0 to 0.99"
                };
                write!(f, "the {name} is {value}: use a number {allowed}")
            }
            Self::NoLoop => f.write_str("0 loops run nothing: use 1 or more"),
            Self::Driver(error) => error.fmt(f),
            Self::Pattern(error) => error.fmt(f),
            Self::Partial(error) => error.fmt(f),
            Self::Stopped => f.write_str("stopped on request"),
        }
    }
}

impl std::error::Error for UvmError {}

impl UvmPoint {
    /// Bytes of the allocation on `machine`: the factor times what is free, in whole blocks.
    pub fn allocation_bytes(&self, machine: &UvmMachine) -> u64 {
        let wished = (machine.free_bytes(self.ballast) as f64 * self.factor) as u64;
        wished.max(1).next_multiple_of(BLOCK_BYTES)
    }

    /// The reads of the kernel on `machine`.
    pub fn pattern_spec(&self, machine: &UvmMachine) -> PatternSpec {
        PatternSpec {
            pattern: self.pattern,
            bytes: self.allocation_bytes(machine),
            blocks: machine.resident_blocks(THREADS_PER_BLOCK),
            warps_per_block: THREADS_PER_BLOCK / 32,
            page_bytes: self.random_page_bytes,
            seed: self.seed,
        }
    }

    /// Checks everything that [`run`] would refuse.
    ///
    /// # Errors
    /// The first value that is refused.
    pub fn check(&self, machine: &UvmMachine) -> Result<(), UvmError> {
        share(
            "factor",
            self.factor,
            self.factor > 0.0 && self.factor <= 64.0,
        )?;
        share(
            "ballast",
            self.ballast,
            (0.0..=0.99).contains(&self.ballast),
        )?;
        if self.loops == 0 {
            return Err(UvmError::NoLoop);
        }
        self.pattern_spec(machine)
            .check()
            .map_err(UvmError::Pattern)?;
        self.partial.build().map_err(UvmError::Partial)?;
        let gpu_bytes = machine.free_bytes(self.ballast);
        if gpu_bytes < BLOCK_BYTES {
            return Err(UvmError::Driver(DriverSpecError::GpuMemory {
                bytes: gpu_bytes,
            }));
        }
        Ok(())
    }
}

fn share(name: &'static str, value: f64, holds: bool) -> Result<(), UvmError> {
    if holds {
        Ok(())
    } else {
        Err(UvmError::Share { name, value })
    }
}

/// Runs a point of the benchmark.
///
/// # Errors
/// As [`UvmPoint::check`].
pub fn run(machine: &UvmMachine, point: &UvmPoint) -> Result<UvmReport, UvmError> {
    run_watched(machine, point, 0, &mut |_| true).map(|(report, _)| report)
}

/// Runs a point of the benchmark and keeps its first `events_max` events. From time to time `watch` gets the share of
/// the reads that is done, from 0 to 1, and says whether the run goes on.
///
/// # Errors
/// As [`UvmPoint::check`], or [`UvmError::Stopped`].
pub fn run_watched(
    machine: &UvmMachine,
    point: &UvmPoint,
    events_max: usize,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<(UvmReport, Recorded), UvmError> {
    point.check(machine)?;
    let strategy = (point.strategy.build)();
    let gpu_bytes = machine.free_bytes(point.ballast);
    let pattern = point.pattern_spec(machine);
    let placement = Placement {
        allocation_bytes: pattern.bytes,
        gpu_bytes,
        stripe_bytes: point.stripe_bytes,
    };
    let mut memory = empty_memory(machine, point, &*strategy, &placement, events_max)?;
    if events_max > 0 {
        record_pages(&mut memory, point, pattern.bytes);
    }
    let mut now = prepare(&mut memory, &*strategy, &placement, Picos::ZERO);
    let setup = now;
    let mut totals = Totals::default();
    // A warp reads 128 bytes at a time.
    let all_reads = (pattern.bytes / 128).max(1) as f64;
    for index in 0..point.loops {
        if index > 0 && !point.reuse && strategy.restarts_from_cpu() {
            start_again(&mut memory, now, pattern.bytes);
            memory.manager = manager(machine, point, &*strategy, &placement)?;
            now = prepare(&mut memory, &*strategy, &placement, now);
        }
        let before = Totals::so_far(&memory);
        let grid = reader_grid(machine, point, &pattern);
        let name = point.pattern.name();
        note_start(&mut memory.paths.host_link.timeline, name, now);
        let mut kernel = Kernel::new(machine, grid, &mut memory);
        let done =
            |reads: u64| (f64::from(index) + reads as f64 / all_reads) / f64::from(point.loops);
        let end = kernel
            .run(now, &mut |reads| watch(done(reads).min(1.0)))
            .ok_or(UvmError::Stopped)?;
        let reads = kernel.reads;
        totals.add(&before, &Totals::so_far(&memory));
        totals.reads += reads;
        totals.time += end - now;
        let timeline = &mut memory.paths.host_link.timeline;
        note_end(timeline, name, now..end, pattern.bytes);
        now = end;
    }
    let HostLink {
        link, mut timeline, ..
    } = memory.paths.host_link;
    let page_map = timeline.finish_pages(now, link.bytes_per_second());
    let report = UvmReport {
        setup,
        blocks: pattern.blocks,
        gpu_bytes,
        allocated_bytes: pattern.bytes,
        ..totals.report(machine, point.loops)
    };
    Ok((report, Recorded { timeline, page_map }))
}

fn reader_grid(machine: &UvmMachine, point: &UvmPoint, pattern: &PatternSpec) -> ReaderGrid {
    // Blocks go to SMs in turn, and neighboring SMs share a first-level TLB.
    let utlb_of = |block| block % machine.sm.count / machine.translation.sms_per_utlb;
    let unrolled_reads = machine.sm.unrolled_reads;
    ReaderGrid::new(pattern, point.variant, unrolled_reads, utlb_of)
}

/// The memory of a point before anything is in it.
fn empty_memory(
    machine: &UvmMachine,
    point: &UvmPoint,
    strategy: &dyn Strategy,
    placement: &Placement,
    events_max: usize,
) -> Result<Memory, UvmError> {
    Ok(Memory {
        manager: manager(machine, point, strategy, placement)?,
        translations: Translations::new(machine.translation, machine.sm.count, machine.sm.clock),
        paths: Paths::new(machine, events_max),
    })
}

fn note_start(timeline: &mut Timeline, name: &str, now: Picos) {
    if let Some(pages) = timeline.pages() {
        pages.launch(name, now.0);
    }
}

fn note_end(timeline: &mut Timeline, name: &str, span: Range<Picos>, bytes: u64) {
    timeline.record(|| TimelineEvent {
        kind: TimelineKind::Kernel {
            name: name.to_owned(),
        },
        start: span.start,
        end: span.end,
        bytes,
    });
    if let Some(pages) = timeline.pages() {
        pages.ended(span.end.0);
    }
}

/// What was recorded while a point ran.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Its events.
    pub timeline: Timeline,
    /// Where pages were, when and why, as the bytes of a page map; empty where no events were asked for.
    pub page_map: Vec<u8>,
}

/// A page map of the allocation is recorded from now on.
fn record_pages(memory: &mut Memory, point: &UvmPoint, bytes: u64) {
    let (page_bytes, place) = match memory.manager.is_driven() {
        true => (BLOCK_BYTES, events::BATCH),
        false => (point.partial.page.bytes(), events::SM),
    };
    let timeline = &mut memory.paths.host_link.timeline;
    timeline.record_pages(page_bytes, events::legend(place));
    if let Some(pages) = timeline.pages() {
        pages.allocated(point.pattern.name(), 0, bytes);
    }
}

/// All data are in CPU memory again, at no cost.
fn start_again(memory: &mut Memory, at: Picos, bytes: u64) {
    let host_link = &mut memory.paths.host_link;
    // The manager is made anew anyway. Only a page map has to learn that everything is gone.
    if host_link.timeline.pages().is_some() {
        memory.manager.forget(at, 0, bytes, host_link);
    }
}

fn manager(
    machine: &UvmMachine,
    point: &UvmPoint,
    strategy: &dyn Strategy,
    placement: &Placement,
) -> Result<Manager<Sleeper>, UvmError> {
    let Placement {
        allocation_bytes,
        gpu_bytes,
        ..
    } = *placement;
    match strategy.mechanism() {
        Mechanism::Driver => {
            let (driver, utlbs) = (&machine.driver, machine.utlbs());
            DriverPages::of_allocation(driver, utlbs, allocation_bytes, gpu_bytes)
                .map(|pages| Manager::Driver(Box::new(pages)))
                .map_err(UvmError::Driver)
        }
        Mechanism::PartialPages => {
            let migration = point.partial.build().map_err(UvmError::Partial)?;
            let mut ranges = Ranges::new(RangesSpec::free(Some(gpu_bytes)), migration, 0);
            ranges.allocate(0, allocation_bytes, allocation_bytes);
            Ok(Manager::Ranges(Box::new(ranges)))
        }
    }
}

/// The program's calls before the kernel; answers when they are done.
fn prepare(
    memory: &mut Memory,
    strategy: &dyn Strategy,
    placement: &Placement,
    at: Picos,
) -> Picos {
    let (mut now, mut done) = (at, at);
    let host_link = &mut memory.paths.host_link;
    if let Manager::Driver(pages) = &mut memory.manager {
        strategy.calls(placement, &mut |call| {
            let called = pages.call(now, &call, host_link);
            now = called.0;
            // The program calls on when the driver has done its part; the kernel starts when the copies of all calls are there.
            done = done.max(called.1);
        });
    }
    done
}
