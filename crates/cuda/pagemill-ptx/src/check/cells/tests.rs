use super::*;
use proptest::prelude::*;

/// Nothing orders anything but the floor.
struct Unordered;

impl Rules for Unordered {
    fn own_past(&self, _: Stamp) -> u64 {
        0
    }

    fn is_ordered(&self, _: Stamp, _: Stamp) -> bool {
        false
    }

    fn join(&self, _: Stamp, mine: Stamp) -> Stamp {
        mine.with_actor(SEVERAL)
    }
}

#[test]
fn a_stamp_holds_its_parts() {
    let stamp = Stamp::new(TIME_MAX, 12_345, 1000, 500, true);
    assert_eq!(stamp.time(), TIME_MAX);
    assert_eq!(stamp.actor(), 12_345);
    assert_eq!((stamp.thread(), stamp.line()), (1000, 500));
    assert!(stamp.is_strong() && stamp > Stamp::floor(TIME_MAX));
    assert_eq!(stamp.with_actor(SEVERAL | 7).thread(), 1000);
    assert!(stamp.with_actor(SEVERAL | 7).is_of_several() && !stamp.is_of_several());
    let later = stamp.at_time_of(Stamp::floor(3));
    assert_eq!((later.time(), later.actor()), (3, 12_345));
}

proptest! {
    /// Against a list of all accesses: a race is a pair on a common byte, of two actors, one of them a write, not both
    /// strong, since the floor. What is found is one, and the first is found among accesses that are not strong.
    #[test]
    fn the_first_race_is_found(steps in prop::collection::vec((0usize..6, 0usize..3, 1u32..4, any::<bool>(), 0u8..8), 1..40)) {
        let mut cells = Cells::new(64, true);
        let mut seen: Vec<(usize, usize, u32, bool, bool)> = Vec::new();
        let mut time = 1;
        for (at, size, actor, is_write, kind) in steps {
            if kind == 0 {
                // A barrier.
                time += 1;
                seen.clear();
                continue;
            }
            let (bytes, is_strong) = (1 << size, kind == 1 && is_write);
            let offset = at * 4 / bytes * bytes;
            let races = seen.iter().any(|&(from, size, other, wrote, strong)| {
                from < offset + bytes && offset < from + size && other != actor && (wrote || is_write) && !(strong && is_strong)
            });
            let mine = Stamp::new(time, actor, 0, 0, is_strong);
            let found = cells.touch((offset, bytes), mine, Stamp::floor(time), is_write, &Unordered);
            prop_assert!(races || found.is_none(), "{found:?} after {seen:?}");
            // A strong access may hide an earlier one.
            let is_plain = !is_strong && seen.iter().all(|(.., strong)| !strong);
            prop_assert!(found.is_some() || !(races && is_plain), "{seen:?}");
            if races {
                break;
            }
            seen.push((offset, bytes, actor, is_write, is_strong));
        }
    }
}

#[test]
fn an_own_atomic_does_not_hide_a_plain_store() {
    let mut cells = Cells::new(8, true);
    let floor = Stamp::floor(1);
    let mut write = |offset, actor, is_strong, floor| {
        let mine = Stamp::new(1, actor, 0, 0, is_strong);
        cells.touch((offset, 4), mine, floor, true, &Unordered)
    };
    assert_eq!(write(0, 1, false, floor), None);
    assert_eq!(write(0, 1, true, floor), None);
    let found = write(0, 2, true, floor).expect("the plain store and another's atomic");
    assert!(found.after_write && !found.other.is_strong());
    assert_eq!(write(4, 1, true, floor), None);
    assert_eq!(write(4, 2, true, floor), None, "atomics do not race");
}

#[test]
fn a_store_before_the_floor_is_history_for_its_atomic() {
    let mut cells = Cells::new(4, true);
    let mut write = |time, actor, is_strong| {
        let mine = Stamp::new(time, actor, 0, 0, is_strong);
        cells.touch((0, 4), mine, Stamp::floor(time), true, &Unordered)
    };
    assert_eq!(write(1, 1, false), None);
    assert_eq!(write(2, 1, true), None);
    assert_eq!(write(2, 2, true), None);
}
