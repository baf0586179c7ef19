//! The benchmark: one point at a time, on whatever GPU it is given.

use pagemill_policy::residency::{
    AccessPattern, Action, BLOCK_BYTES, Call, Mechanism, PAGE_BYTES, PatternSpec, Placement, Side,
    StrategyEntry, Variant, WARP_LANES,
};

use crate::gpu::{Buffer, Gpu};
use crate::run::Run;
use crate::size::{GIB, MIB, show_bytes};
use crate::{GpuError, Kernel, THREADS_PER_BLOCK};

/// Left to the host beside the data.
const HOST_MARGIN_BYTES: u64 = GIB;

/// GPU memory that is left to the driver, as in the published benchmark; more where it keeps access counters.
const DRIVER_BYTES: u64 = 128 * MIB;
const DRIVER_BYTES_WITH_COUNTERS: u64 = 320 * MIB;

/// Reading at random, the published benchmark leaves a third of GPU memory to the data, and takes the rest away before.
const RANDOM_SHARE: f64 = 0.33;

/// Every range that differs from its neighbors costs the driver a record of about a kilobyte.
const CALLS_MAX: u64 = 1 << 20;

/// One point of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What is read.
    pub pattern: AccessPattern,
    /// How the warps of a block keep together.
    pub variant: Variant,
    /// How the data is placed.
    pub strategy: &'static StrategyEntry,
    /// Data over GPU memory.
    pub factor: f64,
    /// Granule that striping deals out.
    pub stripe_bytes: u64,
}

/// How points are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Times that each point is run.
    pub loops: u32,
    /// Added to the thread numbers that random choices start from.
    pub seed: u64,
    /// A random run on demand is cut short where the rest of a loop would take longer, in seconds.
    pub time_limit_s: f64,
    /// Memory that the host can give, if it says so.
    pub host_bytes: Option<u64>,
}

/// What came out of one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// GPU memory that was left to the data.
    pub gpu_bytes: u64,
    /// Size of the data.
    pub allocated_bytes: u64,
    /// Thread blocks: all that the GPU holds at once.
    pub blocks: u32,
    /// Each time it was run, in order.
    pub loops: Vec<Loop>,
}

/// One time that a point was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Bytes that threads asked for.
    pub read_bytes: u64,
    /// Time on the GPU, in nanoseconds.
    pub kernel_time_ns: u64,
    /// Whether the pattern was read to its end.
    pub is_whole: bool,
}

impl Loop {
    /// Bytes asked for over the time it took.
    pub fn bytes_per_second(&self) -> f64 {
        self.read_bytes as f64 * 1e9 / self.kernel_time_ns.max(1) as f64
    }
}

/// A GPU with part of its memory taken away, so that the rest is what the factor is relative to.
pub struct Bench<G: Gpu> {
    gpu: G,
    settings: Settings,
    memory_bytes: u64,
    taken: Option<Buffer>,
}

impl<G: Gpu> Bench<G> {
    /// Leaves `memory_bytes` of GPU memory to the benchmark, or what is free.
    ///
    /// # Errors
    /// If less than that is free, or the driver refuses.
    pub fn new(
        mut gpu: G,
        memory_bytes: Option<u64>,
        settings: Settings,
    ) -> Result<Self, GpuError> {
        let free_bytes = usable_bytes(&gpu)?;
        let memory_bytes = memory_bytes.map_or(free_bytes, whole_blocks);
        if memory_bytes > free_bytes || memory_bytes == 0 {
            return Err(GpuError::GpuMemory {
                asked_bytes: memory_bytes,
                free_bytes,
                total_bytes: gpu.facts().total_bytes,
            });
        }
        let taken = take(&mut gpu, free_bytes - memory_bytes)?;
        Ok(Self {
            gpu,
            settings,
            memory_bytes,
            taken,
        })
    }

    /// GPU memory that is left to the benchmark.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The GPU.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// GPU memory that the factor of `pattern` is relative to.
    pub fn gpu_bytes(&self, pattern: AccessPattern) -> u64 {
        let share = self.memory_bytes as f64 * memory_share(pattern);
        whole_blocks(share as u64).max(BLOCK_BYTES)
    }

    /// Size of the data at a point.
    pub fn allocated_bytes(&self, point: &Point) -> u64 {
        let bytes = (self.gpu_bytes(point.pattern) as f64 * point.factor).round() as u64;
        bytes.next_multiple_of(BLOCK_BYTES)
    }

    /// Says whether a point can be measured here, before anything is allocated.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, point: &Point) -> Result<(), GpuError> {
        let is_size = point.factor.is_finite() && point.factor > 0.0;
        if !is_size {
            return Err(GpuError::BadPoint(format!(
                "factor {} is no size: use a number above 0, such as 1.5",
                point.factor
            )));
        }
        if point.strategy().mechanism() != Mechanism::Driver {
            return Err(GpuError::BadPoint(format!(
                "{} needs a GPU that moves pages by itself, and there is none: it can only be simulated",
                point.strategy.name
            )));
        }
        let stripes = PAGE_BYTES..=BLOCK_BYTES;
        if !stripes.contains(&point.stripe_bytes) || !point.stripe_bytes.is_power_of_two() {
            return Err(GpuError::BadPoint(format!(
                "a stripe of {} bytes cannot be dealt out: use 4 KiB, 64 KiB or 2 MiB",
                point.stripe_bytes
            )));
        }
        self.check_host(point)?;
        self.check_calls(point)
    }

    fn check_host(&self, point: &Point) -> Result<(), GpuError> {
        let Some(available_bytes) = self.settings.host_bytes else {
            return Ok(());
        };
        let needed_bytes = self
            .allocated_bytes(point)
            .saturating_add(HOST_MARGIN_BYTES);
        if needed_bytes <= available_bytes {
            return Ok(());
        }
        let room = available_bytes.saturating_sub(HOST_MARGIN_BYTES + BLOCK_BYTES);
        let gpu_bytes = self.gpu_bytes(point.pattern);
        Err(GpuError::HostMemory {
            needed_bytes,
            available_bytes,
            largest_factor_hundredths: (room as f64 * 100.0 / gpu_bytes as f64) as u64,
        })
    }

    fn check_calls(&self, point: &Point) -> Result<(), GpuError> {
        let mut calls = 0;
        point
            .strategy()
            .calls(&self.placement(point), &mut |_| calls += 1);
        if calls <= CALLS_MAX {
            return Ok(());
        }
        Err(GpuError::BadPoint(format!(
            "{} of {} in stripes of {} takes {calls} calls, and the driver keeps a record of each range: use larger stripes, \
             or less data (at most {CALLS_MAX} calls)",
            point.strategy.name,
            show_bytes(self.allocated_bytes(point)),
            show_bytes(point.stripe_bytes)
        )))
    }

    fn placement(&self, point: &Point) -> Placement {
        Placement {
            allocation_bytes: self.allocated_bytes(point),
            gpu_bytes: self.gpu_bytes(point.pattern),
            stripe_bytes: point.stripe_bytes,
        }
    }

    /// Measures one point.
    ///
    /// # Errors
    /// What [`check`](Self::check) finds, and what the driver refuses.
    pub fn measure(&mut self, point: &Point) -> Result<Measured, GpuError> {
        self.check(point)?;
        let run = self.run(point)?;
        let gpu_bytes = self.gpu_bytes(point.pattern);
        let taken = take(&mut self.gpu, self.memory_bytes - gpu_bytes)?;
        let loops = self.all_loops(point, &run);
        let freed = taken.map_or(Ok(()), |taken| self.gpu.free(taken));
        let measured = Measured {
            gpu_bytes,
            allocated_bytes: run.spec().bytes,
            blocks: run.spec().blocks,
            loops: loops?,
        };
        freed.map(|()| measured)
    }

    fn run(&self, point: &Point) -> Result<Run, GpuError> {
        let kernel = Kernel {
            pattern: point.pattern,
            variant: point.variant,
        };
        let spec = PatternSpec {
            pattern: point.pattern,
            bytes: self.allocated_bytes(point),
            blocks: self.gpu.facts().sm_count * self.gpu.resident_blocks(kernel)?,
            warps_per_block: THREADS_PER_BLOCK / WARP_LANES as u32,
            page_bytes: BLOCK_BYTES,
            seed: self.settings.seed,
        };
        Run::new(kernel, spec)
    }

    fn all_loops(&mut self, point: &Point, run: &Run) -> Result<Vec<Loop>, GpuError> {
        // Pages that were evicted stay mapped on such platforms, so they would not fault again.
        let starts_anew = self.gpu.facts().uses_host_page_tables && point.restarts();
        let mut loops = Vec::new();
        while (loops.len() as u32) < self.settings.loops {
            let buffer = self.gpu.alloc_managed(run.spec().bytes)?;
            let times = if starts_anew { 1 } else { self.settings.loops };
            let timed = self.loops_of(point, run, buffer, times);
            let freed = self.gpu.free(buffer);
            loops.extend(timed?);
            freed?;
        }
        Ok(loops)
    }

    fn loops_of(
        &mut self,
        point: &Point,
        run: &Run,
        buffer: Buffer,
        times: u32,
    ) -> Result<Vec<Loop>, GpuError> {
        self.gpu.write_from_cpu(buffer)?;
        // A round trip, as published: then the first loop finds what the later ones find.
        self.prefetch_all(buffer, Side::Gpu)?;
        self.prefetch_all(buffer, Side::Cpu)?;
        // Advice counts at once, a prefetch when its turn comes.
        self.gpu.finish()?;
        let mut calls = Vec::new();
        point
            .strategy()
            .calls(&self.placement(point), &mut |call| calls.push(call));
        let mut loops = Vec::new();
        for number in 0..times {
            if number > 0 && point.restarts() {
                // What was advised stays; what was moved has to move again.
                calls
                    .retain(|call| matches!(call.action, Action::Prefetch(_) | Action::ReadMostly));
                self.move_back(buffer, &calls)?;
            }
            if number == 0 || point.restarts() {
                for call in &calls {
                    self.gpu.call(buffer, call)?;
                }
            }
            self.gpu.finish()?;
            loops.push(self.time(point, run, buffer)?);
        }
        Ok(loops)
    }

    /// Moves all data to the CPU. Where it is read mostly, the GPU would keep a copy of what is moved.
    fn move_back(&mut self, buffer: Buffer, calls: &[Call]) -> Result<(), GpuError> {
        for call in calls {
            if call.action == Action::ReadMostly {
                let action = Action::NotReadMostly;
                let bytes = call.bytes.clone();
                self.gpu.call(buffer, &Call { bytes, action })?;
            }
        }
        self.prefetch_all(buffer, Side::Cpu)?;
        self.gpu.finish()
    }

    fn prefetch_all(&mut self, buffer: Buffer, side: Side) -> Result<(), GpuError> {
        let call = Call {
            bytes: 0..buffer.bytes,
            action: Action::Prefetch(side),
        };
        self.gpu.call(buffer, &call)
    }

    fn time(&mut self, point: &Point, run: &Run, buffer: Buffer) -> Result<Loop, GpuError> {
        let may_thrash = point.restarts() && buffer.bytes > self.gpu_bytes(point.pattern);
        let mut part = run.first_part(may_thrash);
        let limit_ns = self.settings.time_limit_s * 1e9;
        let (mut done, mut kernel_time_ns) = (0, 0);
        // Parts double, so what each costs to start does not count. The driver's state goes on from one to the next.
        loop {
            let part_ns = self.gpu.time_ns(&run.launch(buffer, done, part))?;
            done += part;
            kernel_time_ns += part_ns;
            let next = (2 * part).min(run.rounds() - done);
            let next_ns = part_ns as f64 * next as f64 / part as f64;
            if next == 0 || kernel_time_ns as f64 + next_ns > limit_ns {
                break;
            }
            part = next;
        }
        Ok(Loop {
            read_bytes: run.bytes_read(done),
            kernel_time_ns,
            is_whole: done == run.rounds(),
        })
    }
}

impl Point {
    fn strategy(&self) -> Box<dyn pagemill_policy::residency::Strategy> {
        (self.strategy.build)()
    }

    /// Whether each loop starts with the data in the CPU's memory.
    fn restarts(&self) -> bool {
        self.strategy().restarts_from_cpu()
    }
}

impl<G: Gpu> Drop for Bench<G> {
    fn drop(&mut self) {
        if let Some(buffer) = self.taken.take() {
            // No caller is left that could act on an error.
            let _ = self.gpu.free(buffer);
        }
    }
}

/// GPU memory that data can take on `gpu` now.
///
/// # Errors
/// If the driver does not answer.
pub fn usable_bytes(gpu: &impl Gpu) -> Result<u64, GpuError> {
    let driver_bytes = match gpu.facts().uses_host_page_tables {
        true => DRIVER_BYTES_WITH_COUNTERS,
        false => DRIVER_BYTES,
    };
    Ok(whole_blocks(gpu.free_bytes()?.saturating_sub(driver_bytes)))
}

/// Share of the benchmark's GPU memory that data of `pattern` is left.
pub fn memory_share(pattern: AccessPattern) -> f64 {
    match pattern {
        AccessPattern::GridStride | AccessPattern::BlockStride => 1.0,
        AccessPattern::RandomWarp => RANDOM_SHARE,
    }
}

/// GPU memory for which data of `factor` times its size fits into `host_bytes` of the host's memory.
pub fn memory_for_host(host_bytes: u64, factor: f64) -> u64 {
    let room = host_bytes.saturating_sub(HOST_MARGIN_BYTES + BLOCK_BYTES);
    whole_blocks((room as f64 / factor) as u64)
}

fn whole_blocks(bytes: u64) -> u64 {
    bytes / BLOCK_BYTES * BLOCK_BYTES
}

fn take(gpu: &mut impl Gpu, bytes: u64) -> Result<Option<Buffer>, GpuError> {
    match bytes {
        0 => Ok(None),
        bytes => gpu.alloc_fixed(bytes).map(Some),
    }
}
