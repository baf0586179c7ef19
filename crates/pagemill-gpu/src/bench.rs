//! The benchmark: one point at a time, on whatever GPU it is given.

use crate::gpu::{Buffer, Gpu, Launch};
use crate::lcg::Skip;
use crate::size::{GIB, MIB, show_bytes};
use crate::strategy::{Sizes, Step, Strategy, plan, stripes};
use crate::{GpuError, Kernel, Pattern, THREADS_PER_BLOCK, Variant};

/// Bytes of an element.
const ELEMENT_BYTES: u64 = 4;

/// Data is a multiple of this: what the driver moves and evicts at most at once.
const BLOCK_BYTES: u64 = 2 * MIB;

/// Left to the host beside the data.
const HOST_MARGIN_BYTES: u64 = GIB;

/// GPU memory that stripes leave to the driver, as in the published benchmark; more where it keeps access counters.
const DRIVER_BYTES: u64 = 128 * MIB;
const DRIVER_BYTES_WITH_COUNTERS: u64 = 320 * MIB;

/// Every range that differs from its neighbours costs the driver a record of about a kilobyte.
const STRIPES_MAX: usize = 1 << 20;

/// Part of a random run that is timed alone first, where it could take hours.
const FIRST_PART: u64 = 1024;

/// One point of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What is read.
    pub pattern: Pattern,
    /// How warps keep together.
    pub variant: Variant,
    /// Where the data lives.
    pub strategy: Strategy,
    /// Data over GPU memory.
    pub factor: f64,
    /// Unit of striping, and of the page that a warp picks at random: 2 MiB, 64 KiB or 4 KiB.
    pub granule_bytes: u64,
}

/// How points are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Times that each point is run.
    pub repetitions: u32,
    /// A random run on demand is cut short where the rest of a repetition would take longer, in seconds.
    pub time_limit_s: f64,
    /// Memory that the host can give, if it says so.
    pub host_bytes: Option<u64>,
}

/// What came out of one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Size of the data.
    pub data_bytes: u64,
    /// Thread blocks: all that the GPU holds at once.
    pub blocks: u32,
    /// Each repetition, in order.
    pub repetitions: Vec<Repetition>,
}

/// One repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// Bytes that threads asked for.
    pub read_bytes: u64,
    /// Time on the GPU, in nanoseconds.
    pub kernel_time_ns: u64,
    /// Whether the pattern was read to its end.
    pub is_whole: bool,
}

impl Repetition {
    /// Bytes asked for over the time it took.
    pub fn bytes_per_second(&self) -> f64 {
        self.read_bytes as f64 * 1e9 / self.kernel_time_ns.max(1) as f64
    }
}

/// A GPU with part of its memory set aside, so that the rest is what the factor is relative to.
pub struct Bench<G: Gpu> {
    gpu: G,
    settings: Settings,
    memory_bytes: u64,
    set_aside: Option<Buffer>,
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
        let free_bytes = gpu.free_bytes()? / BLOCK_BYTES * BLOCK_BYTES;
        let asked_bytes = memory_bytes.map(|bytes| bytes / BLOCK_BYTES * BLOCK_BYTES);
        let memory_bytes = asked_bytes.unwrap_or(free_bytes);
        if memory_bytes > free_bytes || memory_bytes == 0 {
            return Err(GpuError::GpuMemory {
                asked_bytes: memory_bytes,
                free_bytes,
                total_bytes: gpu.facts().total_bytes,
            });
        }
        let set_aside = match free_bytes - memory_bytes {
            0 => None,
            bytes => Some(gpu.alloc_fixed(bytes)?),
        };
        Ok(Self {
            gpu,
            settings,
            memory_bytes,
            set_aside,
        })
    }

    /// GPU memory that the factor is relative to.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The GPU.
    pub fn gpu(&self) -> &G {
        &self.gpu
    }

    /// Size of the data at `factor`.
    pub fn data_bytes(&self, factor: f64) -> u64 {
        let bytes = (self.memory_bytes as f64 * factor).round() as u64;
        bytes.next_multiple_of(BLOCK_BYTES)
    }

    /// Says whether a point can be measured here, before anything is allocated.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, point: &Point) -> Result<(), GpuError> {
        if !(point.factor.is_finite() && point.factor > 0.0) {
            return Err(GpuError::BadPoint(format!(
                "factor {} is no size: use a number above 0, such as 1.5",
                point.factor
            )));
        }
        let data_bytes = self.data_bytes(point.factor);
        self.check_host(data_bytes)?;
        let sizes = self.sizes(point, data_bytes);
        let is_granule = sizes.granule_bytes.is_power_of_two()
            && (4096..=BLOCK_BYTES).contains(&sizes.granule_bytes);
        if !is_granule {
            return Err(GpuError::BadPoint(format!(
                "a granule of {} bytes is none: use 4 KiB, 64 KiB or 2 MiB",
                sizes.granule_bytes
            )));
        }
        let ranges = match point.strategy {
            Strategy::Stripe => stripes(sizes).len(),
            _ => 1,
        };
        if ranges > STRIPES_MAX {
            return Err(GpuError::BadPoint(format!(
                "striping {} by {} makes {ranges} ranges, and the driver keeps a record of each: use a larger granule, or \
                 less data (at most {STRIPES_MAX} ranges)",
                show_bytes(data_bytes),
                show_bytes(sizes.granule_bytes)
            )));
        }
        Ok(())
    }

    fn check_host(&self, data_bytes: u64) -> Result<(), GpuError> {
        let Some(available_bytes) = self.settings.host_bytes else {
            return Ok(());
        };
        let needed_bytes = data_bytes.saturating_add(HOST_MARGIN_BYTES);
        if needed_bytes <= available_bytes {
            return Ok(());
        }
        let room = available_bytes.saturating_sub(HOST_MARGIN_BYTES + BLOCK_BYTES);
        Err(GpuError::HostMemory {
            needed_bytes,
            available_bytes,
            largest_factor_hundredths: (room as f64 * 100.0 / self.memory_bytes as f64) as u64,
        })
    }

    fn sizes(&self, point: &Point, data_bytes: u64) -> Sizes {
        let driver_bytes = match self.gpu.facts().uses_host_page_tables {
            true => DRIVER_BYTES_WITH_COUNTERS,
            false => DRIVER_BYTES,
        };
        Sizes {
            data_bytes,
            gpu_bytes: self.memory_bytes,
            room_bytes: self.memory_bytes.saturating_sub(driver_bytes),
            granule_bytes: point.granule_bytes,
        }
    }

    /// Measures one point.
    ///
    /// # Errors
    /// What [`check`](Self::check) finds, and what the driver refuses.
    pub fn measure(&mut self, point: &Point) -> Result<Measured, GpuError> {
        self.check(point)?;
        let kernel = Kernel {
            pattern: point.pattern,
            variant: point.variant,
        };
        let facts = self.gpu.facts();
        // Pages that were evicted stay mapped on such platforms and would not fault again.
        let is_fresh_each_time =
            facts.uses_host_page_tables && point.strategy == Strategy::OnDemand;
        let blocks = facts.sm_count * self.gpu.resident_blocks(kernel)?;
        let data_bytes = self.data_bytes(point.factor);
        let run = Run::of(kernel, point, data_bytes, blocks)?;
        let mut measured = Measured {
            data_bytes,
            blocks,
            repetitions: Vec::new(),
        };
        let mut left = self.settings.repetitions;
        while left > 0 {
            let together = if is_fresh_each_time { 1 } else { left };
            let buffer = self.gpu.alloc_managed(data_bytes)?;
            let repeated = self.repeat(point, &run, buffer, together);
            let freed = self.gpu.free(buffer);
            measured.repetitions.extend(repeated?);
            freed?;
            left -= together;
        }
        Ok(measured)
    }

    fn repeat(
        &mut self,
        point: &Point,
        run: &Run,
        buffer: Buffer,
        times: u32,
    ) -> Result<Vec<Repetition>, GpuError> {
        let plan = plan(point.strategy, self.sizes(point, buffer.bytes));
        self.gpu.write_from_cpu(buffer)?;
        self.follow(buffer, &plan.first)?;
        let mut repetitions = Vec::new();
        for _ in 0..times {
            self.follow(buffer, &plan.every)?;
            self.gpu.finish()?;
            repetitions.push(self.time(point, run, buffer)?);
        }
        Ok(repetitions)
    }

    fn follow(&mut self, buffer: Buffer, steps: &[Step]) -> Result<(), GpuError> {
        for step in steps {
            match step.clone() {
                Step::Advise(range, advice) => self.gpu.advise(buffer, range, advice)?,
                Step::Prefetch(range, place) => self.gpu.prefetch(buffer, range, place)?,
            }
        }
        Ok(())
    }

    fn time(&mut self, point: &Point, run: &Run, buffer: Buffer) -> Result<Repetition, GpuError> {
        let Run::Random(random) = run else {
            return Ok(Repetition {
                read_bytes: buffer.bytes,
                kernel_time_ns: self.gpu.time_ns(&run.launch(buffer, 0, 0))?,
                is_whole: true,
            });
        };
        let may_thrash = point.strategy == Strategy::OnDemand && buffer.bytes > self.memory_bytes;
        let mut part = if may_thrash {
            (random.rounds / FIRST_PART).max(1)
        } else {
            random.rounds
        };
        let limit_ns = self.settings.time_limit_s * 1e9;
        let (mut rounds, mut time_ns) = (0, 0);
        // Parts double, so what they cost to start does not count. The driver's state goes on from one to the next.
        loop {
            let part_ns = self.gpu.time_ns(&run.launch(buffer, rounds, part))?;
            rounds += part;
            time_ns += part_ns;
            let left = random.rounds - rounds;
            let next = (2 * part).min(left);
            let next_ns = part_ns as f64 * next as f64 / part as f64;
            if left == 0 || time_ns as f64 + next_ns > limit_ns {
                break;
            }
            part = next;
        }
        Ok(Repetition {
            read_bytes: rounds * random.bytes_per_round,
            kernel_time_ns: time_ns,
            is_whole: rounds == random.rounds,
        })
    }
}

impl<G: Gpu> Drop for Bench<G> {
    fn drop(&mut self) {
        if let Some(buffer) = self.set_aside.take() {
            // Nobody is left who could act on an error.
            let _ = self.gpu.free(buffer);
        }
    }
}

/// A kernel with the arguments of a point.
enum Run {
    Sequential { kernel: Kernel, blocks: u32 },
    Random(Random),
}

struct Random {
    kernel: Kernel,
    blocks: u32,
    pages: u64,
    page_elements: u64,
    rounds: u64,
    bytes_per_round: u64,
}

impl Run {
    fn of(kernel: Kernel, point: &Point, data_bytes: u64, blocks: u32) -> Result<Self, GpuError> {
        if blocks == 0 {
            return Err(GpuError::BadPoint(format!(
                "no block of {} fits a streaming multiprocessor",
                kernel.entry()
            )));
        }
        if kernel.pattern != Pattern::RandomWarp {
            return Ok(Self::Sequential { kernel, blocks });
        }
        let bytes_per_round = u64::from(blocks) * u64::from(THREADS_PER_BLOCK) * ELEMENT_BYTES;
        let rounds = data_bytes / bytes_per_round;
        if rounds == 0 {
            return Err(GpuError::BadPoint(format!(
                "{} are less than the grid reads in one round ({}): use a larger factor or more GPU memory",
                show_bytes(data_bytes),
                show_bytes(bytes_per_round)
            )));
        }
        Ok(Self::Random(Random {
            kernel,
            blocks,
            pages: data_bytes / point.granule_bytes,
            page_elements: point.granule_bytes / ELEMENT_BYTES,
            rounds,
            bytes_per_round,
        }))
    }

    /// The whole run, or of a random one the rounds `done` to `done + rounds`.
    fn launch(&self, buffer: Buffer, done: u64, rounds: u64) -> Launch {
        match self {
            Self::Sequential { kernel, blocks } => Launch {
                kernel: *kernel,
                blocks: *blocks,
                buffer,
                scalars: vec![buffer.bytes / ELEMENT_BYTES],
            },
            Self::Random(random) => {
                let skip = Skip::of(done);
                Launch {
                    kernel: random.kernel,
                    blocks: random.blocks,
                    buffer,
                    scalars: vec![
                        random.pages,
                        random.page_elements,
                        rounds,
                        skip.multiplier,
                        skip.increment,
                    ],
                }
            }
        }
    }
}
