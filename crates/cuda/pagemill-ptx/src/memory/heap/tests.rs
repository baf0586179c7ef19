use super::*;
use proptest::prelude::*;

proptest! {
    /// Against a map of single units: what is handed out is free, large enough, and free again behind its end.
    #[test]
    fn parts_never_overlap_and_come_back(steps in prop::collection::vec((any::<bool>(), 0u64..200, any::<prop::sample::Index>()), 1..80)) {
        const BYTES: u64 = 1024;
        let mut heap = Heap::new(BYTES + 7);
        let mut units = vec![false; (BYTES / ALIGN) as usize];
        let mut held: Vec<(u64, u64)> = Vec::new();
        for (takes, bytes, pick) in steps {
            if takes {
                let wanted = bytes.div_ceil(ALIGN) as usize;
                let fits = wanted > 0 && units.windows(wanted.max(1)).any(|run| run.iter().all(|taken| !taken));
                let found = heap.take(bytes);
                prop_assert_eq!(found.is_some(), fits);
                if let Some(start) = found {
                    prop_assert_eq!(start % ALIGN, 0);
                    for unit in &mut units[(start / ALIGN) as usize..][..wanted] {
                        prop_assert!(!*unit);
                        *unit = true;
                    }
                    held.push((start, bytes));
                }
            } else if !held.is_empty() {
                let (start, bytes) = held.swap_remove(pick.index(held.len()));
                prop_assert!(!heap.give_back(start + 1));
                prop_assert!(heap.give_back(start));
                prop_assert!(!heap.give_back(start));
                units[(start / ALIGN) as usize..][..bytes.div_ceil(ALIGN) as usize].fill(false);
            }
        }
        for (start, _) in held {
            heap.give_back(start);
        }
        prop_assert_eq!(heap.take(BYTES), Some(0));
    }
}
