//! Runs that do not time every launch, against full ones: results, page traffic, time within its error bar.
//!
//! `PAGEMILL_DETAIL=LAUNCHES` runs longer programs and prints a table; `validation/sampling` has one.

use crate::common::gtx480::gtx480;
use std::time::Instant;

use crate::common::{driver_machine, migrate};
use pagemill_policy::residency::STRATEGIES;
use pagemill_sim::{
    Arg, Buffer, Detail, DriverRun, Host, Limits, ModuleId, Options, Report, TransferMode,
};
use pagemill_types::PageSize;

/// `relax`: `out[i] = (in[i - 1] + 2 in[i] + in[i + 1]) / 4` for 0 < i < n - 1, as many times as `repeat` says, the last
/// of which is stored. `axpy`: `y[i] += a x[i]`. `gather`: `out[i] = in[index[i]] + 1`, and `flag[0] = 1`.
const PTX: &str = r"
.version 7.0
.target sm_75
.address_size 64

.visible .entry relax(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 repeat)
{
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .f32 %f<8>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [in];
    ld.param.u64 %d2, [out];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r7, [repeat];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    sub.u32 %r6, %r1, 1;
    setp.ge.u32 %p1, %r5, %r6;
    @%p1 bra DONE;
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra DONE;
    mul.wide.u32 %d3, %r5, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
LOOP:
    ld.global.f32 %f1, [%d4+-4];
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d4+4];
    add.f32 %f4, %f1, %f3;
    add.f32 %f5, %f2, %f2;
    add.f32 %f6, %f4, %f5;
    mul.f32 %f7, %f6, 0f3E800000;
    sub.u32 %r7, %r7, 1;
    setp.ne.u32 %p3, %r7, 0;
    @%p3 bra LOOP;
    st.global.f32 [%d5], %f7;
DONE:
    ret;
}

.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %d3, %r5, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%d5], %f4;
DONE:
    ret;
}

.visible .entry gather(.param .u64 in, .param .u64 index, .param .u64 out, .param .u64 flag, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %d<12>;
    ld.param.u64 %d1, [in];
    ld.param.u64 %d2, [index];
    ld.param.u64 %d3, [out];
    ld.param.u64 %d9, [flag];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %d4, %r5, 4;
    add.s64 %d5, %d2, %d4;
    ld.global.u32 %r6, [%d5];
    mul.wide.u32 %d6, %r6, 4;
    add.s64 %d7, %d1, %d6;
    ld.global.f32 %f1, [%d7];
    add.f32 %f2, %f1, 0f3F800000;
    add.s64 %d8, %d3, %d4;
    st.global.f32 [%d8], %f2;
    mov.u32 %r7, 1;
    st.global.u32 [%d9], %r7;
DONE:
    ret;
}
";

/// A program that runs on a GPU of its own.
struct Run {
    host: Host,
    module: ModuleId,
}

impl Run {
    fn new(mode: TransferMode, detail: Detail) -> Self {
        let mut machine = gtx480();
        machine.driver = Some(driver_machine());
        let options = Options {
            detail,
            limits: Limits::default(),
            ..Options::default()
        };
        let mut host = Host::new(&machine, mode, options).expect("the machine is sound");
        let module = host.gpu.load_module("detail.ptx", PTX).expect("sound PTX");
        Self { host, module }
    }

    /// `n` words that the host has written.
    fn words(&mut self, name: &str, n: u32, value: impl Fn(u32) -> [u8; 4]) -> Buffer {
        let bytes = u64::from(n) * 4;
        let buffer = self.host.alloc(name, bytes).expect("there is room");
        for (index, word) in (0..).zip(self.host.gpu.host_bytes_mut(buffer).chunks_exact_mut(4)) {
            word.copy_from_slice(&value(index));
        }
        self.host.copy_to_gpu(buffer, 0..bytes).expect("inside");
        buffer
    }

    fn launch(&mut self, kernel: &str, threads: u32, args: &[Arg]) {
        let grid = [threads.div_ceil(128).max(1), 1, 1];
        self.host
            .launch(self.module, kernel, grid, [128, 1, 1], 0, args)
            .expect("it ends");
    }

    fn end(mut self, buffer: Buffer) -> (Vec<u8>, Report) {
        self.host
            .copy_from_gpu(buffer, 0..buffer.bytes)
            .expect("inside");
        (
            self.host.gpu.host_bytes(buffer).to_vec(),
            self.host.finish(),
        )
    }
}

fn number(index: u32) -> [u8; 4] {
    ((index.wrapping_mul(2_654_435_769) >> 20) as f32).to_le_bytes()
}

/// A stencil over and over, from one array to the other.
fn stencil(mut run: Run, launches: u32) -> (Vec<u8>, Report) {
    let n = 40_000;
    let mut now = run.words("now", n, number);
    let mut next = run.words("next", n, number);
    for _ in 0..launches {
        let args = [
            Arg::Buffer(now),
            Arg::Buffer(next),
            Arg::U32(n),
            Arg::U32(2),
        ];
        run.launch("relax", n, &args);
        std::mem::swap(&mut now, &mut next);
    }
    run.end(now)
}

/// Three kernels in turn over vectors of different lengths, as a solver does.
fn solver(mut run: Run, launches: u32) -> (Vec<u8>, Report) {
    let n = 30_000;
    let [x, y, z] = ["x", "y", "z"].map(|name| run.words(name, n, number));
    for _ in 0..launches / 3 {
        run.launch(
            "relax",
            n,
            &[Arg::Buffer(x), Arg::Buffer(y), Arg::U32(n), Arg::U32(1)],
        );
        run.launch(
            "axpy",
            n,
            &[Arg::Buffer(y), Arg::Buffer(z), Arg::F32(0.25), Arg::U32(n)],
        );
        run.launch(
            "axpy",
            n / 5,
            &[
                Arg::Buffer(z),
                Arg::Buffer(x),
                Arg::F32(0.125),
                Arg::U32(n / 5),
            ],
        );
    }
    run.end(x)
}

/// Levels that grow and shrink, with a flag that the host resets before and reads after each, as searches do.
fn levels(mut run: Run, launches: u32) -> (Vec<u8>, Report) {
    let n = 60_000;
    let values = run.words("values", n, number);
    let index = run.words("index", n, |i| (i.wrapping_mul(40_503) % n).to_le_bytes());
    let out = run.words("out", n, number);
    let flag = run.words("flag", 1, |_| [0; 4]);
    for level in 0..launches {
        let wave = level % 40;
        let width = (wave.min(40 - wave) + 1) * n / 21;
        run.host.copy_to_gpu(flag, 0..4).expect("inside");
        let args = [values, index, out, flag].map(Arg::Buffer);
        let args = [&args[..], &[Arg::U32(width.min(n))]].concat();
        run.launch("gather", width.min(n), &args);
        run.host.copy_from_gpu(flag, 0..4).expect("inside");
    }
    run.end(out)
}

/// Work that becomes less with each launch, as in a factorization.
fn shrinking(mut run: Run, launches: u32) -> (Vec<u8>, Report) {
    let n = 60_000;
    let x = run.words("x", n, number);
    let y = run.words("y", n, number);
    for step in 0..launches {
        let left = n - step * (n / launches) / 2;
        run.launch(
            "axpy",
            left,
            &[
                Arg::Buffer(x),
                Arg::Buffer(y),
                Arg::F32(0.5),
                Arg::U32(left),
            ],
        );
    }
    run.end(y)
}

type Program = fn(Run, u32) -> (Vec<u8>, Report);

const PROGRAMS: [(&str, Program); 4] = [
    ("stencil", stencil),
    ("solver", solver),
    ("levels", levels),
    ("shrinking", shrinking),
];

fn driver() -> TransferMode {
    TransferMode::Driver(DriverRun {
        strategy: STRATEGIES.find("on-demand").expect("registered"),
        stripe_bytes: 2 << 20,
    })
}

fn modes() -> [(&'static str, TransferMode); 4] {
    [
        ("programmer-copy", TransferMode::ProgrammerCopy),
        ("whole-page", migrate("whole-page", PageSize::KIB_64, 1024)),
        ("multi-range", migrate("multi-range", PageSize::MIB_2, 1024)),
        ("on-demand", driver()),
    ]
}

fn launches() -> u32 {
    let asked = std::env::var("PAGEMILL_DETAIL").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(80)
}

/// Everything that moves pages. Batches and stalls depend on time.
fn traffic(report: &Report) -> [u64; 7] {
    let migration = &report.memory.migration;
    [
        report.migrated_bytes,
        report.returned_bytes,
        report.touched_bytes,
        report.resident_bytes,
        migration.migrations,
        migration.populated_bytes,
        migration.faults,
    ]
}

#[test]
fn sampled_time_is_within_its_bar_and_page_traffic_is_exact() {
    let launches = launches();
    let is_long = launches > 80;
    let mut wrong = Vec::new();
    for (mode_name, mode) in modes() {
        for (name, program) in PROGRAMS {
            let begin = Instant::now();
            let (expected, full) = program(Run::new(mode.clone(), Detail::Full), launches);
            let full_took = begin.elapsed();
            let begin = Instant::now();
            let (result, sampled) = program(Run::new(mode.clone(), Detail::Sampled), launches);
            let took = begin.elapsed();
            let sampling = sampled.sampling.clone().expect("not all was timed");
            let bar = sampling.time_error_ns.expect("sampled time has a bar");
            let error = sampled.time_ns.abs_diff(full.time_ns);
            if is_long {
                println!(
                    "| {mode_name} | {name} | {} of {} | {} | {} | {:.2} % | {:.2} % | {:.1} |",
                    sampling.timed_launches,
                    full.launches.len(),
                    full.time_ns,
                    sampled.time_ns,
                    100.0 * error as f64 / full.time_ns as f64,
                    100.0 * bar as f64 / full.time_ns as f64,
                    full_took.as_secs_f64() / took.as_secs_f64(),
                );
            }
            let mut expect = |holds: bool, what: String| {
                if !holds {
                    wrong.push(format!("{mode_name} {name}: {what}"));
                }
            };
            expect(result == expected, "results".to_owned());
            let (its, of_full) = (traffic(&sampled), traffic(&full));
            expect(its == of_full, format!("{its:?} in place of {of_full:?}"));
            let executed = |report: &Report| report.execution.thread_instructions;
            expect(
                executed(&sampled) == executed(&full),
                "instructions".to_owned(),
            );
            expect(sampling.is_exact, "page traffic is estimated".to_owned());
            let times = format!(
                "{} in place of {}, bar {bar}",
                sampled.time_ns, full.time_ns
            );
            expect(error <= bar, times);
            assert!(full.sampling.is_none());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_long_program_is_timed_in_part() {
    let (_, report) = stencil(Run::new(TransferMode::ProgrammerCopy, Detail::Sampled), 400);
    let sampling = report.sampling.expect("not all was timed");
    assert!(sampling.timed_launches <= 40, "{}", sampling.timed_launches);
    assert_eq!(report.launches.len(), 400);
}

#[test]
fn page_detail_has_the_traffic_and_a_lower_bound() {
    let mut wrong = Vec::new();
    for (mode_name, mode) in modes() {
        for (name, program) in PROGRAMS {
            let (expected, full) = program(Run::new(mode.clone(), Detail::Full), 30);
            let (result, pages) = program(Run::new(mode.clone(), Detail::Pages), 30);
            let mut expect = |holds: bool, what: String| {
                if !holds {
                    wrong.push(format!("{mode_name} {name}: {what}"));
                }
            };
            expect(result == expected, "results".to_owned());
            let sampling = pages.sampling.clone().expect("nothing was timed");
            assert_eq!((sampling.timed_launches, sampling.time_error_ns), (0, None));
            expect(
                pages.touched_bytes == full.touched_bytes,
                "touched".to_owned(),
            );
            let times = format!("{} is no bound of {}", pages.time_ns, full.time_ns);
            expect(pages.time_ns <= full.time_ns, times);
            let is_free = mode_name != "on-demand";
            expect(sampling.is_exact == is_free, "what is exact".to_owned());
            let (its, of_full) = (traffic(&pages), traffic(&full));
            expect(
                !is_free || its == of_full,
                format!("{its:?} in place of {of_full:?}"),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where memory is too small for the data, every launch is timed.
#[test]
fn nothing_is_left_out_where_pages_have_to_leave() {
    let mut machine = gtx480();
    machine.memory_bytes = Some(machine.reserved_bytes + (256 << 10));
    let run = |detail| {
        let options = Options {
            detail,
            ..Options::default()
        };
        let mode = migrate("whole-page", PageSize::KIB_64, 1024);
        let mut host = Host::new(&machine, mode, options).expect("the machine is sound");
        let module = host.gpu.load_module("detail.ptx", PTX).expect("sound PTX");
        stencil(Run { host, module }, 12)
    };
    let ((expected, full), (result, sampled)) = (run(Detail::Full), run(Detail::Sampled));
    assert_eq!(result, expected);
    assert!(full.memory.migration.evictions > 0, "it is too small");
    assert_eq!(
        (sampled.time_ns, traffic(&sampled)),
        (full.time_ns, traffic(&full))
    );
    assert_eq!(sampled.sampling.expect("sampled").timed_launches, 12);
}
