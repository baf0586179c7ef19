use super::direct_mapped::low_bits;
use super::{Organization, OrganizationEntry};

/// One place for each entry; a miss brings that entry alone. What grouping is measured against.
pub const ENTRY: OrganizationEntry = OrganizationEntry {
    name: "per-entry",
    summary: "one place for each entry; a miss brings that entry alone",
    parameters: &["size"],
    build: |spec| Organization {
        line_entries: 1,
        sets: spec.groups() * spec.layout.group_entries,
        ways: 1,
        set_of: low_bits,
    },
};
