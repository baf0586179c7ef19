use super::*;
use crate::check::block::WarpRules;
use proptest::prelude::*;

proptest! {
    #[test]
    fn rows_have_every_lane_once(steps in prop::collection::vec(0u64..3, LANES), mask: u32) {
        let mut at = 0;
        let addresses = Line(std::array::from_fn(|lane| {
            at += steps[lane] * 4;
            at
        }));
        let mut seen = 0_u32;
        for row in Rows::of(&addresses, mask, 4) {
            for lane in row.lanes() {
                let apart = if row.is_same { 0 } else { (lane - row.lane) as u64 * 4 };
                prop_assert_eq!(addresses[lane], addresses[row.lane] + apart);
                prop_assert_eq!(seen >> lane, 0, "in order, and once");
                seen |= 1 << lane;
            }
        }
        prop_assert_eq!(seen, mask);
    }

    #[test]
    fn repeated_rows_are_of_the_same_addresses(width in 1usize..17, mask: u32) {
        let addresses = Line(std::array::from_fn(|lane| (lane % width) as u64 * 4));
        let (mut rows, mut one_by_one) = (Rows::of(&addresses, mask, 4), Rows::of(&addresses, mask, 4));
        while let Some((first, last)) = rows.next_repeated(&addresses) {
            loop {
                let row = one_by_one.next().expect("no row is left out");
                prop_assert_eq!((row.lanes, addresses[row.lane]), (first.lanes, addresses[first.lane]));
                if row == last {
                    break;
                }
            }
        }
        prop_assert_eq!(one_by_one.next(), None);
    }

    /// A row leaves what its lanes leave one by one, or nothing where one of them finds a conflict.
    #[test]
    fn a_row_is_its_lanes(
        steps in prop::collection::vec((0usize..24, 1usize..9, 0u32..3, 0u32..4, any::<bool>(), any::<bool>()), 1..40)
    ) {
        let (mut rows, mut lanes) = (Cells::new(256, true), Cells::new(256, true));
        let rules = WarpRules::default();
        let (mut time, mut floor) = (1, Stamp::floor(1));
        for (first, count, size, warp, is_write, is_barrier) in steps {
            if is_barrier {
                time += 1;
                floor = Stamp::floor(time);
            }
            let lane_bytes = WORD << size;
            let thread = warp * LANES as u32;
            let stamp = |lane: usize| Stamp::new(time, thread + lane as u32, thread + lane as u32, 7, false);
            let touch = RowTouch {
                offset: first * WORD,
                lanes: count,
                lane_bytes,
                mine: stamp(0),
                step: stamp(1).0 - stamp(0).0,
                is_write,
            };
            let before = lanes.clone();
            let is_inside = touch.offset + count * lane_bytes <= 256;
            let mut one_by_one = (0..count).map(|lane| {
                let range = (touch.offset + lane * lane_bytes, lane_bytes);
                lanes.touch(range, stamp(lane), floor, is_write, &rules)
            });
            let is_free = is_inside && one_by_one.by_ref().all(|found| found.is_none());
            drop(one_by_one);
            prop_assert_eq!(rows.touch_row(&touch, floor, &rules), is_free);
            if !is_free {
                lanes = before;
            }
            prop_assert_eq!(rows.words(0..64), lanes.words(0..64));
        }
    }
}
