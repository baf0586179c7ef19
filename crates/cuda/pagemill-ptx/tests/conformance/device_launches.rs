//! Calls of the device runtime by kernels, and their answers.

use super::harness::Device;
use pagemill_ptx::{DeviceWork, QueuedWork, Rows};

#[test]
fn launches_have_the_shape_and_the_arguments_of_their_lanes() {
    let mut device = Device::load("device_launches");
    let out = device.zeros::<u32>(128);
    // One warp: several would take their buffers in the order of their turns, which a timing model chooses.
    device.launch("parents", 1, 32, &[out.into()]);
    let queued = device.take_work();
    let lanes: Vec<u32> = (0..32).filter(|t| t % 3 == 1).collect();
    assert_eq!(queued.len(), lanes.len());
    for (
        QueuedWork {
            work,
            is_tail,
            depth,
        },
        t,
    ) in queued.into_iter().zip(lanes)
    {
        let DeviceWork::Launch(launch) = work else {
            panic!("{work:?}");
        };
        assert_eq!((is_tail, depth), (t % 2 == 1, u32::from(t % 2 == 0)));
        assert_eq!(&*launch.kernel, "child");
        assert_eq!(launch.grid, [t + 1, 2, 1]);
        assert_eq!(launch.block, [3, 1, t % 5 + 1]);
        assert_eq!(launch.dynamic_shared_bytes, 4 * t);
        // A pointer, a structure of 16 bytes whose last byte is padding, and a short.
        let mut wanted = (out + 4 * u64::from(t)).to_le_bytes().to_vec();
        wanted.extend((f64::from(t) * 0.5).to_le_bytes());
        wanted.extend((t as u16).to_le_bytes());
        wanted.extend([b'a', b'b', b'c', b'd', t as u8]);
        assert_eq!(launch.arguments[..23], wanted[..]);
        assert_eq!(launch.arguments[24..], (1000 + t as u16).to_le_bytes());
    }
}

#[test]
fn copies_and_fills_say_which_bytes() {
    let mut device = Device::load("device_launches");
    let out = device.zeros::<u32>(256);
    device.launch("moves", 1, 3, &[out.into()]);
    let found: Vec<DeviceWork> = device
        .take_work()
        .into_iter()
        .map(|queued| queued.work)
        .collect();
    let line = |address| Rows { address, pitch: 0 };
    let copies = (0..3).map(|t| DeviceWork::Copy {
        to: line(out + 4 * t),
        from: line(out + 4 * (64 + t)),
        width: 4 + t,
        rows: 1,
    });
    let fills = (0..3).map(|t| DeviceWork::Fill {
        to: Rows {
            address: out + 4 * (100 + t),
            pitch: 16,
        },
        value: t as u8,
        width: 3,
        rows: 2,
    });
    // The lanes of a warp are at one call together.
    assert_eq!(found, copies.chain(fills).collect::<Vec<_>>());
}

#[test]
fn each_thread_has_its_own_last_error() {
    let mut device = Device::load("device_launches");
    let out = device.zeros::<u32>(4 * 40);
    device.launch("refused", 1, 40, &[out.into()]);
    let found: Vec<u32> = device.download(out, 4 * 40);
    for (t, codes) in found.chunks(4).enumerate() {
        // cudaErrorInvalidConfiguration and cudaErrorInvalidResourceHandle.
        let first = if t % 2 == 1 { 9 } else { 0 };
        assert_eq!(codes, [first, 400, 400, 0], "thread {t}");
    }
    assert!(device.take_work().is_empty());
}
