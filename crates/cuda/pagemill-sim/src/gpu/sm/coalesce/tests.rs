use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn check(addresses: &[u64; 32], mask: u32) -> Result<(), TestCaseError> {
    let mut segments = Segments::default();
    segments.coalesce(addresses, mask);
    let expected: BTreeSet<u64> = (0..32)
        .filter(|lane| mask >> lane & 1 == 1)
        .map(|lane| addresses[lane] / 128)
        .collect();
    prop_assert_eq!(
        segments.as_slice(),
        expected.into_iter().collect::<Vec<_>>()
    );
    Ok(())
}

proptest! {
    #[test]
    fn equals_a_set(seeds in prop::collection::vec(any::<u64>(), 32), mask in any::<u32>(), spread in 1u32..40, base in 0u64..1 << 40) {
        let addresses: [u64; 32] = std::array::from_fn(|lane| base + (seeds[lane] >> (64 - spread)));
        check(&addresses, mask)?;
        check(&addresses, u32::MAX)?;
    }

    #[test]
    fn strides_equal_a_set(base in 0u64..1 << 30, stride in 0u64..5000, mask in any::<u32>()) {
        let addresses: [u64; 32] = std::array::from_fn(|lane| base + lane as u64 * stride);
        check(&addresses, mask)?;
    }
}

proptest! {
    #[test]
    fn rows_and_single_places_equal_their_lists(
        first in 0u64..1 << 20,
        shift in 0u32..6,
        masks in prop::collection::vec(any::<u32>(), 1..4),
        run in (0u32..32, 0u32..32),
    ) {
        let lane_bytes = 1 << shift;
        let first = first << shift;
        let run = (u32::MAX >> run.0) & (u32::MAX << run.1);
        for mask in masks.into_iter().chain([u32::MAX, run, 0]) {
            for places in [LanePlaces::Row { first }, LanePlaces::Together { at: first }] {
                let access = MemoryAccess { places, mask, lane_bytes, ..MemoryAccess::default() };
                let (mut found, mut expected) = (Segments::default(), Segments::default());
                found.set_access(&access);
                expected.coalesce(&access.addresses(), mask);
                prop_assert_eq!(found.as_slice(), expected.as_slice(), "{:?}", access);
            }
        }
    }
}

/// The segments of a warp whose lanes read `width` bytes each, `stride` apart, and their sectors.
fn sectors(base: u64, stride: u64, width: u32, mask: u32) -> Vec<(u64, u8)> {
    let addresses: [u64; 32] = std::array::from_fn(|lane| base + lane as u64 * stride);
    let mut segments = Segments::default();
    segments.coalesce(&addresses, mask);
    let sectors = segments.sectors(&addresses, mask, width);
    segments.as_slice().iter().copied().zip(sectors).collect()
}

#[test]
fn sectors_are_what_lanes_touch() {
    let all = u32::MAX;
    assert_eq!(sectors(256, 4, 4, all), [(2, 0b1111)]);
    assert_eq!(sectors(256 + 32, 4, 4, all), [(2, 0b1110), (3, 0b0001)]);
    assert_eq!(sectors(256 + 4, 4, 4, all), [(2, 0b1111), (3, 0b0001)]);
    assert_eq!(sectors(0, 4, 4, 0x0100_0001), [(0, 0b1001)]);
    assert_eq!(sectors(0, 16, 16, 0b1111), [(0, 0b0011)]);
    let own_lines = sectors(32, 128, 4, all);
    assert_eq!(own_lines.len(), 32);
    assert!(own_lines.iter().all(|&(_, touched)| touched == 0b0010));
}

#[test]
fn a_warp_of_floats_is_one_segment_when_aligned_and_two_when_not() {
    let mut segments = Segments::default();
    segments.coalesce(&std::array::from_fn(|lane| 256 + lane as u64 * 4), u32::MAX);
    assert_eq!(segments.as_slice(), [2]);
    segments.coalesce(&std::array::from_fn(|lane| 260 + lane as u64 * 4), u32::MAX);
    assert_eq!(segments.as_slice(), [2, 3]);
    segments.coalesce(&[0; 32], 0);
    assert!(segments.as_slice().is_empty());
}
