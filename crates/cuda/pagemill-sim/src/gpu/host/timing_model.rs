//! The timed side of a GPU: each thing that the host asks for begins at the time at which it asks. Kernels run one after the
//! other.

mod untimed;

use crate::gpu::error::{GpuError, LaunchFailure};
use crate::gpu::host::detail::Detail;
use crate::gpu::host::device::TransferMode;
use crate::gpu::host::report::{LaunchReport, Report};
use crate::gpu::host::sampling::Sampler;
use crate::gpu::machine::GpuMachine;
use crate::gpu::memory::l2::Writer;
use crate::gpu::memory::path::MemoryPath;
use crate::gpu::sm::outcome::RunError;
use crate::gpu::sm::run::Engine;
use crate::gpu::stats::{ExecutionStats, LaunchStats};
use crate::gpu::stream::{GridStream, StreamFailure};
use pagemill_pages::MemoryStats;
use pagemill_pages::managers::ledger::{LineAccount, LineReport};
use pagemill_pages::parts::link::Direction;
use pagemill_pages::{TimelineEvent, TimelineKind};
use pagemill_policy::residency::{Action, Call, Placement};
use pagemill_ptx::{Patience, readable_name};
use pagemill_types::Picos;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(in crate::gpu) use untimed::Executed;

/// A grid whose first blocks have started.
#[derive(Debug)]
pub(in crate::gpu) struct BegunGrid {
    kernel: String,
    start: Picos,
    /// When it began or last went on.
    since: Picos,
    /// What the memory side had counted before, less what it counted for this grid.
    before: MemoryStats,
}

/// A grid that waits for something outside of it.
#[derive(Debug)]
pub(in crate::gpu) struct WaitingGrid {
    begun: BegunGrid,
    /// What the memory side has counted for it.
    counted: MemoryStats,
    engine: Engine,
}

impl WaitingGrid {
    /// When it came to that.
    pub(in crate::gpu) fn since(&self) -> Picos {
        self.engine.held_at()
    }
}

/// How a run of a grid ended.
pub(in crate::gpu) enum GridEnd {
    Ended(Box<LaunchReport>),
    Waits(Box<WaitingGrid>),
}

/// SMs and memory side.
#[derive(Debug)]
pub(in crate::gpu) struct TimingModel {
    mode: TransferMode,
    launch_overhead: Picos,
    instruction_limit: u64,
    pub(in crate::gpu) path: MemoryPath,
    pub(in crate::gpu) engine: Engine,
    /// When the last kernel ended: they run one after the other.
    kernels_done: Picos,
    execution: ExecutionStats,
    kernel_time: Picos,
    copy_time: Picos,
    launches: Vec<LaunchReport>,
    /// By file and line.
    lines: BTreeMap<(String, u32), LineAccount>,
    pub(in crate::gpu) sampler: Sampler,
}

impl TimingModel {
    pub(in crate::gpu) fn new(
        machine: &GpuMachine,
        mode: TransferMode,
        instruction_limit: u64,
        path: MemoryPath,
    ) -> Self {
        Self {
            mode,
            launch_overhead: machine.launch_overhead,
            instruction_limit,
            path,
            engine: Engine::new(machine),
            kernels_done: Picos::ZERO,
            execution: ExecutionStats::default(),
            kernel_time: Picos::ZERO,
            copy_time: Picos::ZERO,
            launches: Vec::new(),
            lines: BTreeMap::new(),
            sampler: Sampler::default(),
        }
    }

    /// How much of later launches is timed.
    pub(in crate::gpu) fn set_detail(&mut self, detail: Detail) {
        self.sampler = Sampler::new(detail);
    }

    pub(in crate::gpu) fn migrates(&self) -> bool {
        matches!(
            self.mode,
            TransferMode::Migrate(_) | TransferMode::Driver(_)
        )
    }

    /// Whether the programmer copies everything to GPU memory.
    pub(in crate::gpu) fn copies(&self) -> bool {
        self.mode == TransferMode::ProgrammerCopy
    }

    /// Whether the link costs nothing.
    pub(in crate::gpu) fn moves_for_free(&self) -> bool {
        self.mode == TransferMode::IdealOverlap
    }

    /// Whether there was a launch.
    pub(in crate::gpu) fn has_launched(&self) -> bool {
        !self.launches.is_empty()
    }

    /// Thread instructions that the run may still execute.
    pub(in crate::gpu) fn instructions_left(&self) -> u64 {
        self.instruction_limit
            .saturating_sub(self.execution.thread_instructions)
    }

    /// Launches end soon after `stop` was set.
    pub(in crate::gpu) fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.engine.stop = Some(stop);
    }

    /// The host copies; when that is done.
    pub(in crate::gpu) fn copy(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        direction: Direction,
    ) -> Picos {
        let (end, moved) = match &self.mode {
            TransferMode::IdealOverlap => (at, 0),
            TransferMode::ProgrammerCopy => {
                let transfer = self.path.host_link.link.transfer(at, direction, bytes);
                // What a copy engine writes lies in L2: without, small programs read memory where
                // an H100 does not (`validation/h100`).
                if direction == Direction::ToGpu {
                    self.path
                        .leave_written(transfer.done, (address, bytes), Writer::Link);
                }
                (transfer.done, bytes)
            }
            // There is nothing to copy: the host touches its data, and what is away comes back for
            // that (Zhang et al. 2019, section 3.2).
            TransferMode::Migrate(_) | TransferMode::Driver(_) => {
                let writes = direction == Direction::ToGpu;
                self.path.cpu_request(at, address, bytes, writes)
            }
        };
        self.copied(at, direction, moved, end)
    }

    /// The CPU writes to managed bytes; when what moves to the CPU has arrived.
    pub(in crate::gpu) fn written_by_host(&mut self, at: Picos, address: u64, bytes: u64) -> Picos {
        let (end, moved) = self.path.cpu_request(at, address, bytes, true);
        self.copied(at, Direction::ToCpu, moved, end)
    }

    /// From `start` to `end`, `moved` bytes were copied.
    fn copied(&mut self, start: Picos, direction: Direction, moved: u64, end: Picos) -> Picos {
        if moved > 0 {
            self.path.host_link.timeline.record(|| TimelineEvent {
                kind: copy_kind(direction),
                start,
                end,
                bytes: moved,
            });
        }
        self.copy_time += end - start;
        end
    }

    /// The program says how managed bytes will be used; when that is done, with what it moves if `waits`. `None` where the page
    /// manager heeds no such call.
    pub(in crate::gpu) fn advise(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        action: Action,
        waits: bool,
    ) -> Option<Picos> {
        let (called, moved) = self.path.call(at, address, bytes, action)?;
        let end = match waits {
            true => called.max(moved),
            false => called,
        };
        self.copy_time += end - at;
        Some(end)
    }

    /// Carries out the calls that the mode makes for the managed bytes from `address`, one after the other; when all are done.
    pub(in crate::gpu) fn place(
        &mut self,
        at: Picos,
        address: u64,
        placement: &Placement,
    ) -> Picos {
        let calls = self.placement_calls(placement).into_iter();
        calls.fold(at, |at, call| {
            let bytes = call.bytes.end - call.bytes.start;
            let done = self.advise(at, address + call.bytes.start, bytes, call.action, true);
            done.unwrap_or(at)
        })
    }

    /// The calls that the mode makes for managed memory.
    pub(in crate::gpu) fn placement_calls(&self, placement: &Placement) -> Vec<Call> {
        let mut calls = Vec::new();
        if let TransferMode::Driver(run) = &self.mode {
            (run.strategy.build)().calls(placement, &mut |call| calls.push(call));
        }
        calls
    }

    /// The granule that the mode's strategy deals out.
    pub(in crate::gpu) fn stripe_bytes(&self) -> Option<u64> {
        match &self.mode {
            TransferMode::Driver(run) => Some(run.stripe_bytes),
            _ => None,
        }
    }

    /// The host copies over the link, whatever the mode but the ideal one; when that is done.
    pub(in crate::gpu) fn transfer(
        &mut self,
        at: Picos,
        bytes: u64,
        direction: Direction,
    ) -> Picos {
        if self.moves_for_free() {
            return at;
        }
        let transfer = self.path.host_link.link.transfer(at, direction, bytes);
        self.copied(at, direction, bytes, transfer.done)
    }

    /// Something of the GPU that is no kernel works for the host; until when.
    pub(in crate::gpu) fn occupy(&mut self, at: Picos, duration: Picos) -> Picos {
        self.copy_time += duration;
        at + duration
    }

    /// Managed bytes come to the GPU; when they are there.
    pub(in crate::gpu) fn prefetch(&mut self, at: Picos, address: u64, bytes: u64) -> Picos {
        let end = self.path.prefetch(at, address, bytes);
        self.copy_time += end - at;
        end
    }

    /// Runs a grid from `at` on, but not before the last kernel has ended, until it ends or waits.
    pub(in crate::gpu) fn run_grid<S>(
        &mut self,
        at: Picos,
        kernel: &str,
        stream: &mut S,
        patience: Patience,
    ) -> Result<GridEnd, GpuError>
    where
        S: GridStream,
    {
        let begun = self.begin_grid(at, kernel, stream)?;
        self.run_begun(begun, patience, stream)
    }

    /// The report of a grid that nothing outside of it could help.
    pub(in crate::gpu) fn ended(&self, end: GridEnd) -> Result<LaunchReport, GpuError> {
        match end {
            GridEnd::Ended(report) => Ok(*report),
            GridEnd::Waits(waiting) => Err(self.deadlock(&waiting.begun.kernel)),
        }
    }

    /// `kernel` waits, and there is nothing that it could wait for.
    pub(in crate::gpu) fn deadlock(&self, kernel: &str) -> GpuError {
        self.launch_error(kernel, LaunchFailure::Deadlock { block: 0 })
    }

    /// Begins a grid at `at`, or when the last kernel has ended.
    fn begin_grid<S>(
        &mut self,
        at: Picos,
        kernel: &str,
        stream: &mut S,
    ) -> Result<BegunGrid, GpuError>
    where
        S: GridStream,
    {
        let start = at.max(self.kernels_done);
        let begun = BegunGrid {
            kernel: kernel.to_owned(),
            start,
            since: start,
            before: self.path.stats(),
        };
        if let Some(pages) = self.path.host_link.timeline.pages() {
            pages.launch(&readable_name(kernel), start.0);
        }
        let left = self.instructions_left();
        let begins = start + self.launch_overhead;
        let started = self.engine.begin(begins, stream, &mut self.path, left);
        started.map_err(|error| self.run_error(kernel, error))?;
        Ok(begun)
    }

    /// A grid that waited goes on at `at`, or when the last kernel has ended or waits.
    pub(in crate::gpu) fn go_on(&mut self, at: Picos, mut waiting: WaitingGrid) -> BegunGrid {
        let at = at.max(self.kernels_done);
        std::mem::swap(&mut self.engine, &mut waiting.engine);
        self.engine.release_held(at, &mut self.path);
        BegunGrid {
            since: at,
            // So that the difference at the end has what was counted before the wait, and nothing
            // of what other launches did meanwhile.
            before: self.path.stats().since(&waiting.counted),
            ..waiting.begun
        }
    }

    /// Runs a grid that has begun until it ends or waits.
    pub(in crate::gpu) fn run_begun<S>(
        &mut self,
        begun: BegunGrid,
        patience: Patience,
        stream: &mut S,
    ) -> Result<GridEnd, GpuError>
    where
        S: GridStream,
    {
        let number = u32::try_from(self.launches.len()).unwrap_or(u32::MAX);
        self.path.host_link.ledger.set_launch(Some(number));
        self.path
            .host_link
            .ledger
            .follow_lines(stream.instructions());
        let outcome = self.engine.run(patience, stream, &mut self.path);
        self.path.host_link.ledger.set_launch(None);
        let accounts = self.path.host_link.ledger.take_lines();
        let outcome = outcome.map_err(|error| self.run_error(&begun.kernel, error))?;
        let waits = outcome.as_ref().map_or(&[][..], |outcome| &outcome.waits);
        self.note_lines(accounts, waits, stream);
        let end = match &outcome {
            Some(outcome) => outcome.end,
            None => self.engine.held_at(),
        };
        self.kernels_done = self.kernels_done.max(end);
        // Since it last went on: what other kernels did while it waited is their time.
        self.kernel_time += end.saturating_since(begun.since);
        if let Some(pages) = self.path.host_link.timeline.pages() {
            pages.ended(end.0);
        }
        let memory = self.path.stats().since(&begun.before);
        let Some(outcome) = outcome else {
            // The engine is kept as it is, with its warps where they wait. Launches in between run on another one.
            let unused = self.engine.clone();
            return Ok(GridEnd::Waits(Box::new(WaitingGrid {
                begun,
                counted: memory,
                engine: std::mem::replace(&mut self.engine, unused),
            })));
        };
        let BegunGrid { kernel, start, .. } = begun;
        self.path
            .host_link
            .timeline
            .record_kernel(|| TimelineEvent {
                kind: TimelineKind::Kernel {
                    name: kernel.clone(),
                },
                start,
                end,
                bytes: 0,
            });
        Ok(GridEnd::Ended(Box::new(self.note_launch(
            &kernel,
            LaunchStats {
                start,
                end,
                execution: outcome.execution,
                memory,
                occupancy: Some(outcome.occupancy),
            },
        ))))
    }

    /// Adds what happened for the instructions of a launch to the accounts of their lines.
    fn note_lines<S: GridStream>(
        &mut self,
        accounts: Vec<LineAccount>,
        waits: &[Picos],
        stream: &S,
    ) {
        for (number, mut account) in (0..).zip(accounts) {
            account.waiting = waits.get(number as usize).copied().unwrap_or_default();
            if !account.is_idle()
                && let Some(source) = stream.source_of(number)
            {
                self.lines.entry(source).or_default().add(&account);
            }
        }
    }

    /// Notes a launch that was run without time.
    pub(in crate::gpu) fn note_functional(
        &mut self,
        at: Picos,
        kernel: &str,
        execution: ExecutionStats,
    ) -> Result<LaunchReport, GpuError> {
        let stats = LaunchStats {
            start: at,
            end: at,
            execution,
            ..LaunchStats::default()
        };
        // Asked before the launch is noted, which uses up what is left.
        let within = execution.thread_instructions <= self.instructions_left();
        let report = self.note_launch(kernel, stats);
        if within {
            return Ok(report);
        }
        Err(self.launch_error(
            kernel,
            LaunchFailure::InstructionLimit {
                limit: self.instruction_limit,
            },
        ))
    }

    fn note_launch(&mut self, kernel: &str, stats: LaunchStats) -> LaunchReport {
        self.execution.add(&stats.execution);
        let report = LaunchReport {
            kernel: kernel.to_owned(),
            stats,
        };
        self.launches.push(report.clone());
        report
    }

    fn launch_error(&self, kernel: &str, failure: LaunchFailure) -> GpuError {
        GpuError::Launch {
            kernel: kernel.to_owned(),
            failure,
        }
    }

    fn run_error<E: Into<StreamFailure>>(&self, kernel: &str, error: RunError<E>) -> GpuError {
        let limit = self.instruction_limit;
        let failure = match error {
            RunError::Stream(error) => {
                return match error.into() {
                    StreamFailure::Trap(trap) => GpuError::Trap(trap),
                    StreamFailure::Other(message) => GpuError::Program {
                        kernel: kernel.to_owned(),
                        message,
                    },
                };
            }
            RunError::DoesNotFit(occupancy) => LaunchFailure::DoesNotFit(occupancy),
            RunError::InstructionLimit => LaunchFailure::InstructionLimit { limit },
            RunError::Stopped => LaunchFailure::Stopped,
            RunError::TimeLimit => LaunchFailure::TimeLimit,
            RunError::Deadlock { block } => LaunchFailure::Deadlock { block },
        };
        self.launch_error(kernel, failure)
    }

    /// The launches so far, in their order.
    pub(in crate::gpu) fn launches(&self) -> &[LaunchReport] {
        &self.launches
    }

    /// Results until `now` without launches and events; the host side adds its own.
    pub(in crate::gpu) fn so_far(&self, now: Picos) -> Report {
        let memory = self.path.stats();
        Report {
            time_ns: now.as_nanos(),
            kernel_time_ns: self.kernel_time.as_nanos(),
            copy_time_ns: self.copy_time.as_nanos(),
            execution: self.execution,
            memory,
            migrated_bytes: memory.to_gpu.bytes,
            returned_bytes: memory.to_cpu.bytes,
            touched_bytes: memory.touched_bytes,
            resident_bytes: self.path.pages.manager.resident_bytes(),
            ranges_per_page: self.path.pages.manager.ranges_per_page(),
            allocations: self.path.host_link.ledger.reports(),
            lines: lines(&self.lines),
            sampling: self.sampler.finish(&self.launches),
            ..Report::default()
        }
    }

    /// Results of the run, which ended at `at`; the host side adds its own.
    pub(in crate::gpu) fn finish(&mut self, at: Picos) -> Report {
        let end = self.estimate_again(at);
        self.path.pages.manager.land_everything();
        let report = self.so_far(end);
        let link_rate = self.path.host_link.link.bytes_per_second();
        let timeline = &mut self.path.host_link.timeline;
        Report {
            page_map: timeline.finish_pages(end, link_rate),
            timeline: std::mem::take(timeline),
            launches: std::mem::take(&mut self.launches),
            ..report
        }
    }
}

/// The accounts of lines, by file and line.
fn lines(accounts: &BTreeMap<(String, u32), LineAccount>) -> Vec<LineReport> {
    let report = |((file, line), account): (&(String, u32), &LineAccount)| LineReport {
        file: file.clone(),
        line: *line,
        account: *account,
    };
    accounts.iter().map(report).collect()
}

fn copy_kind(direction: Direction) -> TimelineKind {
    match direction {
        Direction::ToGpu => TimelineKind::CopyToGpu,
        Direction::ToCpu => TimelineKind::CopyFromGpu,
    }
}
