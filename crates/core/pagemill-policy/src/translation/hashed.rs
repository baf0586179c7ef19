use super::{Organization, OrganizationEntry};

/// One place for each group, chosen by all bits of its number folded together: buffers a power of two apart meet rarely.
pub const ENTRY: OrganizationEntry = OrganizationEntry {
    name: "hashed",
    summary: "as direct-mapped, the place chosen by a fold of the whole address",
    parameters: &["size"],
    build: |spec| Organization::of_groups(spec, 1, folded),
};

fn folded(line: u64, sets: u32) -> u32 {
    let bits = sets.trailing_zeros();
    let mut folded = line;
    let mut rest = if bits == 0 { 0 } else { line >> bits };
    // Neighbors still have sets of their own: the higher bits only change which.
    while rest != 0 {
        folded ^= rest;
        rest >>= bits;
    }
    (folded & u64::from(sets - 1)) as u32
}
