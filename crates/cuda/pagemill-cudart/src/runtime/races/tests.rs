use proptest::prelude::*;

use super::*;

fn uses(ranges: &[(u64, u64, bool)]) -> Uses {
    let mut uses = Uses::default();
    let mut at = 0;
    for &(gap, bytes, writes) in ranges {
        let (start, end) = (at + gap, at + gap + bytes);
        at = end;
        let own = Use {
            start,
            end,
            trace: None,
        };
        match writes {
            true => uses.writes.push(own),
            false => uses.reads.push(own),
        }
    }
    uses
}

fn bytes(list: &[Use]) -> Vec<u64> {
    list.iter().flat_map(|own| own.start..own.end).collect()
}

fn ranges() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    prop::collection::vec((0u64..6, 1u64..6, any::<bool>()), 0..12)
}

proptest! {
    #[test]
    fn two_deeds_clash_where_they_share_a_byte_that_one_writes(first in ranges(), second in ranges()) {
        let (earlier, later) = (uses(&first), uses(&second));
        let shares = |a: &[Use], b: &[Use]| {
            let b = bytes(b);
            bytes(a).iter().any(|byte| b.contains(byte))
        };
        let expected = shares(&earlier.writes, &later.writes)
            || shares(&earlier.writes, &later.reads)
            || shares(&earlier.reads, &later.writes);
        let found = clashes(&earlier, &later);
        prop_assert_eq!(!found.is_empty(), expected);
        for clash in found {
            prop_assert!(clash.earlier_writes || clash.later_writes);
            let at = clash.address();
            prop_assert!((clash.earlier.start..clash.earlier.end).contains(&at));
            prop_assert!((clash.later.start..clash.later.end).contains(&at));
        }
    }

    #[test]
    fn written_bytes_are_counted(first in ranges(), start in 0u64..40, length in 0u64..40) {
        let own = uses(&first);
        let all = bytes(&own.writes);
        let expected = (start..start + length).filter(|byte| all.contains(byte)).count() as u64;
        prop_assert_eq!(own.written(start, start + length).0, expected);
    }
}
