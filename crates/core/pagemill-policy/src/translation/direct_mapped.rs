use super::{Organization, OrganizationEntry};

/// One place for each group, chosen by the low bits of its address: bits 5:3 pick the entry of a group, 16:6 the group,
/// those above are the tag (Guo et al. 2011, section 2.2 and figure 2).
pub const ENTRY: OrganizationEntry = OrganizationEntry {
    name: "direct-mapped",
    summary: "one place for each group of entries; a miss brings the group",
    parameters: &["size"],
    build: |spec| Organization::of_groups(spec, 1, low_bits),
};

/// Neighbors lie in neighboring sets.
pub(super) fn low_bits(line: u64, sets: u32) -> u32 {
    (line & u64::from(sets - 1)) as u32
}

/// The bits of an entry's address that the published cache looks at.
#[cfg(test)]
mod tests {
    use super::super::AttSpec;

    #[test]
    fn bits_16_to_6_are_the_group() {
        let spec = AttSpec::published();
        let organization = (spec.organization.build)(&spec);
        for entry in [0_u64, 1, 7, 8, 16_383, 16_384, 123_456_789] {
            let address = entry * 8;
            let line = entry / u64::from(organization.line_entries);
            assert_eq!(
                u64::from(organization.set_of(line)),
                (address >> 6) & 0x7ff,
                "entry {entry}"
            );
        }
    }
}
