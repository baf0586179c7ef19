use super::AheadEntry;

/// No prefetch beyond the served block, as in NVIDIA's driver.
pub const ENTRY: AheadEntry = AheadEntry {
    name: "none",
    summary: "no prefetch beyond the 2 MiB block of a fault",
    build: &|| None,
};
