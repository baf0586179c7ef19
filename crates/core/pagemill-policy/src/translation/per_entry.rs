use super::direct_mapped::low_bits;
use super::{Organization, OrganizationEntry};

/// One place for each entry; a miss brings that entry alone. What grouping is measured against.
pub const ENTRY: OrganizationEntry = OrganizationEntry {
    name: "per-entry",
    summary: "one place for each entry; a miss brings that entry alone",
    parameters: &["size"],
    build: |spec| Organization {
        line_entries: 1,
        // As many bytes of entries as the grouped cache, so that what a miss brings is the only difference.
        sets: spec.groups() * spec.layout.group_entries,
        ways: 1,
        set_of: low_bits,
    },
};
