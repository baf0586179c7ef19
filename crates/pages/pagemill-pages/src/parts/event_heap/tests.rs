use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn order_is_time_then_warp(steps in prop::collection::vec((0u8..3, 0u64..50), 1..300)) {
        let origin = Picos(1_000_000);
        let mut heap = EventHeap::default();
        heap.restart(origin, 300);
        let mut model: BTreeSet<(Picos, u32)> = BTreeSet::new();
        let mut next_warp = 0;
        let mut now = origin;
        for (action, delay) in steps {
            let top = heap.top();
            prop_assert_eq!(top, model.first().copied());
            prop_assert_eq!(heap.second(), model.iter().nth(1).map(|event| event.1));
            heap.enter_top();
            now = top.map_or(now, |top| top.0);
            let at = now + Picos(delay);
            match (action, top) {
                (0, Some((_, warp))) => {
                    model.pop_first();
                    model.insert((at, warp));
                    heap.replace_top(at, warp);
                }
                (1, Some(_)) => {
                    model.pop_first();
                    heap.pop();
                }
                _ => {
                    model.insert((at, next_warp));
                    heap.push(at, next_warp);
                    next_warp += 1;
                }
            }
        }
    }
}
