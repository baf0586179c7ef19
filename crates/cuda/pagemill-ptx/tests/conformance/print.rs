//! What kernels print.

use super::harness::Device;

#[test]
fn every_conversion() {
    let mut device = Device::load("print");
    device.launch("formats", 1, 1, &[]);
    // What C's printf writes for the same calls.
    let wanted = "\
d -7    42 42   | 00042 +42
u 4000000000 beef BEEF 0xff 10 00001234
ll -5000000000 18446744073709551615 feedfacecafe
f 1.500000 2.72   -3.142 1.234568e+04 1.200e-04 0.0001 1e+10 100000
s module text|     right|left    |cut c ok %
no arguments
";
    assert_eq!(device.printed, wanted);
}

#[test]
fn one_line_per_active_thread() {
    let mut device = Device::load("print");
    device.launch("lanes", 2, 64, &[40u32.into()]);
    let mut lines: Vec<&str> = device.printed.lines().collect();
    lines.sort_unstable();
    let mut wanted: Vec<String> = (0..2)
        .flat_map(|block| (0..40).map(move |t| format!("thread {t} of block {block}")))
        .collect();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
}

#[test]
fn the_number_of_arguments_is_returned() {
    let mut device = Device::load("print");
    let out = device.zeros::<u32>(4);
    device.launch("result", 1, 4, &[out.into()]);
    assert_eq!(device.download::<u32>(out, 4), [2; 4]);
    assert_eq!(device.printed, "1 2\n".repeat(4));
}

#[test]
fn pointers() {
    let mut device = Device::load("print");
    device.launch("pointer", 1, 1, &[0x7f00_1234_5678u64.into()]);
    assert_eq!(device.printed, "0x7f0012345678\n");
}
