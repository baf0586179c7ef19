use proptest::prelude::*;

use super::*;

const PAGE: u64 = 8192;

#[test]
fn one_buffer_at_a_time_is_always_the_same() {
    let mut map = AddressMap::new(PAGE);
    let first = map.borrow(20_000);
    assert_eq!(first, PAGE);
    map.give_back(first, 20_000);
    assert_eq!(map.borrow(20_000), first);
    assert_eq!(
        map.borrow(20_000),
        first + 24_576,
        "the first one is in use"
    );
}

#[test]
fn registered_memory_is_found_again_up_to_its_end() {
    let mut map = AddressMap::new(PAGE);
    let region = map.register(123_456, 1000);
    assert_eq!(map.real_of(region + 10, 990), Some(123_466));
    assert_eq!(map.real_of(region + 10, 991), None);
    assert_eq!(map.real_of(region.wrapping_sub(1), 1), None);
    map.deregister(region);
    assert_eq!(map.real_of(region, 1), None);
}

proptest! {
    /// Buffers in use and registered memory never overlap.
    #[test]
    fn what_is_in_use_does_not_meet(calls in proptest::collection::vec((0_u8..3, 1_u64..40_000, any::<prop::sample::Index>()), 1..80)) {
        let mut map = AddressMap::new(PAGE);
        let mut used: Vec<(u64, u64, bool)> = Vec::new();
        for (call, bytes, index) in calls {
            match call {
                0 => used.push((map.borrow(bytes), bytes, true)),
                1 => used.push((map.register(bytes, bytes), bytes, false)),
                _ if used.is_empty() => {}
                _ => {
                    let (simulated, bytes, is_borrowed) = used.swap_remove(index.index(used.len()));
                    if is_borrowed { map.give_back(simulated, bytes) } else { map.deregister(simulated) }
                }
            }
            let mut spans = used.clone();
            spans.sort_unstable();
            for pair in spans.windows(2) {
                prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0);
            }
        }
    }
}
