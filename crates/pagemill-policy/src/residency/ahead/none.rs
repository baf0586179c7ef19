use super::AheadEntry;

/// Nothing comes beyond the served block, as in NVIDIA's driver.
pub const ENTRY: AheadEntry = AheadEntry {
    name: "none",
    summary: "no block comes without a fault of its own",
    build: || None,
};
