use super::*;
use proptest::prelude::*;

/// The lines of a set of `ways`, the newest first, and the misses in their order.
fn touch(touched: &[u32], ways: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut set, mut misses) = (Vec::new(), Vec::new());
    for page in touched {
        match set.iter().position(|known| known == page) {
            Some(place) => _ = set.remove(place),
            None => misses.push(*page),
        }
        set.insert(0, *page);
        set.truncate(ways);
    }
    (set, misses)
}

proptest! {
    #[test]
    fn a_short_list_does_the_same(
        lists in prop::collection::vec((1_u32..40, prop::collection::vec(0_u32..40, 0..200)), 1..4),
        ways in 1_u8..30,
    ) {
        let mut windows = Windows::new(ways, 250);
        let mut lines = vec![Line::default(); 40];
        let (mut long, mut short) = (Vec::new(), Vec::new());
        for (pages, list) in lists {
            let list: Vec<u32> = list.into_iter().map(|page| page % pages).collect();
            let shortened = windows.shorten(&list, &mut lines);
            prop_assert!(shortened.len() <= list.len());
            short.extend_from_slice(&shortened);
            windows.reuse(shortened);
            long.extend(list);
        }
        for larger in [0, 1, 40] {
            let ways = usize::from(ways) + larger;
            prop_assert_eq!(touch(&short, ways), touch(&long, ways));
        }
    }
}

#[test]
fn what_stays_in_a_set_is_done_once() {
    let mut windows = Windows::new(3, u32::MAX);
    let mut lines = vec![Line::default(); 4];
    let shortened = windows.shorten(&[1, 2, 1, 2, 1, 2, 3, 2, 3, 0], &mut lines);
    assert_eq!(shortened, [1, 2, 3, 0]);
}
