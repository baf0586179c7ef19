use proptest::prelude::*;

use super::*;

const BLOCKS: u32 = 8;

proptest! {
    #[test]
    fn the_list_is_that_of_a_plain_vector(steps in prop::collection::vec((0u8..3, 0..BLOCKS), 0..100)) {
        let mut list = ChunkList::new(BLOCKS);
        let mut model: Vec<u32> = Vec::new();
        for (kind, block) in steps {
            let is_held = model.contains(&block);
            match kind {
                0 if is_held => continue,
                0 => list.push(block),
                1 => list.remove(block),
                _ => list.renew(block),
            }
            model.retain(|held| *held != block);
            if kind == 0 || kind == 2 && is_held {
                model.push(block);
            }
            prop_assert_eq!(list.broken_invariant(), None);
            prop_assert_eq!(list.oldest_first().collect::<Vec<_>>(), model.clone());
        }
    }
}

#[test]
fn a_broken_list_says_so() {
    let mut list = ChunkList::new(BLOCKS);
    (1..4).for_each(|block| list.push(block));
    let with = |change: fn(&mut ChunkList)| {
        let mut broken = list.clone();
        change(&mut broken);
        broken.broken_invariant()
    };
    assert_eq!(with(|_| ()), None);
    assert!(with(|list| list.len = 2).is_some());
    assert!(with(|list| list.oldest = 2).is_some());
    assert!(with(|list| list.newest = 1).is_some());
}
