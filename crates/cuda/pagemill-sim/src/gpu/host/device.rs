//! The GPU as a host program sees it: memory, copies, launches. The host has the clock: what takes time gets the time at which
//! the host asks for it, and returns when it is done.

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::error::GpuError;
use crate::gpu::host::allocated::Allocated;
use crate::gpu::host::detail::Detail;
use crate::gpu::host::issue_rate::IssueRate;
use crate::gpu::host::program::{ExecutionMark, LoadedModule};
use crate::gpu::host::report::{LaunchReport, Report};
use crate::gpu::host::timing_model::TimingModel;
use crate::gpu::machine::{GpuMachine, InstructionTimings, IssueOrder, Placement};
use crate::gpu::memory::path::MemoryPath;
use crate::gpu::pages::Pages;
use crate::gpu::stream::GridStream;
use pagemill_pages::SpecError;
use pagemill_pages::Timeline;
use pagemill_pages::managers::events;
use pagemill_pages::parts::link::Direction;
use pagemill_policy::migration::{Migration, MigrationSpec, MigrationSpecError};
use pagemill_policy::residency::StrategyEntry;
use pagemill_ptx::{DeviceMemory, Executor, Output, Patience};
use pagemill_types::{Bandwidth, PageSize, Picos, VirtAddr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a program's data gets to the GPU and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferMode {
    /// Copies are free and data is always on the GPU: computation and transfer overlap perfectly.
    IdealOverlap,
    /// The host copies over the link before and after kernels.
    ProgrammerCopy,
    /// Parts of pages move when they are needed, by the GPU itself.
    Migrate(MigrationSpec),
    /// The machine's unified-memory driver moves pages when the GPU faults.
    Driver(DriverRun),
}

/// How the driver is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverRun {
    /// The calls that are made for the program's memory before its first launch.
    pub strategy: &'static StrategyEntry,
    /// Granule of striping in bytes.
    pub stripe_bytes: u64,
}

/// What a run may use, and what it records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether time is simulated. Without, kernels compute their results and instructions are counted, nothing else.
    pub timing: bool,
    /// How much of the launches of PTX kernels is timed, where time is simulated.
    pub detail: Detail,
    /// Whether events are recorded.
    pub timeline: bool,
    /// Bounds.
    pub limits: Limits,
    /// Threads of the host that may run blocks of a launch without time; results are the same for any number.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timing: true,
            detail: Detail::Full,
            timeline: false,
            limits: Limits::default(),
            workers: 1,
        }
    }
}

/// Bounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Thread instructions of all launches together. Endless loops are found without it.
    pub thread_instructions: u64,
    /// Events that are kept.
    pub timeline_events: usize,
    /// Loads beyond an allocation succeed up to the next multiple of this, as hardware protects memory by pages; 0 for none.
    pub read_granule_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            thread_instructions: i64::MAX as u64,
            timeline_events: 200_000,
            read_granule_bytes: 0,
        }
    }
}

/// Memory of the program, seen by CPU and GPU at the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// First byte: the start of a page, or of 256 bytes where allocations are packed.
    pub address: VirtAddr,
    /// Size in bytes.
    pub bytes: u64,
}

/// Allocations that share pages begin at multiples of this, as those of `cudaMalloc` do.
const PACKED_BYTES: u64 = 256;

/// Most pages that state is kept for: a few gigabytes of host memory.
pub(in crate::gpu) const MAX_PAGES: u64 = 1 << 25;

/// A simulated GPU and the data of one program.
#[derive(Debug)]
pub struct Gpu {
    pub(in crate::gpu) options: Options,
    pub(in crate::gpu) page: PageSize,
    placement: Placement,
    pub(in crate::gpu) memory_bytes: Option<u64>,
    /// The machine's key that has them.
    pub(in crate::gpu) memory_key: &'static str,
    /// How fast GPU memory is read and written.
    pub(in crate::gpu) memory_rate: Bandwidth,
    pub(in crate::gpu) memory: DeviceMemory,
    pub(in crate::gpu) output: Output,
    pub(in crate::gpu) modules: Vec<LoadedModule>,
    pub(in crate::gpu) timings: InstructionTimings,
    pub(in crate::gpu) issue_order: IssueOrder,
    pub(in crate::gpu) timing_model: TimingModel,
    pub(in crate::gpu) issue_rate: IssueRate,
    pub(in crate::gpu) next_address: u64,
    pub(in crate::gpu) allocated: Allocated,
    /// Of `memory_bytes`, taken by memory that never moves.
    pub(in crate::gpu) fixed_bytes: u64,
    /// Managed allocations so far.
    pub(in crate::gpu) managed_count: u32,
    /// Calls of [`Gpu::advise`] that the page manager does not heed.
    pub(in crate::gpu) unheeded_hints: u64,
    /// Managed memory up to here was placed by the mode's strategy.
    pub(in crate::gpu) placed_address: u64,
    /// Where cooperative launches count arrivals, once there was one.
    pub(in crate::gpu) grid_workspace: Option<u64>,
    /// Stack of each thread; `None` for what launches have by themselves.
    pub(in crate::gpu) stack_bytes: Option<u32>,
    /// What executes launches without time; `None` for what they have by themselves.
    pub(in crate::gpu) executor: Option<Executor>,
    /// Called around executions without time.
    pub(in crate::gpu) observe_execution: Option<fn(ExecutionMark)>,
}

impl Gpu {
    /// A GPU with empty memory and cold caches.
    ///
    /// # Errors
    /// The first value that the machine or the transfer mode cannot have.
    pub fn new(
        machine: &GpuMachine,
        mode: TransferMode,
        options: Options,
    ) -> Result<Self, SpecError> {
        machine.check()?;
        let migration = match &mode {
            TransferMode::Migrate(spec) => Some(build_migration(spec)?),
            _ => None,
        };
        let page = match &mode {
            // Allocations begin at blocks of the driver, which gives and takes GPU memory by them.
            TransferMode::Driver(_) => PageSize::MIB_2,
            _ => migration
                .as_ref()
                .map_or(machine.page, |migration| migration.spec().page),
        };
        check_memory(machine, page)?;
        let events = if options.timeline {
            options.limits.timeline_events
        } else {
            0
        };
        let mut timeline = Timeline::with_limit(events);
        if options.timeline {
            match &mode {
                TransferMode::Driver(_) => {
                    timeline.record_pages(page.bytes(), events::legend(events::BATCH));
                }
                _ if migration.is_some() => {
                    timeline.record_pages(page.bytes(), events::legend(events::SM));
                }
                _ => {}
            }
        }
        let pages = page_manager(machine, &mode, migration)?;
        let path = MemoryPath::new(machine, page, pages, timeline);
        let mut timing_model =
            TimingModel::new(machine, mode, options.limits.thread_instructions, path);
        timing_model.set_detail(options.detail);
        Ok(Self {
            options,
            page,
            placement: machine.placement,
            memory_bytes: machine.program_bytes(),
            memory_key: machine.memory.size_key(),
            memory_rate: machine.memory.bandwidth(),
            memory: new_memory(&options),
            output: Output::default(),
            modules: Vec::new(),
            timings: machine.sm.timings,
            issue_order: machine.sm.issue_order,
            timing_model,
            issue_rate: IssueRate::of(machine),
            next_address: MANAGED_BASE,
            allocated: Allocated::default(),
            fixed_bytes: 0,
            managed_count: 0,
            unheeded_hints: 0,
            placed_address: MANAGED_BASE,
            grid_workspace: None,
            stack_bytes: None,
            executor: None,
            observe_execution: None,
        })
    }

    /// Lets launches end with [`LaunchFailure::Stopped`](crate::gpu::LaunchFailure::Stopped) soon after `stop` was set. A launch that
    /// was stopped leaves the GPU in no state to go on from.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.timing_model.stop_when(stop);
    }

    /// Allocates `bytes` zero bytes that begin where the machine's placement has it. Where pages migrate, they are in CPU
    /// memory.
    ///
    /// # Errors
    /// Zero bytes, more than GPU memory holds where pages do not migrate, or more than can be addressed.
    pub fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, GpuError> {
        if bytes == 0 {
            return Err(GpuError::EmptyAllocation {
                name: name.to_owned(),
            });
        }
        let used = self.next_address - MANAGED_BASE;
        let granule = match self.placement {
            Placement::OwnPage => self.page.bytes(),
            Placement::Packed => PACKED_BYTES.min(self.page.bytes()),
        };
        let padded = bytes.checked_next_multiple_of(granule);
        let after = padded
            .and_then(|padded| used.checked_add(padded))
            .unwrap_or(u64::MAX);
        self.check_room(name, bytes, used, after)?;
        let address = self.next_address;
        self.memory.alloc_at(name, address, bytes)?;
        self.next_address = MANAGED_BASE + after;
        let path = &mut self.timing_model.path;
        path.allocate(address, bytes, self.next_address);
        if let Some(pages) = path.host_link.timeline.pages() {
            pages.allocated(name, address, bytes);
        }
        self.allocated.add(bytes, padded.unwrap_or(bytes));
        Ok(Buffer {
            address: VirtAddr(address),
            bytes,
        })
    }

    fn check_room(&self, name: &str, bytes: u64, used: u64, after: u64) -> Result<(), GpuError> {
        let pages = after.div_ceil(self.page.bytes());
        if pages > MAX_PAGES {
            return Err(GpuError::TooManyPages {
                name: name.to_owned(),
                bytes,
                pages,
                most: MAX_PAGES,
            });
        }
        let migrates = self.timing_model.migrates();
        match self.memory_bytes {
            Some(capacity) if after > capacity && !migrates => Err(GpuError::OutOfMemory {
                name: name.to_owned(),
                bytes,
                used,
                capacity,
                key: self.memory_key,
            }),
            _ => Ok(()),
        }
    }

    /// The bytes of `buffer` as the host reads them. Costs no time: for checking results.
    ///
    /// # Panics
    /// If `buffer` is not of this GPU.
    pub fn host_bytes(&self, buffer: Buffer) -> &[u8] {
        self.memory
            .bytes(buffer.address.0, buffer.bytes)
            .expect("the buffer was allocated by this Gpu")
    }

    /// The bytes of `buffer` for the host to write. Costs no time: for making inputs.
    ///
    /// # Panics
    /// If `buffer` is not of this GPU.
    pub fn host_bytes_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        self.memory
            .bytes_mut(buffer.address.0, buffer.bytes)
            .expect("the buffer was allocated by this Gpu")
    }

    /// The host hands `range` of `buffer` to the GPU at `at`: a copy over the link, or a write by the CPU where pages migrate.
    /// Returns when it is done.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn copy_to_gpu(
        &mut self,
        at: Picos,
        buffer: Buffer,
        range: Range<u64>,
    ) -> Result<Picos, GpuError> {
        self.copy(at, buffer, range, Direction::ToGpu)
    }

    /// The host takes `range` of `buffer` back at `at`: a copy over the link, or a read by the CPU where pages migrate. Returns
    /// when it is done.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn copy_from_gpu(
        &mut self,
        at: Picos,
        buffer: Buffer,
        range: Range<u64>,
    ) -> Result<Picos, GpuError> {
        self.copy(at, buffer, range, Direction::ToCpu)
    }

    fn copy(
        &mut self,
        at: Picos,
        buffer: Buffer,
        range: Range<u64>,
        direction: Direction,
    ) -> Result<Picos, GpuError> {
        self.check_range(buffer, &range)?;
        // Data are held once, whatever the mode: a copy is its time, and nothing else.
        if !self.options.timing || range.is_empty() {
            return Ok(at);
        }
        let (address, bytes) = (buffer.address.0 + range.start, range.end - range.start);
        Ok(self.timing_model.copy(at, address, bytes, direction))
    }

    pub(in crate::gpu) fn check_range(
        &self,
        buffer: Buffer,
        range: &Range<u64>,
    ) -> Result<(), GpuError> {
        let address = buffer.address.0;
        let allocation = self
            .memory
            .find(address)
            .and_then(|id| self.memory.allocation(id));
        let Some(allocation) = allocation.filter(|allocation| allocation.address() == address)
        else {
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

    /// Runs a grid that computes nothing, or computes by itself, from `at` on, but not before the last kernel has ended.
    ///
    /// # Errors
    /// [`GpuError::Launch`] with what stopped it.
    pub fn launch_grid<S: GridStream>(
        &mut self,
        at: Picos,
        kernel: &str,
        stream: &mut S,
    ) -> Result<LaunchReport, GpuError> {
        let timing_model = &mut self.timing_model;
        let end = timing_model.run_grid(at, kernel, stream, Patience::ToTheEnd)?;
        timing_model.ended(end)
    }

    /// The launches so far, in their order.
    pub fn launches(&self) -> &[LaunchReport] {
        self.timing_model.launches()
    }

    /// The results until `now`, as if the run ended then, but for its launches, events and page map.
    pub fn so_far(&self, now: Picos) -> Report {
        self.complete(self.timing_model.so_far(now))
    }

    /// Ends the run at `at`; returns its results.
    pub fn finish(mut self, at: Picos) -> Report {
        let report = self.timing_model.finish(at);
        let output = self.output.take();
        Report {
            output,
            ..self.complete(report)
        }
    }

    /// Adds what the host side knows.
    fn complete(&self, report: Report) -> Report {
        Report {
            allocated_bytes: self.allocated.total_bytes,
            allocated: self.allocated,
            capacity_bytes: self.memory_bytes,
            unheeded_hints: self.unheeded_hints,
            loads_beyond: self.memory.loads_beyond(),
            driven: self.timing_model.path.pages.manager.is_driven(),
            ..report
        }
    }
}

fn new_memory(options: &Options) -> DeviceMemory {
    let mut memory = DeviceMemory::new();
    memory.set_read_granule(options.limits.read_granule_bytes);
    memory
}

/// Who decides where managed pages are.
fn page_manager(
    machine: &GpuMachine,
    mode: &TransferMode,
    migration: Option<Migration>,
) -> Result<Pages, SpecError> {
    if let Some(migration) = migration {
        return Ok(Pages::ranges(machine, migration));
    }
    let TransferMode::Driver(run) = mode else {
        return Ok(Pages::fixed(machine));
    };
    let Some(driver) = &machine.driver else {
        let allowed = format!(
            "{} has no unified-memory driver: choose a machine that has one, or another mode",
            machine.name
        );
        return Err(SpecError::new("transfer.mode", run.strategy.name, allowed));
    };
    Ok(Pages::driver(machine, driver))
}

/// The rules of migration, with errors that name the scenario's keys.
fn build_migration(spec: &MigrationSpec) -> Result<Migration, SpecError> {
    spec.build().map_err(|error| {
        let (key, value) = match error {
            MigrationSpecError::Unit { unit_bytes, .. } => ("transfer.unit", unit_bytes),
            MigrationSpecError::NoRangeSlot => ("transfer.range_slots", 0),
        };
        SpecError::new(key, value, error.to_string())
    })
}

/// GPU memory must hold a page.
fn check_memory(machine: &GpuMachine, page: PageSize) -> Result<(), SpecError> {
    match machine.program_bytes() {
        Some(bytes) if bytes < page.bytes() => {
            let allowed = format!("must hold at least one page of {} bytes", page.bytes());
            Err(SpecError::new(machine.memory.size_key(), bytes, allowed))
        }
        _ => Ok(()),
    }
}
