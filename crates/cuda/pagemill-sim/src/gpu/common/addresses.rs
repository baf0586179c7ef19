//! Where memory of each kind lies.

/// Managed memory begins here; everything below and beyond is always on the GPU.
pub(crate) const MANAGED_BASE: u64 = 1 << 40;
