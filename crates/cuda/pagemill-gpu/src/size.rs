//! Sizes in messages.

/// One mebibyte.
pub const MIB: u64 = 1 << 20;

/// One gibibyte.
pub const GIB: u64 = 1 << 30;

/// `bytes` as people read them: `16.0 GiB`.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_get_a_fitting_unit() {
        assert_eq!(show_bytes(1023), "1023 B");
        assert_eq!(show_bytes(64 << 10), "64.0 KiB");
        assert_eq!(show_bytes(3 * MIB / 2), "1.5 MiB");
        assert_eq!(show_bytes(120 * GIB), "120.0 GiB");
    }
}
