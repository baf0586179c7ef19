//! Patterns and strategies: what is read, and where data are placed.

use std::collections::BTreeMap;

use pagemill_policy::residency::{
    AccessPattern, Action, Call, PatternSpec, Placement, STRATEGIES, Side, Variant, WarpRead, lcg,
};
use proptest::prelude::*;

fn spec(pattern: AccessPattern, bytes: u64, blocks: u32, warps_per_block: u32) -> PatternSpec {
    PatternSpec {
        pattern,
        bytes,
        blocks,
        warps_per_block,
        page_bytes: 4096,
        seed: 0,
    }
}

/// The kernels as their sources have them, a thread at a time: element by thread and iteration.
fn threads_read(spec: &PatternSpec, block: u64, thread: u64) -> Vec<u64> {
    let (n, t, g) = (
        spec.elements(),
        spec.threads_per_block(),
        u64::from(spec.blocks),
    );
    match spec.pattern {
        AccessPattern::GridStride => (block * t + thread..n).step_by((t * g) as usize).collect(),
        AccessPattern::BlockStride => {
            let per = n.div_ceil(g) + 1;
            let own = (thread..per)
                .step_by(t as usize)
                .map(|index| per * block + index);
            own.filter(|&element| element < n).collect()
        }
        AccessPattern::RandomWarp => {
            let page_elements = spec.page_bytes / 4;
            let mut x = lcg(spec.seed + block * t + thread / 32 * 32);
            let iterations = n / (t * g);
            (0..iterations)
                .map(|_| {
                    x = (1_103_515_245 * x + 12345) % (1 << 31);
                    x % (spec.bytes / spec.page_bytes) * page_elements
                        + x % (page_elements - 32)
                        + thread % 32
                })
                .collect()
        }
    }
}

fn lanes_of(read: WarpRead) -> impl Iterator<Item = u64> {
    (0..u64::from(read.bytes) / 4).map(move |lane| read.start / 4 + lane)
}

proptest! {
    #[test]
    fn warps_read_what_their_threads_read(pattern in prop::sample::select(&AccessPattern::ALL[..]), pages in 1_u64..20, rest in 0_u64..4096, blocks in 1_u32..6, warps in 1_u32..4) {
        let spec = spec(pattern, pages * 4096 + rest, blocks, warps);
        spec.check().unwrap();
        for block in 0..blocks {
            for warp in 0..warps {
                let mut by_lane: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
                for read in spec.reader(block, warp) {
                    prop_assert!(read.bytes <= 128 && read.start + u64::from(read.bytes) <= spec.bytes);
                    lanes_of(read).enumerate().for_each(|(lane, element)| by_lane.entry(lane as u64).or_default().push(element));
                }
                for lane in 0..32 {
                    let thread = u64::from(warp) * 32 + lane;
                    let expected = threads_read(&spec, u64::from(block), thread);
                    prop_assert_eq!(by_lane.remove(&lane).unwrap_or_default(), expected);
                }
            }
        }
    }

    #[test]
    fn strided_patterns_read_every_element_once(block_stride in any::<bool>(), elements in 1_u64..5000, blocks in 1_u32..8, warps in 1_u32..5) {
        let pattern = if block_stride { AccessPattern::BlockStride } else { AccessPattern::GridStride };
        let spec = spec(pattern, elements * 4, blocks, warps);
        let mut times = vec![0; elements as usize];
        for block in 0..blocks {
            (0..warps).flat_map(|warp| spec.reader(block, warp)).flat_map(lanes_of).for_each(|element| times[element as usize] += 1);
        }
        prop_assert!(times.iter().all(|&count| count == 1));
    }

    #[test]
    fn placements_fit_and_leave_nothing_out(gpu in 1_u64..200, allocation in 1_u64..800, stripe in prop::sample::select(&[4096_u64, 65536, 2 << 20][..])) {
        let placement = Placement { allocation_bytes: allocation * 65536, gpu_bytes: gpu * 65536, stripe_bytes: stripe };
        for name in ["stripe", "stripe-even"] {
            let mut prefetched = Vec::new();
            (STRATEGIES.find(name).unwrap().build)().calls(&placement, &mut |call: Call| {
                if let Action::Prefetch(side) = call.action {
                    prefetched.push((call.bytes, side));
                }
            });
            let mut next = 0;
            let mut on_gpu = 0;
            for (bytes, side) in prefetched {
                prop_assert_eq!(bytes.start, next, "{}: calls follow each other", name);
                next = bytes.end;
                on_gpu += if side == Side::Gpu { bytes.end - bytes.start } else { 0 };
            }
            prop_assert_eq!(next, placement.allocation_bytes);
            prop_assert!(on_gpu <= placement.gpu_bytes, "{}: {} B on the GPU", name, on_gpu);
            if name == "stripe-even" {
                let whole_stripes = placement.gpu_bytes.min(placement.allocation_bytes) / stripe * stripe;
                prop_assert!(on_gpu + stripe > whole_stripes, "{} of {} B used", on_gpu, whole_stripes);
            }
        }
    }
}

/// On which side each stripe of 4 KiB is, for a GPU that has room for `gpu` of `all`.
fn stripes(gpu: u64, all: u64) -> String {
    let placement = Placement {
        allocation_bytes: all * 4096,
        gpu_bytes: gpu * 4096,
        stripe_bytes: 4096,
    };
    let mut sides = vec!['?'; all as usize];
    (STRATEGIES.find("stripe").unwrap().build)().calls(&placement, &mut |call: Call| {
        if let Action::PreferredLocation(side) = call.action {
            let pages = call.bytes.start / 4096..call.bytes.end / 4096;
            pages.for_each(|page| sides[page as usize] = if side == Side::Gpu { 'G' } else { 'c' });
        }
    });
    sides.into_iter().collect()
}

#[test]
fn stripes_follow_the_published_rounding() {
    assert_eq!(stripes(12, 9), "GGGGGGGGG");
    // A factor of 1.5: every third on the CPU, but for the first; the last does not fit.
    assert_eq!(stripes(8, 12), "GGGcGGcGGcGc");
    // A factor of 2: every other one.
    assert_eq!(stripes(6, 12), "GGcGcGcGcGcc");
    // A factor of 3: every third on the GPU.
    assert_eq!(stripes(4, 12), "cccGccGccGcc");
}

#[test]
fn random_reads_do_not_leave_their_page() {
    let spec = PatternSpec {
        seed: 7,
        ..spec(AccessPattern::RandomWarp, 64 * 4096, 4, 4)
    };
    let reads: Vec<WarpRead> = spec.reader(3, 2).collect();
    assert_eq!(reads.len() as u64, spec.elements() / spec.threads());
    for read in reads {
        assert_eq!(
            read.start / 4096,
            (read.start + u64::from(read.bytes) - 1) / 4096
        );
    }
}

#[test]
fn names_lead_back_to_what_they_name() {
    for pattern in AccessPattern::ALL {
        assert_eq!(AccessPattern::from_name(pattern.name()), Some(pattern));
    }
    for variant in Variant::ALL {
        assert_eq!(Variant::from_name(variant.name()), Some(variant));
    }
    for entry in &STRATEGIES {
        assert_eq!(STRATEGIES.find(entry.name), Ok(entry));
    }
    let message = STRATEGIES.find("magic").unwrap_err().to_string();
    assert!(
        STRATEGIES.iter().all(|entry| message.contains(entry.name)),
        "{message}"
    );
}

#[test]
fn patterns_that_read_nothing_are_refused() {
    let refused = |spec: PatternSpec| spec.check().unwrap_err().to_string();
    assert!(refused(spec(AccessPattern::GridStride, 4096, 0, 4)).contains("0 blocks"));
    assert!(refused(spec(AccessPattern::GridStride, 3, 1, 4)).contains("3 B"));
    assert!(refused(spec(AccessPattern::RandomWarp, 4095, 1, 4)).contains("4095 B"));
    let small = PatternSpec {
        page_bytes: 128,
        ..spec(AccessPattern::RandomWarp, 4096, 1, 4)
    };
    assert!(refused(small).contains("page of 128 B"));
}
