//! Special registers.

use super::harness::Device;

#[test]
fn identity_of_threads() {
    let (grid, block) = ([3u32, 2, 2], [5u32, 3, 4]);
    let threads = block.iter().product::<u32>();
    let total = (grid.iter().product::<u32>() * threads) as usize;
    let mut device = Device::load("special_registers");
    let out = device.zeros::<u32>(20 * total);
    device.launch("identity", grid, block, &[out.into()]);
    let found: Vec<u32> = device.download(out, 20 * total);
    let split = |index: u32, extent: [u32; 3]| {
        [
            index % extent[0],
            index / extent[0] % extent[1],
            index / extent[0] / extent[1],
        ]
    };
    for i in 0..total {
        let (in_grid, in_block) = (i as u32 / threads, i as u32 % threads);
        let (lane, warp) = (in_block % 32, in_block / 32);
        let bit = 1u32 << lane;
        let mut wanted = [split(in_block, block), block, split(in_grid, grid), grid].concat();
        wanted.extend([
            lane,
            warp,
            bit,
            bit - 1,
            bit | (bit - 1),
            !(bit | (bit - 1)),
            !(bit - 1),
            32,
        ]);
        let found: Vec<u32> = (0..20).map(|row| found[row * total + i]).collect();
        assert_eq!(found, wanted, "thread {in_block} of block {in_grid}");
    }
}

#[test]
fn what_a_thread_sees_of_the_machine() {
    let mut device = Device::load("special_registers");
    let out = device.zeros::<u32>(128);
    device.launch_with_shared("machine", 1, 32, 768, &[out.into()]);
    let found: Vec<u32> = device.download(out, 128);
    assert_eq!(found[..96], [1; 96]);
    assert_eq!(found[96..], [768; 32]);
}

#[test]
fn what_the_system_reserves_lies_behind_the_shared_memory_of_a_block() {
    let mut device = Device::load("by_hand_reserved_sm80");
    let out = device.zeros::<u32>(24);
    device.launch_with_shared("reserved", 3, 1, 24, &[out.into()]);
    let found: Vec<u32> = device.download(out, 24);
    // 100 bytes and 24 of a block; 1 KiB begins at the next multiple of 128, and is zero in every block.
    assert_eq!(found, [128, 1152, 1024, 128, 640, 124, 0, 7].repeat(3));
    let trap = device.trap("beyond", 1, 1, &[out.into()]);
    assert!(trap.to_string().contains("shared memory"), "{trap}");
}
