//! Warps that wait for a phase of a barrier object under full timing: they are suspended, and execute next to nothing.

use crate::common::gtx480::gtx480;
use pagemill_sim::{Host, LaunchShape, Options, TransferMode};

/// Warp 0 works for `rounds` rounds while the others wait: `late` at a barrier object, `plain` at the block's barrier. `asks` asks
/// `rounds` times for a phase that does not end.
const PTX: &str = r"
.version 8.0
.target sm_90
.address_size 64

.visible .entry late(.param .u32 rounds)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %d<2>;
    .shared .align 8 .b64 object;
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, object;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    setp.eq.u32 %p1, %r4, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], %r3;
    bar.sync 0;
    setp.ge.u32 %p2, %r4, 32;
    @%p2 bra ARRIVE;
WORK:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra WORK;
ARRIVE:
    mbarrier.arrive.shared::cta.b64 %d1, [%r2];
LOOP:
    mbarrier.try_wait.shared::cta.b64 %p3, [%r2], %d1;
    @!%p3 bra LOOP;
    ret;
}

.visible .entry plain(.param .u32 rounds)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    ld.param.u32 %r1, [rounds];
    mov.u32 %r4, %tid.x;
    bar.sync 0;
    setp.ge.u32 %p2, %r4, 32;
    @%p2 bra ARRIVE;
WORK:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra WORK;
ARRIVE:
    bar.sync 0;
    ret;
}

.visible .entry asks(.param .u32 rounds)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .shared .align 8 .b64 object;
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, object;
    mbarrier.init.shared::cta.b64 [%r2], 1;
LOOP:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra LOOP;
    ret;
}
";

/// Thread instructions of a launch of one block, and its time in us.
fn run(kernel: &str, threads: u32, rounds: u32) -> (u64, f64) {
    let machine = gtx480();
    let mut host = Host::new(&machine, TransferMode::IdealOverlap, Options::default()).unwrap();
    let module = host.gpu.load_module("suspended", PTX).unwrap();
    let shape = LaunchShape {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
        cooperative: false,
        cluster: None,
    };
    let report = host
        .launch_packed(module, kernel, &shape, &rounds.to_le_bytes())
        .unwrap();
    (
        report.stats.execution.thread_instructions,
        report.time().0 as f64 / 1e6,
    )
}

#[test]
fn warps_that_wait_for_a_late_one_execute_nothing() {
    for rounds in [1, 100, 1000] {
        let (late, late_us) = run("late", 1024, rounds);
        let (plain, plain_us) = run("plain", 1024, rounds);
        // Each thread asks twice: before, and once it is woken.
        assert!(late < plain + 1024 * 16, "{rounds}: {late} for {plain}");
        assert!(
            late_us < 1.2 * plain_us + 1.0,
            "{rounds}: {late_us} for {plain_us} us"
        );
        assert!(
            late_us > 0.9 * plain_us,
            "{rounds}: {late_us} for {plain_us} us"
        );
    }
}

#[test]
fn a_phase_that_does_not_end_is_waited_for_no_longer_than_a_time() {
    let base_us = run("asks", 1, 1).1;
    for rounds in [2, 5, 50] {
        let waits_us = run("asks", 1, rounds).1 - base_us;
        let expected_us = 20.0 * f64::from(rounds - 1);
        assert!(
            (waits_us / expected_us - 1.0).abs() < 0.1,
            "{rounds}: {waits_us} us"
        );
    }
}
