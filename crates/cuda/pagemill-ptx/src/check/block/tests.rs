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
