use pagemill_policy::translation::{AttSpec, Lookup, OrganizationEntry, Slot};

use super::ModelCache;

/// Checks what every organization has to keep, on caches small enough to visit each sequence of a few uses.
///
/// Sets are in range; neighbors of one set of lines do not all share a place; a cache behaves as [`ModelCache`] does; a slot
/// names one line at a time.
///
/// # Panics
/// The organization breaks the contract.
pub fn translation_organization_contract(entry: &'static OrganizationEntry) {
    for (groups, group_entries, ways) in [(1, 1, 1), (2, 2, 1), (2, 2, 2), (4, 1, 2), (4, 2, 4)] {
        let mut spec = AttSpec::published();
        spec.organization = entry;
        spec.layout.group_entries = group_entries;
        spec.cache_bytes = groups * spec.layout.group_bytes();
        spec.ways = ways;
        spec.check().expect("the contract's sizes are sound");
        sets_are_in_range(&spec);
        neighbors_have_places_of_their_own(&spec);
        every_sequence_equals_the_model(&spec);
    }
}

fn sets_are_in_range(spec: &AttSpec) {
    let organization = (spec.organization.build)(spec);
    let name = spec.organization.name;
    assert!(organization.line_entries.is_power_of_two(), "{name}");
    let lines = u64::from(organization.sets * organization.ways * organization.line_entries);
    let held = u64::from(spec.groups() * spec.layout.group_entries);
    assert_eq!(lines, held, "{name} holds as many entries as fit");
    for line in (0..5000).chain([u64::MAX >> 8, u64::MAX >> 1, 0x1234_5678_9abc]) {
        assert!(
            organization.set_of(line) < organization.sets,
            "{name}: line {line}"
        );
    }
}

/// A stream that fits is held: no line of a span as large as the cache drives another out.
fn neighbors_have_places_of_their_own(spec: &AttSpec) {
    let mut cache = spec.build().expect("it was checked");
    let entries = u64::from(spec.groups() * spec.layout.group_entries);
    for _ in 0..2 {
        for entry in 0..entries {
            cache.lookup(entry);
        }
    }
    assert!(
        (0..entries).all(|entry| cache.contains(entry)),
        "{}",
        spec.organization.name
    );
}

/// All sequences of five uses among a few entries, near and far, with an invalidation before the last.
fn every_sequence_equals_the_model(spec: &AttSpec) {
    const USES: u32 = 5;
    let reach = u64::from(spec.groups() * spec.layout.group_entries);
    let entries = [0, 1, reach - 1, reach, reach + 1, 3 * reach];
    for sequence in 0..entries.len().pow(USES) {
        let mut cache = spec.build().expect("it was checked");
        let mut model = ModelCache::new((spec.organization.build)(spec));
        let mut held: Vec<(Slot, u64)> = Vec::new();
        let mut rest = sequence;
        for turn in 0..USES {
            let entry = entries[rest % entries.len()];
            rest /= entries.len();
            if turn + 1 == USES {
                assert_eq!(
                    cache.invalidate(entry, entry),
                    model.invalidate(entry, entry)
                );
                held.retain(|&(_, line)| line != cache.line_of(entry));
            }
            let line = cache.line_of(entry);
            let (slot, is_hit) = match cache.lookup(entry) {
                Lookup::Hit(slot) => (slot, true),
                Lookup::Miss(slot) => (slot, false),
            };
            assert_eq!(
                is_hit,
                model.lookup(entry),
                "{} in {sequence}",
                spec.organization.name
            );
            assert!(slot.0 < cache.slots());
            assert_eq!(
                is_hit,
                held.contains(&(slot, line)),
                "a hit is where its miss was"
            );
            held.retain(|&(other, _)| other != slot);
            held.push((slot, line));
        }
    }
}
