use super::*;
use pagemill_policy::residency::LeastRecentlyUsed;
use proptest::prelude::*;

proptest! {
    #[test]
    fn victims_equal_the_list_model(limit in 1u64..6, actions in prop::collection::vec((0u8..4, 0usize..10), 1..300)) {
        let mut frames = Frames::new(limit, &LeastRecentlyUsed::ENTRY);
        frames.grow(10);
        let mut model: Vec<usize> = Vec::new();
        for (action, page) in actions {
            let place = model.iter().position(|&held| held == page);
            prop_assert_eq!(frames.holds(page), place.is_some());
            match (action, place) {
                (0, _) => {
                    frames.release(page);
                    model.retain(|&held| held != page);
                }
                (_, Some(place)) => {
                    frames.touch(page);
                    model.remove(place);
                    model.insert(0, page);
                }
                (_, None) => {
                    let victim = (model.len() as u64 == limit).then(|| model.pop().unwrap());
                    prop_assert_eq!(frames.admit(page), victim);
                    model.insert(0, page);
                }
            }
        }
    }
}
