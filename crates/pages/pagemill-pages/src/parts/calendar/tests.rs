use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

proptest! {
    #[test]
    fn bookings_equal_a_table_of_slots(
        servers in 1u32..4, busy in 1u64..20,
        requests in prop::collection::vec((0u64..10, 0u64..100), 1..300),
    ) {
        let mut calendar = Calendar::new(servers, Picos(busy));
        let mut table: HashMap<u64, u32> = HashMap::new();
        let mut now = 0;
        for (gap, ahead) in requests {
            now += gap;
            let at = now + ahead;
            let mut slot = at / busy;
            while table.get(&slot) == Some(&servers) {
                slot += 1;
            }
            *table.entry(slot).or_default() += 1;
            prop_assert_eq!(calendar.book(Picos(now), Picos(at)), Picos(at.max(slot * busy)));
        }
    }
}

#[test]
fn a_booking_far_ahead_delays_no_other() {
    let mut calendar = Calendar::new(1, Picos(10));
    assert_eq!(calendar.book(Picos(0), Picos(1000)), Picos(1000));
    assert_eq!(calendar.book(Picos(0), Picos(0)), Picos(0));
    assert_eq!(calendar.book(Picos(0), Picos(0)), Picos(10));
    assert_eq!(calendar.book(Picos(0), Picos(1000)), Picos(1010));
}
