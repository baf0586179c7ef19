use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn bits_are_those_of_a_list(steps in prop::collection::vec((0usize..300, 0usize..200, any::<bool>()), 0..20), at in 0usize..300, bytes in 0usize..200) {
        let mut valid = Valid::none(300);
        let mut list = [false; 320];
        for (offset, bytes, has_value) in steps {
            valid.set(offset, bytes, has_value);
            let end = (offset + bytes).min(320);
            list[offset.min(end)..end].fill(has_value);
        }
        prop_assume!(at + bytes <= 300);
        prop_assert_eq!(valid.all(at, bytes), list[at..at + bytes].iter().all(|&bit| bit));
        let holes = valid.holes(at, bytes);
        let in_holes: Vec<usize> = holes.iter().flat_map(|&(start, end)| at + start as usize..at + end as usize).collect();
        let unset: Vec<usize> = (at..at + bytes).filter(|&byte| !list[byte]).collect();
        prop_assert_eq!(in_holes, unset);
        prop_assert_eq!(valid.any(at, bytes), list[at..at + bytes].iter().any(|&bit| bit));
    }
}
