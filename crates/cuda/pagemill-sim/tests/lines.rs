//! What happens for each source line of a kernel, under each page manager: no byte is lost, and each is at its line.

use crate::common::gtx480::gtx480;
use crate::common::{driver_machine, migrate};
use pagemill_policy::residency::STRATEGIES;
use pagemill_sim::gpu::{
    Arg, DriverRun, Host, LineReport, Options, Report, TransferMode, Translation, TranslationSpec,
};
use pagemill_types::{PageSize, Picos};

/// Each thread reads a word of `a` at its own 4 KiB (line 7), adds to it (line 8) and stores it in `b` (line 9).
const PTX: &str = r#"
.version 7.0
.target sm_75
.address_size 64
.file 1 "probe.cu"
.visible .entry probe(.param .u64 a, .param .u64 b)
{
    .reg .b32 %r<5>;
    .reg .f32 %f<3>;
    .reg .b64 %d<6>;
    .loc 1 5 0
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.s32 %r3, %r1, 32, %r2;
    mul.wide.u32 %d3, %r3, 4096;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    .loc 1 7 0
    ld.global.f32 %f1, [%d4];
    .loc 1 8 0
    add.f32 %f2, %f1, %f1;
    .loc 1 9 0
    st.global.f32 [%d5], %f2;
    ret;
}
"#;

const PAGES: u64 = 1024;
const MIB: u64 = 1 << 20;

/// Twice over both arrays, with room for half of them.
fn probe(ptx: &str, mode: TransferMode) -> Report {
    let mut machine = gtx480();
    machine.memory_bytes = Some(4 * MIB);
    machine.driver = Some(driver_machine());
    if let TransferMode::Driver(_) = mode {
        // A page that faults has no translation: it is looked up once more when it is there.
        let ns = Picos::from_nanos;
        machine.translation = Translation::TwoLevels(TranslationSpec {
            sms_per_utlb: 2,
            utlb_entries: 16,
            l2_entries: 1024,
            l2_ways: 16,
            l2_latency: ns(100),
            concurrent_walks: 16,
            walk_latency: ns(600),
            local_page: PageSize::MIB_2,
            remote_page: PageSize::KIB_4,
            looks_up_local: true,
        });
    }
    let mut host = Host::new(&machine, mode, Options::default()).unwrap();
    let module = host.gpu.load_module("probe.ptx", ptx).unwrap();
    let [a, b] = ["a", "b"].map(|name| host.alloc(name, PAGES * 4096).unwrap());
    host.copy_to_gpu(a, 0..PAGES * 4096).unwrap();
    host.copy_to_gpu(b, 0..PAGES * 4096).unwrap();
    let arguments = [Arg::Buffer(a), Arg::Buffer(b)];
    for _ in 0..2 {
        let blocks = [PAGES as u32 / 32, 1, 1];
        host.launch(module, "probe", blocks, [32, 1, 1], 0, &arguments)
            .unwrap();
    }
    host.finish()
}

fn modes() -> [(&'static str, TransferMode); 2] {
    let driver = DriverRun {
        strategy: STRATEGIES.find("on-demand").unwrap(),
        stripe_bytes: 2 * MIB,
    };
    [
        ("ranges", migrate("multi-range", PageSize::KIB_4, 512)),
        ("driver", TransferMode::Driver(driver)),
    ]
}

#[test]
fn every_byte_is_at_the_line_that_asked_for_it() {
    for (name, mode) in modes() {
        let report = probe(PTX, mode);
        let lines: Vec<u32> = report.lines.iter().map(|line| line.line).collect();
        assert_eq!(lines, [7, 9], "{name}");
        assert!(report.lines.iter().all(|line| line.file == "probe.cu"));
        let [read, written] = &report.lines[..] else {
            panic!("two lines")
        };
        let sum = |of: fn(&LineReport) -> u64| of(read) + of(written);
        let [a, b] = [
            &report.allocations[0].traffic,
            &report.allocations[1].traffic,
        ];
        let moved = &report.memory.migration;
        assert_eq!(
            sum(|line| line.account.traffic.migrated_bytes),
            moved.migrated_bytes,
            "{name}"
        );
        assert_eq!(
            sum(|line| line.account.traffic.faults),
            a.faults + b.faults,
            "{name}"
        );
        assert_eq!(
            sum(|line| line.account.traffic.evictions),
            moved.evictions,
            "{name}"
        );
        assert_eq!(
            sum(|line| line.account.traffic.repeated_bytes),
            moved.refetched_bytes,
            "{name}"
        );
        assert_eq!(
            sum(|line| line.account.tlb_misses),
            report.memory.tlb_misses + report.memory.tlb_merged_misses,
            "{name}"
        );
        // Line 7 reads a, and line 9 writes b.
        assert_eq!(
            read.account.traffic.migrated_bytes, a.migrated_bytes,
            "{name}"
        );
        assert_eq!(written.account.traffic.faults, b.faults, "{name}");
        // A store is not waited for.
        assert!(read.account.waiting > Picos::ZERO, "{name}");
        assert_eq!(written.account.waiting, Picos::ZERO, "{name}");
    }
}

#[test]
fn lines_change_no_time() {
    let without: Vec<&str> = PTX.lines().filter(|line| !line.contains(".loc")).collect();
    for (name, mode) in modes() {
        let (with, without) = (probe(PTX, mode.clone()), probe(&without.join("\n"), mode));
        assert!(without.lines.is_empty(), "{name}");
        assert_eq!(
            (with.time_ns, with.memory),
            (without.time_ns, without.memory),
            "{name}"
        );
    }
}
