use super::direct_mapped::low_bits;
use super::{Organization, OrganizationEntry};

/// Several places for each group, the least recently used one making room. As many ways as groups make it fully associative.
pub const ENTRY: OrganizationEntry = OrganizationEntry {
    name: "set-associative",
    summary: "several places for each group, the least recently used makes room",
    parameters: &["size", "ways"],
    build: |spec| Organization::of_groups(spec, spec.ways, low_bits),
};
