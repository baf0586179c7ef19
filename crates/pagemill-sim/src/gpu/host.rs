//! The GPU as a host program sees it: memory, copies, launches.

use super::error::{GpuError, LaunchFailure};
use super::machine::GpuMachine;
use super::machine_check::SpecError;
use super::memory_path::{MANAGED_BASE, MemoryPath};
use super::report::{LaunchReport, Report};
use super::run::Engine;
use super::stats::{ExecutionStats, LaunchStats};
use super::stream::GridStream;
use super::timeline::{Timeline, TimelineEvent, TimelineKind};
use crate::parts::link::Direction;
use pagemill_policy::migration::MigrationSpec;
use super::shim::DeviceMemory;
use pagemill_types::{PageSize, Picos, VirtAddr};
use std::fmt;
use std::ops::Range;

/// How a program's data comes to the GPU and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferMode {
    /// Copies are free and data is always on the GPU: computation and transfer overlap perfectly.
    IdealOverlap,
    /// The host copies over the link before and after kernels.
    ProgrammerCopy,
    /// Pages move when they are needed.
    Migrate(MigrationSpec),
}

/// What a run may use, and what it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether time is simulated. Without, kernels compute their results and instructions are counted, nothing else.
    pub timing: bool,
    /// Whether events are recorded.
    pub timeline: bool,
    /// Bounds.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self { timing: true, timeline: false, limits: Limits::default() }
    }
}

/// Bounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Thread instructions of all launches together: catches endless kernels.
    pub thread_instructions: u64,
    /// Events that are kept.
    pub timeline_events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { thread_instructions: 1_000_000_000_000, timeline_events: 200_000 }
    }
}

/// Memory of the program, seen by CPU and GPU at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// First byte; the start of a page.
    pub address: VirtAddr,
    /// Size in bytes.
    pub bytes: u64,
}

/// Most pages that state is kept for: a few gigabytes of host memory.
const MAX_PAGES: u64 = 1 << 25;

/// A simulated GPU and the data of one program.
#[derive(Debug)]
pub struct Gpu {
    mode: TransferMode,
    options: Options,
    page: PageSize,
    memory_bytes: Option<u64>,
    launch_overhead: Picos,
    pub(super) memory: DeviceMemory,
    path: MemoryPath,
    engine: Engine,
    now: Picos,
    next_address: u64,
    allocated_bytes: u64,
    pub(super) execution: ExecutionStats,
    kernel_time: Picos,
    copy_time: Picos,
    pub(super) launches: Vec<LaunchReport>,
}

impl Gpu {
    /// A GPU with empty memory and cold caches.
    ///
    /// # Errors
    /// [`GpuError::Spec`] for a value that the machine or the transfer mode cannot have.
    pub fn new(machine: &GpuMachine, mode: TransferMode, options: Options) -> Result<Self, SpecError> {
        machine.check()?;
        let migration = match &mode {
            TransferMode::Migrate(spec) => Some(build_migration(machine, spec)?),
            _ => None,
        };
        let page = migration.as_ref().map_or(machine.page, |migration| migration.spec().page);
        let events = if options.timeline { options.limits.timeline_events } else { 0 };
        Ok(Self {
            mode,
            options,
            page,
            memory_bytes: machine.memory_bytes,
            launch_overhead: machine.launch_overhead,
            memory: DeviceMemory::new(),
            path: MemoryPath::new(machine, page, migration, Timeline::with_limit(events)),
            engine: Engine::new(machine),
            now: Picos::ZERO,
            next_address: MANAGED_BASE,
            allocated_bytes: 0,
            execution: ExecutionStats::default(),
            kernel_time: Picos::ZERO,
            copy_time: Picos::ZERO,
            launches: Vec::new(),
        })
    }

    /// Allocates `bytes` zero bytes that begin on a page of their own. Where pages migrate, they are in CPU memory.
    ///
    /// # Errors
    /// Zero bytes, more than GPU memory holds where pages do not migrate, or more than can be addressed.
    pub fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, GpuError> {
        if bytes == 0 {
            return Err(GpuError::EmptyAllocation { name: name.to_owned() });
        }
        let used = self.next_address - MANAGED_BASE;
        let padded = bytes.checked_next_multiple_of(self.page.bytes());
        let after = padded.and_then(|padded| used.checked_add(padded)).unwrap_or(u64::MAX);
        self.check_room(name, bytes, used, after)?;
        let address = self.next_address;
        self.memory.alloc_at(name, address, bytes)?;
        self.next_address = MANAGED_BASE + after;
        self.allocated_bytes += bytes;
        self.path.grow(self.next_address);
        Ok(Buffer { address: VirtAddr(address), bytes })
    }

    fn check_room(&self, name: &str, bytes: u64, used: u64, after: u64) -> Result<(), GpuError> {
        let pages = after / self.page.bytes();
        if pages > MAX_PAGES {
            return Err(GpuError::TooManyPages { name: name.to_owned(), bytes, pages, most: MAX_PAGES });
        }
        let migrates = matches!(self.mode, TransferMode::Migrate(_));
        match self.memory_bytes {
            Some(capacity) if after > capacity && !migrates => {
                Err(GpuError::OutOfMemory { name: name.to_owned(), bytes, used, capacity })
            }
            _ => Ok(()),
        }
    }

    /// The bytes of `buffer` as the host reads them. Costs no time: for checking results.
    ///
    /// # Panics
    /// If `buffer` is not of this GPU.
    pub fn host_bytes(&self, buffer: Buffer) -> &[u8] {
        self.memory.bytes(buffer.address.0, buffer.bytes).expect("the buffer was allocated by this Gpu")
    }

    /// The bytes of `buffer` for the host to write. Costs no time: for making inputs.
    ///
    /// # Panics
    /// If `buffer` is not of this GPU.
    pub fn host_bytes_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        self.memory.bytes_mut(buffer.address.0, buffer.bytes).expect("the buffer was allocated by this Gpu")
    }

    /// The host hands `range` of `buffer` to the GPU: a copy over the link, or a write by the CPU where pages migrate.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn copy_to_gpu(&mut self, buffer: Buffer, range: Range<u64>) -> Result<(), GpuError> {
        self.copy(buffer, range, Direction::ToGpu)
    }

    /// The host takes `range` of `buffer` back: a copy over the link, or a read by the CPU where pages migrate.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn copy_from_gpu(&mut self, buffer: Buffer, range: Range<u64>) -> Result<(), GpuError> {
        self.copy(buffer, range, Direction::ToCpu)
    }

    fn copy(&mut self, buffer: Buffer, range: Range<u64>, direction: Direction) -> Result<(), GpuError> {
        self.check_range(buffer, &range)?;
        let bytes = range.end - range.start;
        if !self.options.timing || bytes == 0 {
            return Ok(());
        }
        let start = self.now;
        let (end, moved) = match &self.mode {
            TransferMode::IdealOverlap => (start, 0),
            TransferMode::ProgrammerCopy => (self.path.link.transfer(start, direction, bytes).done, bytes),
            TransferMode::Migrate(_) => self.path.cpu_request(start, buffer.address.0 + range.start, bytes),
        };
        if moved > 0 {
            let kind = match direction {
                Direction::ToGpu => TimelineKind::CopyToGpu,
                Direction::ToCpu => TimelineKind::CopyFromGpu,
            };
            self.path.timeline.record(|| TimelineEvent { kind, start, end, bytes: moved });
        }
        self.copy_time += end - start;
        self.now = end;
        Ok(())
    }

    fn check_range(&self, buffer: Buffer, range: &Range<u64>) -> Result<(), GpuError> {
        let address = buffer.address.0;
        let allocation = self.memory.find(address).and_then(|id| self.memory.allocation(id));
        let Some(allocation) = allocation.filter(|allocation| allocation.address() == address) else {
            return Err(GpuError::UnknownBuffer { address });
        };
        if range.start > range.end || range.end > allocation.bytes() {
            return Err(GpuError::OutOfRange {
                name: allocation.name().to_owned(),
                start: range.start,
                end: range.end,
                bytes: allocation.bytes(),
            });
        }
        Ok(())
    }

    /// Runs a grid that computes nothing, or computes by itself, and waits for its end.
    ///
    /// # Errors
    /// [`GpuError::Launch`] with what stopped it.
    pub fn launch_grid<S>(&mut self, kernel: &str, stream: &mut S) -> Result<LaunchReport, GpuError>
    where
        S: GridStream,
        S::Error: fmt::Display,
    {
        let start = self.now;
        let before = self.path.stats();
        let limit = self.options.limits.thread_instructions;
        let left = limit.saturating_sub(self.execution.thread_instructions);
        let outcome = self.engine.run(start + self.launch_overhead, stream, &mut self.path, left).map_err(|error| {
            GpuError::Launch { kernel: kernel.to_owned(), failure: LaunchFailure::of(error, limit) }
        })?;
        self.now = outcome.end;
        self.kernel_time += outcome.end - start;
        self.execution.add(&outcome.execution);
        self.path.timeline.record(|| TimelineEvent {
            kind: TimelineKind::Kernel { name: kernel.to_owned() },
            start,
            end: outcome.end,
            bytes: 0,
        });
        let stats = LaunchStats {
            start,
            end: outcome.end,
            execution: outcome.execution,
            memory: self.path.stats().since(&before),
            occupancy: outcome.occupancy,
        };
        let report = LaunchReport { kernel: kernel.to_owned(), stats };
        self.launches.push(report.clone());
        Ok(report)
    }

    /// Ends the run and says what it came to.
    pub fn finish(self) -> Report {
        let memory = self.path.stats();
        let gmmu = self.path.gmmu.as_ref();
        Report {
            time_ns: self.now.as_nanos(),
            kernel_time_ns: self.kernel_time.as_nanos(),
            copy_time_ns: self.copy_time.as_nanos(),
            execution: self.execution,
            memory,
            migrated_bytes: memory.to_gpu.bytes,
            returned_bytes: memory.to_cpu.bytes,
            touched_bytes: memory.touched_bytes,
            allocated_bytes: self.allocated_bytes,
            resident_bytes: gmmu.map_or(0, |gmmu| gmmu.resident_bytes()),
            ranges_per_page: gmmu.map_or_else(Vec::new, |gmmu| gmmu.ranges_per_page()),
            launches: self.launches,
            timeline: self.path.timeline,
            output: String::new(),
        }
    }
}

/// The rules of migration, with errors that name the scenario's keys.
fn build_migration(
    machine: &GpuMachine,
    spec: &MigrationSpec,
) -> Result<pagemill_policy::migration::Migration, SpecError> {
    let migration = spec.build().map_err(|error| SpecError::new("transfer.unit", spec.unit_bytes, error.to_string()))?;
    let page_bytes = spec.page.bytes();
    match machine.memory_bytes {
        Some(bytes) if bytes < page_bytes => {
            let allowed = format!("must hold at least one page of {page_bytes} bytes");
            Err(SpecError::new("memory_bytes", bytes, allowed))
        }
        _ => Ok(migration),
    }
}
