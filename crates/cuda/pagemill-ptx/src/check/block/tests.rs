use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    /// Threads read a word, alone or with others of their warp: a later writer hears of a reader that is not itself, at that
    /// reader's line, and of one in another warp if there is one.
    #[test]
    fn a_writer_learns_of_another_reader(
        reads in prop::collection::vec((0u32..3, 0u32..29, 0u32..4, 1u32..500), 1..12),
        writer in 0u32..96,
    ) {
        let (mut cells, rules) = (Cells::new(64, true), WarpRules::default());
        let mut readers = BTreeSet::new();
        for (warp, first, others, line) in reads {
            let first = warp * LANES as u32 + first;
            let actor = if others == 0 { first } else { in_warp(first + others, line) };
            cells.touch((8, 4), Stamp::new(1, actor, first, line, false), Stamp::floor(1), false, &rules);
            readers.extend((first..=first + others).map(|thread| (thread, line)));
        }
        let mine = Stamp::new(1, writer, writer, 7, false);
        let found = cells.touch((8, 4), mine, Stamp::floor(1), true, &rules);
        let others: BTreeSet<_> = readers.iter().filter(|(thread, _)| *thread != writer).collect();
        prop_assert_eq!(found.is_some(), !others.is_empty());
        if let Some(conflict) = found {
            let named = partner(conflict.other, writer);
            prop_assert!(others.contains(&named), "{named:?} of {others:?}");
            let is_far = |thread: u32| thread / LANES as u32 != writer / LANES as u32;
            let has_far = others.iter().any(|(thread, _)| is_far(*thread));
            prop_assert_eq!(is_far(named.0), has_far);
        }
    }
}

#[test]
fn a_lane_that_has_read_with_others_does_not_know_that_they_have() {
    let mut block = BlockCheck::new(64, 64);
    let read = |first: u32, last: u32, time| Stamp::new(time, in_warp(last, 1), first, 1, false);
    for (writer, met, is_race) in [
        (46, None, true),
        (47, None, true),
        (46, Some(0b11 << 14), false),
        (46, Some(0b01 << 14), true),
        (45, Some(0b111 << 13), false),
        (45, Some(0b011 << 13), true),
    ] {
        block.meet();
        let floor = Stamp::floor(block.floor);
        let stamp = read(46, 47, block.time);
        block.cells.touch((8, 4), stamp, floor, false, &block.rules);
        if let Some(met) = met {
            block.sync_lanes(1, met);
        }
        let mine = Stamp::new(block.time, writer, writer, 7, false);
        let found = block.cells.touch((8, 4), mine, floor, true, &block.rules);
        assert_eq!(found.is_some(), is_race, "{writer} {met:?}");
    }
}
