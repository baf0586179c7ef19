//! What stops a kernel, and what the message says.

use super::harness::Device;
use pagemill_ptx::Trap;

/// The message names the kernel, the file, the block, and `words`.
fn check(trap: &Trap, kernel: &str, words: &[&str]) {
    let message = trap.to_string();
    assert_eq!(trap.kernel, kernel, "{message}");
    assert_eq!(trap.source_name, "traps.ptx", "{message}");
    assert!(trap.line > 0, "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn trap_names_the_thread() {
    let trap = Device::load("traps").trap("trap", 2, 128, &[77u32.into()]);
    check(&trap, "trap", &["trap"]);
    assert_eq!((trap.block, trap.thread), ([0, 0, 0], Some([77, 0, 0])));
}

#[test]
fn breakpoints_stop() {
    let mut device = Device::load("traps");
    let out = device.zeros::<u32>(64);
    let trap = device.trap("breakpoint", 1, 64, &[out.into()]);
    assert_eq!(trap.thread, Some([40, 0, 0]));
}

#[test]
fn assertions_say_what_failed() {
    let mut values = [5u32; 64];
    let mut device = Device::load("traps");
    let from = device.upload(&values);
    device.launch("check", 1, 64, &[from.into()]);
    values[33] = 100;
    let from = device.upload(&values);
    let trap = device.trap("check", 1, 64, &[from.into()]);
    check(&trap, "check", &["in[threadIdx.x] < 100"]);
    assert_eq!(trap.thread, Some([33, 0, 0]));
}

#[test]
fn exit_ends_a_thread_only() {
    let mut device = Device::load("traps");
    let out = device.zeros::<u32>(64);
    device.launch("leave", 1, 64, &[out.into()]);
    let wanted: Vec<u32> = (0..64).map(|t| if t % 2 == 1 { 1 } else { 2 }).collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
}

#[test]
fn loads_out_of_bounds() {
    let mut device = Device::load("traps");
    let (from, out) = (device.zeros::<u32>(64), device.zeros::<u32>(64));
    let trap = device.trap("read", 1, 64, &[from.into(), out.into(), 1u32.into()]);
    check(&trap, "read", &[]);
    assert_eq!(trap.thread, Some([63, 0, 0]));
    let trap = device.trap("read", 1, 64, &[0u64.into(), out.into(), 0u32.into()]);
    assert_eq!(trap.thread, Some([0, 0, 0]));
}

#[test]
fn misaligned_and_wild_stores() {
    let mut device = Device::load("traps");
    let out = device.zeros::<u32>(64);
    let trap = device.trap("write", 1, 1, &[out.into(), 2u64.into()]);
    check(&trap, "write", &["4"]);
    device.trap("write", 1, 1, &[out.into(), (1u64 << 60).into()]);
    device.trap(
        "write",
        1,
        1,
        &[out.into(), 0xFFFF_FFFF_FFFF_FFFCu64.into()],
    );
}

#[test]
fn shared_memory_has_an_end() {
    let mut device = Device::load("traps");
    let out = device.zeros::<u32>(32);
    let trap = device.trap("shared", 1, 32, &[30u32.into(), out.into()]);
    check(&trap, "shared", &["shared"]);
    assert_eq!(trap.thread, Some([2, 0, 0]));
}

#[test]
fn barriers_that_can_never_open() {
    let trap = Device::load("traps").trap("deadlock", 1, 64, &[]);
    check(&trap, "deadlock", &["barrier"]);
}

#[test]
fn endless_loops_are_cut_off() {
    let mut device = Device::load("traps");
    let flag = device.zeros::<u32>(1);
    let trap = device.trap("forever", 1, 32, &[flag.into()]);
    check(&trap, "forever", &[]);
}

#[test]
fn division_by_zero() {
    let mut values = [6i32; 64];
    values[32 + 9] = 0;
    let mut device = Device::load("traps");
    let (from, out) = (device.upload(&values), device.zeros::<i32>(32));
    let trap = device.trap("divide", 1, 32, &[from.into(), out.into()]);
    check(&trap, "divide", &["zero"]);
    assert_eq!(trap.thread, Some([9, 0, 0]));
}
