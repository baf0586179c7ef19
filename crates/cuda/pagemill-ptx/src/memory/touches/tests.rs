use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const BASE: u64 = 1 << 40;

fn access(segments: &[u64]) -> MemoryAccess {
    let mut access = MemoryAccess {
        space: AccessSpace::Global,
        ..MemoryAccess::default()
    };
    for (lane, segment) in segments.iter().enumerate() {
        access.mask |= 1 << lane;
        access.listed[lane] = BASE + segment * TOUCH_BYTES + 5;
    }
    access
}

/// The run of known segments around one, found segment by segment.
fn expected(known: &BTreeSet<u64>, segment: u64) -> Range<u64> {
    let mut run = segment..segment;
    while run.start > 0 && known.contains(&(run.start - 1)) {
        run.start -= 1;
    }
    while known.contains(&run.end) {
        run.end += 1;
    }
    let address = |segment: u64| BASE + segment * TOUCH_BYTES;
    address(run.start)..address(run.end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn runs_and_first_touches_equal_those_of_a_set(
        words in 1u64..300,
        runs in prop::collection::vec((0u64..19_200, 0u64..9_000), 0..6),
        touched in prop::collection::vec(prop::collection::vec(0u64..19_200, 1..32), 0..40),
    ) {
        let mut known = BTreeSet::new();
        for (start, length) in runs {
            known.extend((start..start + length).filter(|segment| *segment < words * 64));
        }
        let mut bits = vec![0u64; words as usize];
        for segment in &known {
            bits[(segment / 64) as usize] |= 1 << (segment % 64);
        }
        let mut touches = Touches::new(BASE, bits);
        let mut in_order = Vec::new();
        for segments in touched {
            let mut is_new = false;
            for segment in &segments {
                if *segment < words * 64 && known.insert(*segment) {
                    in_order.push(BASE / TOUCH_BYTES + segment);
                    is_new = true;
                }
            }
            prop_assert_eq!(touches.note(&access(&segments)), is_new);
            let all = 0..u64::MAX;
            for segment in segments {
                let free = touches.free_around(BASE + segment * TOUCH_BYTES, all.clone());
                match segment < words * 64 {
                    true => prop_assert_eq!(free, expected(&known, segment)),
                    false => prop_assert_eq!(free, all.clone()),
                }
            }
        }
        let segments: Vec<u64> = touches.take().iter().map(|touch| touch.segment).collect();
        prop_assert_eq!(segments, in_order);
    }
}
