use super::*;
use proptest::prelude::*;

fn orders() -> impl Strategy<Value = AddressOrder> {
    prop_oneof![
        Just(AddressOrder::Same),
        Just(AddressOrder::FirstTouch),
        Just(AddressOrder::Random),
        (1u64..1 << 28, 1u64..5).prop_map(|(distance_bytes, buffers)| AddressOrder::Stride {
            distance_bytes,
            buffers
        }),
    ]
}

proptest! {
    #[test]
    fn buffers_lie_in_the_extent(order in orders(), bytes in 1u64..1 << 20, span in 1u64..1 << 24, seed: u64) {
        let mut addresses = Addresses::new(order, bytes, span, seed);
        let (start, extent) = addresses.extent();
        for _ in 0..50 {
            let address = addresses.next_address();
            prop_assert!(address >= start && address + bytes <= start + extent);
        }
    }
}

#[test]
fn first_touch_reuses_nothing_before_the_end_of_the_span() {
    let mut addresses = Addresses::new(AddressOrder::FirstTouch, 10, 3 * PAGE + 35, 0);
    let offsets: Vec<u64> = (0..5).map(|_| addresses.next_address() - BASE).collect();
    assert_eq!(offsets, [0, PAGE, 2 * PAGE, 0, PAGE]);
}
