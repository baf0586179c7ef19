//! Launches, and those that wait for something outside of them: for what the host writes, or a kernel of another stream.
//!
//! A launch that waits stops once each of its warps is back where it was, with the same registers and the same memory: nothing in it
//! can get on by itself. It goes on when it is asked to, after others had their turn. See `docs/adr/0033-kernels-that-meet.md`.

use crate::gpu::error::GpuError;
use crate::gpu::host::detail::Detail;
use crate::gpu::host::device::Gpu;
use crate::gpu::host::program::{LaunchShape, Launched, ModuleId, executed};
use crate::gpu::host::report::LaunchReport;
use crate::gpu::host::timing_model::{GridEnd, WaitingGrid};
use pagemill_ptx::{Block, FunctionalRun, Launch, Patience, QueuedWork};
use pagemill_types::Picos;

/// How a launch went.
#[derive(Debug)]
pub enum LaunchEnd {
    /// It has ended, with all that it led to.
    Done(Box<Launched>),
    /// It waits for something outside of it: [`Gpu::go_on`].
    Waits(Box<WaitingLaunch>),
}

/// A launch that waits.
#[derive(Debug)]
pub struct WaitingLaunch {
    launch: Launch,
    module: ModuleId,
    run: Run,
    /// What it has asked for so far.
    asked_for: Vec<QueuedWork>,
    has_changed_memory: bool,
}

#[derive(Debug)]
enum Run {
    /// Without time, since then.
    Untimed(Picos, FunctionalRun),
    Timed(Box<WaitingGrid>, Vec<Block>),
}

impl WaitingLaunch {
    /// Whether it has changed memory since it last began to wait.
    pub fn has_changed_memory(&self) -> bool {
        self.has_changed_memory
    }

    /// Since when it waits.
    pub fn since(&self) -> Picos {
        match &self.run {
            Run::Untimed(at, _) => *at,
            Run::Timed(grid, _) => grid.since(),
        }
    }
}

impl Gpu {
    /// Runs `kernel` of a module from `at` on, but not before the last kernel has ended. What the kernel launches runs before it
    /// counts as done. `arguments` is the block of bytes that the kernel reads: each parameter at its offset.
    ///
    /// Without time ([`Options::timing`](crate::gpu::Options) off), the report's times and memory counts are zero.
    ///
    /// # Errors
    /// No such kernel, an impossible shape, or whatever stopped the kernel; of the arguments only the size of the whole block is
    /// checked.
    pub fn launch(
        &mut self,
        at: Picos,
        module: ModuleId,
        kernel: &str,
        shape: &LaunchShape,
        arguments: &[u8],
    ) -> Result<Launched, GpuError> {
        let patience = Patience::ToTheEnd;
        match self.launch_for(at, module, kernel, shape, arguments, patience)? {
            LaunchEnd::Done(launched) => Ok(*launched),
            LaunchEnd::Waits(_) => Err(self.timing_model.deadlock(kernel)),
        }
    }

    /// As [`Gpu::launch`], but a launch in which nothing gets on may wait for others, if `patience` says so. Launches with
    /// clusters, and those that are not timed in a run that is, do not.
    ///
    /// # Errors
    /// As [`Gpu::launch`].
    pub fn launch_for(
        &mut self,
        at: Picos,
        module: ModuleId,
        kernel: &str,
        shape: &LaunchShape,
        arguments: &[u8],
        patience: Patience,
    ) -> Result<LaunchEnd, GpuError> {
        self.memory.begin_device_grid(0, 0);
        let end = self.begin(at, module, kernel, shape, arguments, patience);
        self.after(module, end)
    }

    /// A launch that waited goes on, at `at` or when the kernel before has ended or waits.
    ///
    /// # Errors
    /// Whatever stopped the kernel.
    pub fn go_on(
        &mut self,
        at: Picos,
        waiting: WaitingLaunch,
        patience: Patience,
    ) -> Result<LaunchEnd, GpuError> {
        let WaitingLaunch {
            launch,
            module,
            run,
            asked_for,
            ..
        } = waiting;
        let changes = self.memory.changes();
        self.memory.begin_device_grid(0, asked_for.len() as u64);
        let end = match run {
            Run::Untimed(since, run) => {
                self.without_time(since.max(at), module, launch, run, patience)
            }
            Run::Timed(grid, blocks) => {
                let end = self.on_grid(module, &launch, |timing_model, grid_stream| {
                    let begun = timing_model.go_on(at, *grid);
                    let mut stream = grid_stream.with_blocks(blocks);
                    let end = timing_model.run_begun(begun, patience, &mut stream);
                    end.map(|end| (end, stream.into_blocks()))
                });
                end.map(|(end, blocks)| timed_end(end, blocks, launch, module))
            }
        };
        let end = end.map(|end| match end {
            One::Ended(report, _) => One::Ended(report, asked_for),
            One::Waits(next) => One::Waits(WaitingLaunch {
                asked_for,
                // One change is that of others, which it was to look for.
                has_changed_memory: self.memory.changes() > changes + 1,
                ..next
            }),
        });
        self.after(module, end)
    }

    fn begin(
        &mut self,
        at: Picos,
        module: ModuleId,
        kernel: &str,
        shape: &LaunchShape,
        arguments: &[u8],
        patience: Patience,
    ) -> Result<One, GpuError> {
        let launch = self.ready_launch(module, kernel, shape, arguments)?;
        let is_whole = !self.options.timing || self.options.detail == Detail::Full;
        let patience = match is_whole && launch.cluster_blocks() == 1 {
            true => patience,
            false => Patience::ToTheEnd,
        };
        if !self.options.timing {
            return self.without_time(at, module, launch, FunctionalRun::default(), patience);
        }
        if !is_whole {
            let report = self.run_by_detail(at, module, shape, &launch)?;
            return Ok(One::Ended(report, Vec::new()));
        }
        let (end, blocks) = self.run_timed(at, module, &launch, patience)?;
        Ok(timed_end(end, blocks, launch, module))
    }

    /// Runs a grid that another grid asked for.
    pub(in crate::gpu) fn launch_one(
        &mut self,
        at: Picos,
        module: ModuleId,
        kernel: &str,
        shape: &LaunchShape,
        arguments: &[u8],
    ) -> Result<LaunchReport, GpuError> {
        match self.begin(at, module, kernel, shape, arguments, Patience::ToTheEnd)? {
            One::Ended(report, _) => Ok(report),
            One::Waits(_) => Err(self.timing_model.deadlock(kernel)),
        }
    }

    fn without_time(
        &mut self,
        at: Picos,
        module: ModuleId,
        launch: Launch,
        mut run: FunctionalRun,
        patience: Patience,
    ) -> Result<One, GpuError> {
        if self.go_on_untimed(&mut run, &launch, patience)? {
            let name = &launch.kernel().name;
            let report = self
                .timing_model
                .note_functional(at, name, executed(&run))?;
            return Ok(One::Ended(report, Vec::new()));
        }
        Ok(One::Waits(WaitingLaunch {
            launch,
            module,
            run: Run::Untimed(at, run),
            asked_for: Vec::new(),
            has_changed_memory: true,
        }))
    }

    /// What follows when a grid of the host has ended or waits.
    fn after(
        &mut self,
        module: ModuleId,
        end: Result<One, GpuError>,
    ) -> Result<LaunchEnd, GpuError> {
        let result = match end {
            Ok(One::Ended(report, asked_for)) => self
                .run_children(module, report, asked_for)
                .map(|launched| LaunchEnd::Done(Box::new(launched))),
            Ok(One::Waits(mut waiting)) => {
                let asked_for = self.memory.take_device_work();
                waiting.asked_for.extend(asked_for);
                // Another cooperative launch counts its arrivals elsewhere.
                self.grid_workspace = None;
                return Ok(LaunchEnd::Waits(Box::new(waiting)));
            }
            Err(error) => Err(error),
        };
        if result.is_err() {
            self.memory.take_device_work();
        }
        result
    }
}

/// How one grid went.
enum One {
    /// With what it had asked for before it waited.
    Ended(LaunchReport, Vec<QueuedWork>),
    Waits(WaitingLaunch),
}

fn timed_end(end: GridEnd, blocks: Vec<Block>, launch: Launch, module: ModuleId) -> One {
    match end {
        GridEnd::Ended(report) => One::Ended(*report, Vec::new()),
        GridEnd::Waits(grid) => One::Waits(WaitingLaunch {
            launch,
            module,
            run: Run::Timed(grid, blocks),
            asked_for: Vec::new(),
            has_changed_memory: true,
        }),
    }
}
