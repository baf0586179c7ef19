use super::*;

#[test]
fn exactly_the_changed_lines_are_named() {
    let twins = Twins::new(64);
    let mut unit = [7; UNIT_BYTES];
    twins.note(5, &unit);
    assert_eq!(twins.changed_lines(6, &unit), ALL_LINES, "another's");
    unit[0] = 8;
    unit[64 * 3 + 63] = 8;
    unit[UNIT_BYTES - 1] = 8;
    assert_eq!(twins.changed_lines(5, &unit), 1 | 1 << 3 | 1 << 63);
    assert_eq!(twins.changed_lines(5, &unit), ALL_LINES, "forgotten");
    assert_eq!(twins.changed_lines(NO_SLOT, &unit), ALL_LINES);
}

#[test]
fn the_newest_twins_are_kept() {
    let twins = Twins::new(16);
    let slots: Vec<Slot> = (1..=200).collect();
    for &slot in &slots {
        twins.note(slot, &[slot as u8; UNIT_BYTES]);
    }
    // The same slot again takes no other's place.
    twins.note(200, &[200; UNIT_BYTES]);
    let known = |slot: &&Slot| twins.changed_lines(**slot, &[**slot as u8; UNIT_BYTES]) == 0;
    let known: Vec<Slot> = slots.iter().filter(known).copied().collect();
    assert_eq!(known, slots[200 - 32..]);
    assert_eq!(Twins::new(0).changed_lines(1, &[0; UNIT_BYTES]), ALL_LINES);
}
