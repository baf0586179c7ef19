use super::{Organization, OrganizationEntry};

/// Several places for each group in a set that a hash of its number chooses: tables of many processes, which begin a power of two apart,
/// do not meet in a few sets.
pub const ENTRY: OrganizationEntry = OrganizationEntry {
    name: "hashed-sets",
    summary: "as set-associative, the set chosen by a hash of the whole address",
    parameters: &["size", "ways"],
    build: |spec| Organization::of_groups(spec, spec.ways, set_of),
};

fn set_of(line: u64, sets: u32) -> u32 {
    // Fibonacci hashing (Knuth 1973, section 6.4): neighbors and powers of two spread alike. The top bits are the well mixed ones.
    let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = sets.trailing_zeros();
    hash.checked_shr(u64::BITS - bits).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests;
