use super::*;
use proptest::prelude::*;

fn lanes(f: impl Fn(u64) -> u64) -> Line<u64> {
    Line(std::array::from_fn(|lane| f(lane as u64)))
}

#[test]
fn patterns_are_told_apart() {
    let mut offsets = Line::splat(0);
    let mut find =
        |addresses: Line<u64>, mask| super::find(&addresses, mask, (1000, 200), 4, &mut offsets);
    assert_eq!(
        find(lanes(|lane| 1008 + 4 * lane), u32::MAX),
        Ok(Pattern::Block { start: 8 })
    );
    assert_eq!(
        find(lanes(|_| 1196), u32::MAX),
        Ok(Pattern::Broadcast { at: 196 })
    );
    assert_eq!(
        find(lanes(|lane| 1000 + 8 * (lane % 20)), u32::MAX),
        Ok(Pattern::Scattered)
    );
    assert_eq!(
        find(lanes(|lane| 1100 + 4 * lane), u32::MAX),
        Err(Stray::Outside)
    );
    assert_eq!(
        find(lanes(|lane| 1100 + 4 * lane), 0xffff),
        Ok(Pattern::Scattered)
    );
    assert_eq!(
        find(lanes(|lane| 1002 + 4 * lane), u32::MAX),
        Err(Stray::Misaligned)
    );
    assert_eq!(find(lanes(|_| 996), u32::MAX), Err(Stray::Outside));
}

proptest! {
    #[test]
    fn a_pattern_names_the_same_bytes(start in 0u64..64, stride in 0u64..3, mask in 1u32.., len in 0usize..400) {
        let addresses = lanes(|lane| 4096 + 4 * (start + stride * lane));
        let mut offsets = Line::splat(0);
        let found = find(&addresses, mask, (4096, len), 4, &mut offsets);
        let active = (0..LANES).filter(|lane| mask >> lane & 1 != 0);
        let inside = active.clone().all(|lane| addresses[lane] - 4096 + 4 <= len as u64);
        prop_assert_eq!(found.is_ok(), inside);
        for lane in active {
            let offset = addresses[lane] - 4096;
            match found {
                Ok(Pattern::Block { start }) => prop_assert_eq!(start as u64 + 4 * lane as u64, offset),
                Ok(Pattern::Broadcast { at }) => prop_assert_eq!(at as u64, offset),
                Ok(Pattern::Scattered) => prop_assert_eq!(offsets[lane], offset),
                Err(stray) => prop_assert_eq!(stray, Stray::Outside),
            }
        }
    }
}

#[test]
fn bank_conflicts_count_distinct_words() {
    assert_eq!(bank_replays(&lanes(|lane| 4 * lane), u32::MAX, 4), 0);
    assert_eq!(bank_replays(&lanes(|_| 64), u32::MAX, 4), 0);
    assert_eq!(bank_replays(&lanes(|lane| 8 * lane), u32::MAX, 4), 1);
    assert_eq!(bank_replays(&lanes(|lane| 128 * lane), u32::MAX, 4), 31);
    assert_eq!(bank_replays(&lanes(|lane| 8 * lane), u32::MAX, 8), 0);
    assert_eq!(bank_replays(&lanes(|lane| 16 * lane), u32::MAX, 16), 0);
}
