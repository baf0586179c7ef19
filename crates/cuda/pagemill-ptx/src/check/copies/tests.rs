use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn bytes_are_to_come_until_their_threads_have_waited(
        steps in prop::collection::vec((0u32..4, 0usize..60, 1usize..16, any::<bool>()), 0..30),
        at in 0usize..64,
    ) {
        let mut flying = Flying::default();
        let mut model: Vec<(u32, usize, usize)> = Vec::new();
        for (thread, offset, bytes, waits) in steps {
            if waits {
                flying.end(|other| other == thread);
                model.retain(|own| own.0 != thread);
            } else {
                flying.start(thread, (offset, bytes), 80);
                model.push((thread, offset, bytes));
            }
        }
        let expected = model.iter().any(|&(_, offset, bytes)| (offset..offset + bytes).contains(&at));
        prop_assert_eq!(flying.touches(at, 1), expected);
    }
}
