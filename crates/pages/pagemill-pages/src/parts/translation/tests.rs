use super::*;
use crate::a100::a100_pcie4_x86;

#[test]
fn a_first_level_that_is_full_holds_up_no_other() {
    let machine = a100_pcie4_x86();
    let spec = machine.translation;
    let mut translations = Translations::new(spec, machine.sm.count, machine.sm.clock);
    let blocks = |count: u32| (0..count).map(|block| block << 9);
    // All are in the second level, and in no first level that is asked below.
    for page in blocks(200) {
        translations.delay(Picos::ZERO, 2, page, false);
    }
    let at = Picos::from_nanos(1_000_000);
    let waits: Vec<Picos> = blocks(200)
        .map(|page| translations.delay(at, 0, page, false))
        .collect();
    let entries = machine.translation.utlb_entries as usize;
    let rounds = (200 / entries) as u64;
    assert!(waits[entries - 1] < Picos(2 * machine.translation.l2_latency.0));
    assert!(waits[199] >= Picos(rounds * machine.translation.l2_latency.0));
    let other = translations.delay(at, 1, 0, false);
    assert!(
        other < Picos(2 * machine.translation.l2_latency.0),
        "{other:?}"
    );
}

#[test]
fn what_is_not_looked_up_is_known_at_once() {
    let machine = a100_pcie4_x86();
    let spec = TranslationSpec {
        looks_up_local: false,
        ..machine.translation
    };
    let mut translations = Translations::new(spec, machine.sm.count, machine.sm.clock);
    let at = Picos::from_nanos(1000);
    assert_eq!(translations.known_at(at, 0, 5, false), (at, true));
    let (known, hit) = translations.known_at(at, 0, 5, true);
    assert!(known >= at + spec.walk_latency && !hit, "{known:?}");
    assert_eq!(translations.counts().0.misses, 1);
}
