//! The heap of kernels: `malloc`, `free`, `new` and `delete`.

use super::harness::Device;
use super::inputs::Random;
use pagemill_ptx::TrapKind;

#[test]
fn lists_of_threads() {
    let values = Random(61).words(128);
    let rounds = 3;
    let mut device = Device::load("heap");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(128));
    device.launch(
        "heap_lists",
        2,
        64,
        &[from.into(), out.into(), rounds.into()],
    );
    let found: Vec<u32> = device.download(out, 128);
    for (t, &x) in values.iter().enumerate() {
        let mut hash = 17u32;
        for round in 0..rounds {
            let count = x % 7 + round % 2;
            for i in (0..count).rev() {
                let value = x.wrapping_add(i + round);
                hash = hash.wrapping_mul(31).wrapping_add(value);
            }
        }
        assert_eq!(found[t], hash, "thread {t}");
    }
}

#[test]
fn memory_outlives_its_kernel() {
    let values = Random(62).words(64);
    let mut device = Device::load("heap");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(64));
    let places = device.zeros::<u64>(64);
    device.launch("heap_fill", 1, 64, &[from.into(), places.into()]);
    device.launch("drain", 1, 64, &[places.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 64);
    for (t, &x) in values.iter().enumerate() {
        let count = t as u32 % 5 + 1;
        assert_eq!(
            found[t],
            x.wrapping_mul(count * (count + 1) / 2),
            "thread {t}"
        );
    }
}

#[test]
fn virtual_destructors_run_in_order() {
    let mut device = Device::load("heap");
    let (out, log) = (device.zeros::<u32>(32), device.zeros::<u32>(1));
    device.launch("objects", 1, 32, &[out.into(), log.into()]);
    let wanted: Vec<u32> = (0..32).map(|t| if t % 3 == 0 { 1 } else { 9 }).collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
    assert_eq!(device.download::<u32>(log, 1), [32 * 101 + 21 * 10_000]);
}

#[test]
fn a_full_heap_gives_null_and_what_is_freed_comes_back() {
    let mut device = Device::load("heap");
    let out = device.zeros::<u32>(3);
    // 8 MiB hold 7 blocks of 1 MiB and a bit, again and again.
    for _ in 0..3 {
        device.launch("exhaust", 1, 1, &[out.into(), ((1u32 << 20) + 1).into()]);
        assert_eq!(device.download::<u32>(out, 3), [7, 0, 1]);
    }
    device.launch("exhaust", 1, 1, &[out.into(), (8u32 << 20).into()]);
    assert_eq!(device.download::<u32>(out, 3), [1, 0, 1]);
    device.launch("exhaust", 1, 1, &[out.into(), ((8u32 << 20) + 1).into()]);
    assert_eq!(device.download::<u32>(out, 3), [0, 0, 1]);
}

#[test]
fn freeing_twice_or_inside_is_named() {
    for inside in [0u32, 16] {
        let mut device = Device::load("heap");
        let out = device.upload(&[inside]);
        let trap = device.trap("free_twice", 1, 32, &[out.into()]);
        let bad = matches!(trap.kind, TrapKind::BadFree { on_heap: true, .. });
        assert!(bad, "{trap}");
        assert_eq!(trap.thread, Some([3, 0, 0]));
    }
}
