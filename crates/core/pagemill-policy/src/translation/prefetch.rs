use std::ops::Range;

/// Lines that a transfer fetches early: the `depth` lines after `current`, none past `last`, the line of its last byte.
///
/// The interface knows a transfer's length from its descriptor, so nothing is fetched that the transfer does not need
/// (Guo et al. 2011, section 2.2).
#[inline]
pub fn lines_ahead(current: u64, last: u64, depth: u32) -> Range<u64> {
    let first = current.saturating_add(1);
    let end = last
        .min(current.saturating_add(u64::from(depth)))
        .saturating_add(1);
    first..end.max(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_past_the_transfer() {
        assert_eq!(lines_ahead(3, 10, 2), 4..6);
        assert_eq!(lines_ahead(9, 10, 2), 10..11);
        assert!(lines_ahead(10, 10, 2).is_empty());
        assert!(lines_ahead(3, 10, 0).is_empty());
        assert!(lines_ahead(u64::MAX, u64::MAX, 4).is_empty());
    }
}
