//! The benchmark on a GPU that only remembers what it was asked.

use std::cell::RefCell;
use std::rc::Rc;

use pagemill_gpu::{
    Bench, Buffer, GIB, Gpu, GpuError, GpuFacts, Kernel, Launch, MIB, Measured, Point, Settings,
};
use pagemill_policy::residency::{
    AccessPattern, Action, Call, STRATEGIES, Side, StrategyEntry, Variant,
};

const GPU_BYTES: u64 = 16 * GIB;

/// Nanoseconds that a launch takes.
type Timing = fn(&Launch) -> u64;

#[derive(Default)]
struct Log {
    events: Vec<String>,
    launches: Vec<Launch>,
    held: Vec<Buffer>,
}

struct FakeGpu {
    facts: GpuFacts,
    timing: Timing,
    log: Rc<RefCell<Log>>,
    fails: Option<&'static str>,
}

impl FakeGpu {
    fn note(&self, event: String) -> Result<(), GpuError> {
        let fails = self.fails.is_some_and(|name| event.starts_with(name));
        self.log.borrow_mut().events.push(event.clone());
        match fails {
            false => Ok(()),
            true => Err(GpuError::Call {
                call: "call",
                doing: event,
                code: "CODE".to_owned(),
                message: "refused".to_owned(),
            }),
        }
    }

    fn hold(&self, bytes: u64) -> Buffer {
        let mut log = self.log.borrow_mut();
        let address = (log.events.len() as u64 + 1) << 40;
        let buffer = Buffer { address, bytes };
        log.held.push(buffer);
        buffer
    }
}

impl Gpu for FakeGpu {
    fn facts(&self) -> &GpuFacts {
        &self.facts
    }

    fn free_bytes(&self) -> Result<u64, GpuError> {
        Ok(GPU_BYTES)
    }

    fn resident_blocks(&self, _: Kernel) -> Result<u32, GpuError> {
        Ok(16)
    }

    fn alloc_fixed(&mut self, bytes: u64) -> Result<Buffer, GpuError> {
        self.note(format!("fixed {}", bytes / MIB))?;
        Ok(self.hold(bytes))
    }

    fn alloc_managed(&mut self, bytes: u64) -> Result<Buffer, GpuError> {
        self.note(format!("managed {}", bytes / MIB))?;
        Ok(self.hold(bytes))
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), GpuError> {
        let mut log = self.log.borrow_mut();
        let place = log.held.iter().position(|held| *held == buffer);
        log.held.remove(place.expect("it is held"));
        log.events.push(format!("free {}", buffer.bytes / MIB));
        Ok(())
    }

    fn write_from_cpu(&mut self, _: Buffer) -> Result<(), GpuError> {
        self.note("write".to_owned())
    }

    fn call(&mut self, _: Buffer, call: &Call) -> Result<(), GpuError> {
        let (start, end) = (call.bytes.start / MIB, call.bytes.end / MIB);
        self.note(format!("{:?} {start}..{end}", call.action))
    }

    fn finish(&mut self) -> Result<(), GpuError> {
        Ok(())
    }

    fn time_ns(&mut self, launch: &Launch) -> Result<u64, GpuError> {
        self.note("launch".to_owned())?;
        self.log.borrow_mut().launches.push(launch.clone());
        Ok((self.timing)(launch))
    }
}

fn fake(timing: Timing) -> FakeGpu {
    FakeGpu {
        facts: GpuFacts {
            index: 0,
            name: "Fake".to_owned(),
            compute_capability: (7, 0),
            sm_count: 80,
            total_bytes: GPU_BYTES,
            pci_address: "0000:00:00.0".to_owned(),
            driver_cuda: (12, 4),
            has_faults: true,
            uses_host_page_tables: false,
        },
        timing,
        log: Rc::default(),
        fails: None,
    }
}

const SETTINGS: Settings = Settings {
    loops: 2,
    seed: 0,
    time_limit_s: 60.0,
    host_bytes: None,
};

fn strategy(name: &str) -> &'static StrategyEntry {
    STRATEGIES.find(name).unwrap()
}

fn point(pattern: AccessPattern, name: &str, factor: f64) -> Point {
    Point {
        pattern,
        variant: Variant::LockStep,
        strategy: strategy(name),
        factor,
        stripe_bytes: 2 * MIB,
    }
}

/// Measures one point with 64 MiB of GPU memory left, and says what the GPU was asked.
fn measured(gpu: FakeGpu, point: &Point) -> (Result<Measured, GpuError>, Vec<String>) {
    let log = Rc::clone(&gpu.log);
    let mut bench = Bench::new(gpu, Some(64 * MIB), SETTINGS).unwrap();
    log.borrow_mut().events.clear();
    let measured = bench.measure(point);
    let events = std::mem::take(&mut log.borrow_mut().events);
    drop(bench);
    assert!(log.borrow().held.is_empty(), "everything is freed");
    (measured, events)
}

const GRID: AccessPattern = AccessPattern::GridStride;
const RANDOM: AccessPattern = AccessPattern::RandomWarp;

#[test]
fn data_starts_in_the_memory_of_the_cpu_each_time() {
    let (result, events) = measured(fake(|_| 1000), &point(GRID, "on-demand", 1.5));
    let populated = [
        "managed 96",
        "write",
        "Prefetch(Gpu) 0..96",
        "Prefetch(Cpu) 0..96",
    ];
    let again = ["launch", "Prefetch(Cpu) 0..96", "launch", "free 96"];
    assert_eq!(events, [&populated[..], &again].concat());
    let result = result.unwrap();
    assert_eq!(result.loops.len(), 2);
    assert_eq!(
        (result.gpu_bytes, result.allocated_bytes),
        (64 * MIB, 96 * MIB)
    );
    assert_eq!(result.blocks, 80 * 16);
    assert_eq!(result.loops[0].read_bytes, 96 * MIB);
    assert!((result.loops[0].bytes_per_second() - 96.0 * MIB as f64 * 1e6).abs() < 1.0);
}

#[test]
fn strategies_are_carried_out_call_by_call() {
    for entry in STRATEGIES
        .iter()
        .filter(|entry| entry.name != "partial-pages")
    {
        let point = point(GRID, entry.name, 1.5);
        let mut calls = Vec::new();
        let placement = pagemill_policy::residency::Placement {
            allocation_bytes: 96 * MIB,
            gpu_bytes: 64 * MIB,
            stripe_bytes: 2 * MIB,
        };
        (entry.build)().calls(&placement, &mut |call| {
            let (start, end) = (call.bytes.start / MIB, call.bytes.end / MIB);
            calls.push(format!("{:?} {start}..{end}", call.action));
        });
        let (_, events) = measured(fake(|_| 1), &point);
        let first_launch = events.iter().position(|event| event == "launch").unwrap();
        assert_eq!(events[4..first_launch], calls, "{}", entry.name);
        let advised = |event: &&String| !event.starts_with("Prefetch");
        let later = events[first_launch..].iter().filter(advised).count();
        // What is read mostly is so no more while it moves back.
        let again = if entry.name == "read-mostly" { 2 } else { 0 };
        assert_eq!(
            later,
            3 + again,
            "{}: two launches and a free, no other advice",
            entry.name
        );
    }
}

#[test]
fn random_data_takes_a_third_of_the_memory() {
    let (result, events) = measured(fake(|_| 1), &point(RANDOM, "zero-copy", 2.0));
    // 0.33 x 64 MiB in blocks of 2 MiB; the rest is taken away while this pattern is run.
    assert_eq!(events[..2], ["fixed 44", "managed 40"]);
    assert_eq!(events[events.len() - 2..], ["free 40", "free 44"]);
    let result = result.unwrap();
    assert_eq!(result.gpu_bytes, 20 * MIB);
    // 40 MiB in rounds of 1280 blocks of 128 threads of 4 bytes.
    assert_eq!(result.loops[0].read_bytes, 40 * MIB);
}

#[test]
fn a_random_run_that_thrashes_is_cut_short() {
    let gpu = fake(|launch| launch.scalars[2] * 1_000_000_000);
    let log = Rc::clone(&gpu.log);
    let settings = Settings {
        loops: 1,
        time_limit_s: 20.0,
        ..SETTINGS
    };
    let mut bench = Bench::new(gpu, Some(64 * MIB), settings).unwrap();
    let result = bench.measure(&point(RANDOM, "on-demand", 2.0)).unwrap();
    // 1 + 2 + 4 + 8 seconds; 16 more would be too many.
    let parts: Vec<u64> = log
        .borrow()
        .launches
        .iter()
        .map(|launch| launch.scalars[2])
        .collect();
    assert_eq!(parts, [1, 2, 4, 8]);
    let one = result.loops[0];
    assert!(!one.is_whole);
    assert_eq!(one.kernel_time_ns, 15_000_000_000);
    assert_eq!(one.read_bytes, 15 * 1280 * 128 * 4);
    // Each part goes on where the one before ended.
    for (launch, done) in log.borrow().launches.iter().zip([0, 1, 3, 7]) {
        let skip = pagemill_gpu::Skip::of(done);
        assert_eq!(launch.scalars[4..], [skip.multiplier, skip.increment]);
    }
    // What cannot thrash is run at once.
    log.borrow_mut().launches.clear();
    let result = bench.measure(&point(RANDOM, "zero-copy", 2.0)).unwrap();
    assert!(result.loops[0].is_whole);
    assert_eq!(log.borrow().launches.len(), 1);
}

#[test]
fn platforms_that_keep_evicted_pages_mapped_get_new_memory_each_time() {
    let mut gpu = fake(|_| 1);
    gpu.facts.uses_host_page_tables = true;
    let (_, events) = measured(gpu, &point(GRID, "on-demand", 1.5));
    let allocated = events.iter().filter(|event| *event == "managed 96").count();
    assert_eq!(allocated, 2);
}

#[test]
fn what_was_allocated_is_freed_when_a_call_fails() {
    for name in [
        "managed",
        "write",
        "Prefetch",
        "PreferredLocation",
        "AccessedByGpu",
        "launch",
    ] {
        for pattern in [GRID, RANDOM] {
            let mut gpu = fake(|_| 1);
            gpu.fails = Some(name);
            let (result, events) = measured(gpu, &point(pattern, "zero-copy", 1.5));
            assert!(matches!(result, Err(GpuError::Call { .. })), "{events:?}");
        }
    }
}

#[test]
fn points_that_cannot_be_measured_are_refused_before_anything_is_allocated() {
    let host = Settings {
        host_bytes: Some(2 * GIB),
        ..SETTINGS
    };
    let bench = Bench::new(fake(|_| 1), Some(GIB), host).unwrap();
    let refused = |point: Point| bench.check(&point).unwrap_err().to_string();
    let good = point(GRID, "on-demand", 0.9);
    assert_eq!(bench.check(&good), Ok(()));
    let error = refused(Point {
        factor: 3.0,
        ..good
    });
    assert!(
        error.contains("4.0 GiB") && error.contains("lower the factor to 0.99"),
        "{error}"
    );
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(Point { factor, ..good }).contains("is no size"));
    }
    let stripe = point(GRID, "stripe", 0.9);
    for stripe_bytes in [0, 2048, 12_288, 4 * MIB] {
        assert!(
            refused(Point {
                stripe_bytes,
                ..stripe
            })
            .contains("use 4 KiB, 64 KiB or 2 MiB")
        );
    }
    let partial = Point {
        strategy: strategy("partial-pages"),
        ..good
    };
    assert!(refused(partial).contains("can only be simulated"));

    let bench = Bench::new(fake(|_| 1), None, SETTINGS).unwrap();
    let tiny = Point {
        stripe_bytes: 4096,
        factor: 1.5,
        ..stripe
    };
    let error = bench.check(&tiny).unwrap_err().to_string();
    assert!(error.contains("use larger stripes"), "{error}");
}

#[test]
fn more_memory_than_is_free_is_refused() {
    for bytes in [0, MIB, 17 * GIB] {
        let error = Bench::new(fake(|_| 1), Some(bytes), SETTINGS)
            .err()
            .unwrap();
        assert!(matches!(error, GpuError::GpuMemory { .. }), "{error}");
    }
    let bench = Bench::new(fake(|_| 1), None, SETTINGS).unwrap();
    assert_eq!(bench.memory_bytes(), GPU_BYTES - 128 * MIB);
}

#[test]
fn memory_for_the_host_leaves_a_margin() {
    for factor in [0.5, 1.0, 1.5, 3.0] {
        let host = 100 * GIB;
        let memory = pagemill_gpu::memory_for_host(host, factor);
        let settings = Settings {
            host_bytes: Some(host),
            ..SETTINGS
        };
        let memory = memory.min(GPU_BYTES - 128 * MIB);
        let bench = Bench::new(fake(|_| 1), Some(memory), settings).unwrap();
        assert_eq!(bench.check(&point(GRID, "on-demand", factor)), Ok(()));
    }
    assert_eq!(pagemill_gpu::memory_for_host(GIB, 1.0), 0);
}

#[test]
fn prefetches_name_a_side() {
    // The words that the events above are made of.
    assert_eq!(
        format!("{:?}", Action::Prefetch(Side::Cpu)),
        "Prefetch(Cpu)"
    );
}
