//! Whole numbers in as few bytes as they need: seven bits each, the last without the eighth.

/// Appends `value`.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number that may be negative: small ones of both signs stay short.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Bytes that are read from the front.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// The next number; none at the end or where it has more than 64 bits.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// The next number that may be negative.
    pub(crate) fn take_signed(&mut self) -> Option<i64> {
        let value = self.take()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_is_taken(numbers in prop::collection::vec(any::<(u64, i64)>(), 0..50)) {
            let mut bytes = Vec::new();
            for (unsigned, signed) in &numbers {
                put(&mut bytes, *unsigned);
                put_signed(&mut bytes, *signed);
            }
            let mut reader = Reader(&bytes);
            for (unsigned, signed) in &numbers {
                prop_assert_eq!(reader.take(), Some(*unsigned));
                prop_assert_eq!(reader.take_signed(), Some(*signed));
            }
            prop_assert_eq!(reader.take(), None);
        }
    }
}
