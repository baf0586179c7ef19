//! Clusters: where blocks are, shared memory of other blocks, and barriers of several blocks.

use super::harness::{Device, kernel_folder};
use super::inputs::Random;
use super::value::Value;
use pagemill_ptx::{
    DeviceMemory, Launch, LaunchError, Linked, Module, Output, Trap, TrapKind, run_functional,
};

const FILE: &str = "clusters_sm90";

/// All clusters of at most 16 blocks whose extents are 1, 2, 3, 4, 8 and 16.
fn clusters() -> Vec<[u32; 3]> {
    let extents = [1, 2, 3, 4, 8, 16];
    let all = extents.into_iter().flat_map(|x| {
        let rest = extents
            .into_iter()
            .flat_map(move |y| extents.map(|z| [x, y, z]));
        rest.collect::<Vec<_>>()
    });
    all.filter(|cluster| cluster.iter().product::<u32>() <= 16)
        .collect()
}

fn device(cluster: [u32; 3]) -> Device {
    let mut device = Device::load(FILE);
    device.cluster = Some(cluster);
    device
}

/// Of each block of a grid in one dimension, with clusters of `n`: the number of the block of rank `rank` beside it.
fn beside(block: usize, n: usize, rank: usize) -> usize {
    block / n * n + rank % n
}

#[test]
fn blocks_know_where_they_are() {
    for cluster in clusters() {
        let times = [2, 1, 3];
        let grid: [u32; 3] = std::array::from_fn(|axis| cluster[axis] * times[axis]);
        let blocks: u32 = grid.iter().product();
        let mut device = device(cluster);
        let out = device.zeros::<u32>(16 * blocks as usize);
        device.launch("cluster_places", grid, 32, &[out.into()]);
        let found: Vec<u32> = device.download(out, 16 * blocks as usize);
        let n: u32 = cluster.iter().product();
        for block in 0..blocks {
            let at = [
                block % grid[0],
                block / grid[0] % grid[1],
                block / (grid[0] * grid[1]),
            ];
            let of: [u32; 3] = std::array::from_fn(|axis| at[axis] / cluster[axis]);
            let place: [u32; 3] = std::array::from_fn(|axis| at[axis] % cluster[axis]);
            let rank = (place[2] * cluster[1] + place[1]) * cluster[0] + place[0];
            let wanted = [&of[..], &times, &place, &cluster, &[rank, n, 1, rank]].concat();
            let found = &found[16 * block as usize..][..16];
            assert_eq!(found, wanted, "block {at:?} of clusters {cluster:?}");
        }
    }
}

#[test]
fn without_clusters_each_block_is_one() {
    let mut device = Device::load(FILE);
    let out = device.zeros::<u32>(16 * 6);
    device.launch("cluster_places", [3, 2, 1], 64, &[out.into()]);
    let found: Vec<u32> = device.download(out, 16 * 6);
    let last: [u32; 16] = [2, 1, 0, 3, 2, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0];
    assert_eq!(found[16 * 5..], last);
}

fn exchanges<T: Value + PartialEq>(name: &str) {
    for n in [1usize, 2, 5, 8, 16] {
        let blocks = 2 * n;
        let mut random = Random(60 + n as u64);
        let values: Vec<T> = (0..64 * blocks)
            .map(|_| T::from_bits64(random.next() >> 3))
            .collect();
        let mut device = device([n as u32, 1, 1]);
        let (from, out) = (device.upload(&values), device.zeros::<T>(3 * values.len()));
        let kernel = format!("exchange_{name}");
        device.launch(&kernel, blocks as u32, 64, &[from.into(), out.into()]);
        let found: Vec<T> = device.download(out, 3 * values.len());
        let of = |block: usize, thread: usize| values[64 * block + thread].to_bits64();
        for block in 0..blocks {
            let rank = block % n;
            for t in 0..64 {
                let wanted = [
                    of(beside(block, n, rank + n - 1), t),
                    of(beside(block, n, rank + 1), t),
                    of(beside(block, n, rank + 2 * n - 3 % n), 63 - t),
                ];
                let found = &found[3 * (64 * block + t)..][..3];
                let found: Vec<u64> = found.iter().map(|value| value.to_bits64()).collect();
                assert_eq!(
                    found, wanted,
                    "{kernel}, {n} blocks, block {block}, thread {t}"
                );
            }
        }
    }
}

#[test]
fn every_type_reaches_other_blocks() {
    exchanges::<u8>("u8");
    exchanges::<u16>("u16");
    exchanges::<u32>("u32");
    exchanges::<u64>("u64");
    exchanges::<f32>("f32");
    exchanges::<f64>("f64");
}

fn scatters<T: Value>(name: &str) {
    for n in [1usize, 3, 8] {
        let blocks = 2 * n;
        let mut random = Random(70 + n as u64);
        let values: Vec<T> = (0..64 * blocks)
            .map(|_| T::from_bits64(random.next() >> 3))
            .collect();
        let mut device = device([n as u32, 1, 1]);
        let (from, out) = (device.upload(&values), device.zeros::<T>(values.len()));
        let kernel = format!("scatter_{name}");
        device.launch(&kernel, blocks as u32, 32, &[from.into(), out.into()]);
        let found: Vec<T> = device.download(out, values.len());
        for (at, found) in found.iter().enumerate() {
            let (block, t, part) = (at / 64, at % 64 / 2, at % 2);
            // The block that was read got this pair from the one of which it is `t` further.
            let read = block % n + 3 * t;
            let writer = beside(block, n, (read + n * t - t) % n);
            let wanted = values[64 * writer + 2 * t + part];
            assert_eq!(
                found.to_bits64(),
                wanted.to_bits64(),
                "{kernel}, {n} blocks, {at}"
            );
        }
    }
}

#[test]
fn lanes_of_one_warp_reach_different_blocks() {
    scatters::<u32>("v2u32");
    scatters::<u64>("v2u64");
    scatters::<f32>("v2f32");
}

fn atomics<T: Value + PartialEq>(name: &str, half: fn(T) -> T, apply: fn(T, T) -> T) {
    for n in [1usize, 2, 7, 16] {
        let blocks = 2 * n;
        let mut random = Random(80 + n as u64);
        let values: Vec<T> = (0..32 * blocks)
            .map(|_| T::from_bits64(random.next()))
            .collect();
        let mut device = device([n as u32, 1, 1]);
        let from = device.upload(&values);
        let (out, old) = (
            device.zeros::<T>(values.len()),
            device.zeros::<T>(n * values.len()),
        );
        let kernel = format!("atomic_{name}");
        let arguments = [from.into(), out.into(), old.into()];
        device.launch(&kernel, blocks as u32, 32, &arguments);
        let mut words: Vec<T> = values.iter().map(|&value| half(value)).collect();
        let mut before = vec![T::from_bits64(0); n * values.len()];
        for round in 0..n {
            for at in 0..values.len() {
                let (block, t) = (at / 32, at % 32);
                let word = &mut words[32 * beside(block, n, block % n + round) + t];
                before[n * at + round] = *word;
                *word = apply(apply(*word, values[at]), values[at]);
            }
        }
        assert_eq!(
            device.download::<T>(out, words.len()),
            words,
            "{kernel}, {n} blocks"
        );
        let found: Vec<T> = device.download(old, before.len());
        assert_eq!(found, before, "old values of {kernel}, {n} blocks");
    }
}

#[test]
fn atomics_reach_other_blocks() {
    fn word(name: &str, apply: fn(u32, u32) -> u32) {
        atomics::<u32>(name, |value| value >> 1, apply);
    }
    fn long(name: &str, apply: fn(u64, u64) -> u64) {
        atomics::<u64>(name, |value| value >> 1, apply);
    }
    word("add_u32", u32::wrapping_add);
    word("min_u32", u32::min);
    word("max_u32", u32::max);
    atomics::<i32>("min_s32", |value| value >> 1, i32::min);
    atomics::<i32>("max_s32", |value| value >> 1, i32::max);
    word("and_b32", |a, b| a & b);
    word("or_b32", |a, b| a | b);
    word("xor_b32", |a, b| a ^ b);
    word("inc_u32", |a, b| if a >= b { 0 } else { a + 1 });
    word("dec_u32", |a, b| if a == 0 || a > b { b } else { a - 1 });
    long("add_u64", u64::wrapping_add);
    long("min_u64", u64::min);
    long("max_u64", u64::max);
    long("and_b64", |a, b| a & b);
    long("or_b64", |a, b| a | b);
    long("xor_b64", |a, b| a ^ b);
}

#[test]
fn blocks_share_a_lock() {
    for n in [1, 4, 16] {
        let mut device = device([n, 1, 1]);
        let out = device.zeros::<u32>(2 * n as usize);
        device.launch("cluster_lock", 2 * n, 96, &[out.into()]);
        let wanted = vec![3 * n; 2 * n as usize];
        assert_eq!(device.download::<u32>(out, 2 * n as usize), wanted);
    }
}

#[test]
fn arriving_and_waiting_are_apart() {
    for (n, threads, rounds) in [
        (1usize, 32usize, 9u32),
        (3, 64, 12),
        (8, 96, 13),
        (16, 40, 5),
    ] {
        let blocks = 2 * n;
        let mut device = device([n as u32, 1, 1]);
        let out = device.zeros::<u32>(blocks * threads);
        let arguments = [out.into(), rounds.into()];
        device.launch("cluster_phases", blocks as u32, threads as u32, &arguments);
        let found: Vec<u32> = device.download(out, blocks * threads);
        let warps = threads.div_ceil(32) as u32;
        for (at, &found) in found.iter().enumerate() {
            let rank = at / threads % n;
            let total = (0..rounds).fold(0u32, |total, round| {
                let from = (rank + n * round as usize - round as usize) % n;
                let sum = warps * (from as u32 + 1);
                let total = total.wrapping_mul(3).wrapping_add(round);
                total.wrapping_mul(5).wrapping_add(sum)
            });
            assert_eq!(found, total, "{n} blocks, {at}");
        }
    }
}

#[test]
fn the_barrier_does_not_wait_for_warps_that_have_ended() {
    for n in [1u32, 2, 6, 16] {
        let mut device = device([n, 1, 1]);
        let count = 2 * n as usize * 128;
        let out = device.zeros::<u32>(count);
        device.launch("cluster_leaving", 2 * n, 128, &[out.into()]);
        for (at, found) in device.download::<u32>(out, count).into_iter().enumerate() {
            let (rank, warp) = (at as u32 / 128 % n, at as u32 % 128 / 32);
            assert_eq!(found, rank + warp + 1, "{n} blocks, {at}");
        }
    }
}

#[test]
fn blocks_tell_each_other_by_barrier_objects() {
    for n in [1usize, 2, 8, 16] {
        let blocks = 2 * n;
        let values = Random(90).words(blocks);
        let mut device = device([n as u32, 1, 1]);
        let (from, out) = (device.upload(&values), device.zeros::<u32>(64 * blocks));
        let arguments = [from.into(), out.into()];
        device.launch("cluster_messages", blocks as u32, 64, &arguments);
        for (at, found) in device
            .download::<u32>(out, 64 * blocks)
            .into_iter()
            .enumerate()
        {
            let (block, rank) = (at / 64, (at / 64 % n) as u32);
            let sum = (0..n).fold(0u32, |sum, other| {
                let value = values[beside(block, n, other)].wrapping_add(rank);
                sum.wrapping_mul(31).wrapping_add(value)
            });
            assert_eq!(found, sum, "{n} blocks, {at}");
        }
    }
}

#[test]
fn stores_and_sums_count_their_bytes() {
    for n in [1usize, 2, 5] {
        let values = Random(91).words(256 * n);
        let mut device = device([n as u32, 1, 1]);
        let (from, out) = (device.upload(&values), device.zeros::<u32>(266 * n));
        device.launch("cluster_async", n as u32, 64, &[from.into(), out.into()]);
        let found: Vec<u32> = device.download(out, 266 * n);
        for block in 0..n {
            let got = &values[256 * ((block + n - 1) % n)..][..256];
            let column = |part: usize| got.iter().skip(part).step_by(4).copied();
            let wide = [
                (n as u64) << 40,
                column(2).map(|value| u64::from(value) << 8).sum(),
            ];
            let sums = [
                column(0).fold(0, u32::wrapping_add),
                column(1).fold(u32::MAX, u32::min),
                column(2).fold(0, u32::max),
                column(3).fold(u32::MAX, |a, b| a & (b | 0xff)),
                column(0).zip(column(1)).fold(0, |all, (a, b)| all | a & b),
                column(1).fold(0, |a, b| a ^ b),
            ];
            let halves = wide
                .iter()
                .flat_map(|&sum| [sum as u32, (sum >> 32) as u32]);
            let wanted: Vec<u32> = got.iter().copied().chain(sums).chain(halves).collect();
            assert_eq!(
                found[266 * block..][..266],
                wanted,
                "{n} blocks, block {block}"
            );
        }
    }
}

#[test]
fn addresses_say_which_block_they_are_of() {
    for n in [1u32, 2, 16] {
        let mut device = device([n, 1, 1]);
        let out = device.zeros::<u32>(2 * n as usize);
        device.launch("cluster_addresses", 2 * n, 4, &[out.into()]);
        let wrong: Vec<u32> = device.download(out, 2 * n as usize);
        assert_eq!(wrong, vec![0; 2 * n as usize]);
    }
}

#[test]
fn kernels_are_compiled_for_a_size() {
    let mut device = Device::load(FILE);
    let out = device.zeros::<u32>(16);
    device.launch("cluster_fixed", [8, 2, 1], 32, &[out.into()]);
    let row = |y: u32| (0..8).map(move |x| (y * 4 + x % 4) * 100 + 8);
    let wanted: Vec<u32> = row(0).chain(row(1)).collect();
    assert_eq!(device.download::<u32>(out, 16), wanted);
}

#[test]
fn mistakes_stop_the_kernel() {
    let expected: [fn(&TrapKind) -> bool; 7] = [
        |kind| matches!(kind, TrapKind::NoSuchRank { rank: 2, blocks: 2 }),
        |kind| {
            matches!(
                kind,
                TrapKind::NoSuchRank {
                    rank: 254,
                    blocks: 2
                }
            )
        },
        |kind| {
            matches!(
                kind,
                TrapKind::OutsideWindow {
                    space: "shared",
                    ..
                }
            )
        },
        |kind| matches!(kind, TrapKind::Misaligned { bytes: 4, .. }),
        |kind| matches!(kind, TrapKind::BadClusterBarrier { .. }),
        |kind| matches!(kind, TrapKind::BadClusterBarrier { .. }),
        |kind| matches!(kind, TrapKind::DivergedBarrier { .. }),
    ];
    for (mistake, is_expected) in expected.iter().enumerate() {
        let mut device = device([2, 1, 1]);
        let out = device.zeros::<u32>(32);
        let arguments = [out.into(), (mistake as u32).into()];
        let trap = device.trap("cluster_mistakes", 2, 32, &arguments);
        assert!(is_expected(&trap.kind), "mistake {mistake}: {trap}");
    }
}

/// A module on a memory of its own.
fn module() -> (Module, Linked, DeviceMemory) {
    let path = kernel_folder().join("clusters_sm90.ptx");
    let text = std::fs::read_to_string(path).expect("the PTX is committed");
    let module = Module::load(FILE, &text).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let linked = module
        .link(&mut memory)
        .unwrap_or_else(|error| panic!("{error}"));
    (module, linked, memory)
}

#[test]
fn blocks_that_wait_for_each_other_forever_are_stopped() {
    let (module, linked, mut memory) = module();
    let kernel = module.kernel("cluster_deadlock").expect("it is there");
    let launch = Launch::new(&module, &linked, kernel, [4, 1, 1], [64, 1, 1], 0, &[]);
    let launch = launch.and_then(|launch| launch.with_cluster([2, 1, 1]));
    let launch = launch.unwrap_or_else(|error| panic!("{error}"));
    let run = |memory: &mut DeviceMemory| -> Box<Trap> {
        run_functional(&launch, memory, &mut Output::default()).expect_err("it never ends")
    };
    let trap = run(&mut memory);
    let wanted = TrapKind::ClusterDeadlock {
        arrived: 3,
        warps: 4,
    };
    assert_eq!(trap.kind, wanted, "{trap}");
    // What a stopped launch leaves behind does not reach the next one.
    assert_eq!(run(&mut memory).kind, trap.kind);
}

#[test]
fn impossible_clusters_are_refused() {
    let (module, linked, _) = module();
    let shape = |kernel: &str, grid: [u32; 3], cluster: Option<[u32; 3]>| {
        let kernel = module.kernel(kernel).expect("it is there");
        let args = vec![0; kernel.param_bytes as usize];
        let launch = Launch::new(&module, &linked, kernel, grid, [32, 1, 1], 0, &args)?;
        match cluster {
            Some(cluster) => launch.with_cluster(cluster),
            None => Ok(launch),
        }
    };
    let refused =
        |result: Result<Launch, LaunchError>| matches!(result, Err(LaunchError::Cluster { .. }));
    for cluster in [
        [0, 1, 1],
        [17, 1, 1],
        [3, 1, 1],
        [4, 8, 1],
        [1, 1, 2],
        [u32::MAX, u32::MAX, u32::MAX],
    ] {
        let launch = shape("cluster_places", [16, 8, 1], Some(cluster));
        assert!(refused(launch), "{cluster:?}");
    }
    assert!(shape("cluster_places", [16, 8, 1], Some([8, 2, 1])).is_ok());
    assert!(refused(shape("cluster_fixed", [6, 2, 1], None)));
    assert!(refused(shape("cluster_fixed", [8, 2, 1], Some([2, 2, 1]))));
    assert!(shape("cluster_fixed", [8, 2, 1], Some([4, 2, 1])).is_ok());
}
