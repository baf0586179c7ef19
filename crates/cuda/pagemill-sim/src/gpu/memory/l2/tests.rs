use super::*;
use crate::gpu::ALL_SECTORS;
use crate::gtx480::gtx480;
use pagemill_types::Clock;
use proptest::prelude::*;

/// Six slices in cycles of 1 ns, in two halves 168 cycles apart.
fn halves() -> L2 {
    let mut machine = gtx480();
    machine.l2_clock = Clock::new(1_000_000_000).expect("it is a clock");
    machine.l2.hit_latency_cycles = 100;
    machine.l2_far_cycles = 168;
    machine.l2_kept_copy_bytes = 4 * SEGMENT_BYTES as u32;
    let partitions = machine.memory.partitions();
    L2::new(&machine, PartitionMap::new(partitions, 256, true))
}

/// An SM of the half that segment 7 has its home in, and one of the other.
fn near_and_far(l2: &L2) -> [u32; 2] {
    let last = l2.sms as u32 - 1;
    match l2.is_far(0, l2.place(7).partition) {
        true => [last, 0],
        false => [0, last],
    }
}

fn latencies(l2: &mut L2, from: u64, sms: &[u32]) -> Vec<u64> {
    let place = l2.place(7);
    let steps = sms.iter().zip(from..);
    let loaded = steps.map(|(&sm, step)| {
        let at = Picos(1_000_000_000 * step);
        (l2.load(at, sm, place, ALL_SECTORS) - at).as_nanos()
    });
    loaded.collect()
}

#[test]
fn a_line_of_the_other_half_comes_from_there_once() {
    let mut l2 = halves();
    let [near, far] = near_and_far(&l2);
    l2.leave_written(
        Picos::ZERO,
        (7 * SEGMENT_BYTES, SEGMENT_BYTES),
        Writer::Link,
    );
    assert_eq!(latencies(&mut l2, 1, &[near, far, far]), [100, 268, 100]);
    // What is stored is in one half again.
    let at = Picos(4_000_000_000);
    l2.store(at, l2.place(7), ALL_SECTORS, Picos::ZERO);
    assert_eq!(latencies(&mut l2, 5, &[far, far]), [268, 100]);
    l2.atomic(Picos(7_000_000_000), l2.place(7), ALL_SECTORS, 1);
    assert_eq!(latencies(&mut l2, 8, &[far, far]), [268, 100]);
    let counts = l2.counts().fold([0; 4], |sums, (l2, dram)| {
        let of_slice = [l2.load_hits, l2.load_misses, l2.store_hits, dram.bytes];
        std::array::from_fn(|at| sums[at] + of_slice[at])
    });
    // Each load once, the atomic's among them, and none of them of memory.
    assert_eq!(counts, [8, 0, 1, 0]);
}

#[test]
fn a_copy_over_the_link_leaves_its_last_bytes_and_a_fill_all() {
    let misses = |by: Writer| {
        let mut l2 = halves();
        l2.leave_written(Picos::ZERO, (0, 16 * SEGMENT_BYTES), by);
        for segment in 0..16 {
            let place = l2.place(segment);
            l2.load(Picos(1_000_000_000), 0, place, ALL_SECTORS);
        }
        l2.counts().map(|(l2, _)| l2.load_misses).sum::<u64>()
    };
    assert_eq!(misses(Writer::Link), 12);
    assert_eq!(misses(Writer::Gpu), 0);
}

proptest! {
    #[test]
    fn no_copy_outlives_a_change(steps in prop::collection::vec((0u64..40, any::<bool>(), 0u8..4), 1..200)) {
        let mut l2 = halves();
        let mut at = Picos::ZERO;
        for (segment, last, what) in steps {
            at += Picos(1_000_000_000);
            let sms = [0, l2.sms as u32 - 1];
            let place = l2.place(segment);
            match what {
                0 => drop(l2.load(at, sms[usize::from(last)], place, ALL_SECTORS)),
                1 => drop(l2.store(at, place, ALL_SECTORS, Picos::ZERO)),
                2 => drop(l2.atomic(at, place, ALL_SECTORS, 1)),
                _ => l2.forget(segment..segment + 2),
            }
            if what > 0 {
                at += Picos(1_000_000_000);
                let far = sms[usize::from(!l2.is_far(sms[0], place.partition))];
                let latency = l2.load(at, far, place, ALL_SECTORS) - at;
                prop_assert!(latency.as_nanos() >= 268, "{latency:?}");
            }
        }
    }
}
