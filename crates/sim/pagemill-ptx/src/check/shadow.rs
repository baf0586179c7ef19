//! What is known of the bytes of one allocation.

use super::cells::Cells;

/// One bit for each byte: whether it has a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Valid {
    bits: Vec<u64>,
}

impl Valid {
    /// Nothing has a value.
    pub(super) fn none(bytes: usize) -> Self {
        Self {
            bits: vec![0; bytes.div_ceil(64)],
        }
    }

    /// Nothing has a value any more.
    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// Sets or clears the bits of a range; what lies outside is ignored.
    pub(super) fn set(&mut self, offset: usize, bytes: usize, has_value: bool) {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        while at < end {
            let (word, low) = (at / 64, at % 64);
            let count = (64 - low).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << low;
            match self.bits.get_mut(word) {
                Some(bits) if has_value => *bits |= mask,
                Some(bits) => *bits &= !mask,
                None => return,
            }
            at += count;
        }
    }

    /// Whether all bytes of a range have a value; what lies outside has.
    #[inline(always)]
    pub(super) fn all(&self, offset: usize, bytes: usize) -> bool {
        let mut at = offset;
        while at < offset + bytes {
            let (word, low) = (at / 64, at % 64);
            let count = (64 - low).min(offset + bytes - at);
            let mask = u64::MAX >> (64 - count);
            match self.bits.get(word) {
                Some(bits) if bits >> low & mask != mask => return false,
                Some(_) => at += count,
                None => return true,
            }
        }
        true
    }
}

impl Valid {
    /// Whether some byte of a range has a value; what lies outside has.
    pub(super) fn any(&self, offset: usize, bytes: usize) -> bool {
        (offset..offset + bytes).any(|at| self.all(at, 1))
    }
}

/// What is known of one allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    /// `None` where every byte has a value.
    pub(super) valid: Option<Valid>,
    /// `None` until a kernel touches it.
    pub(super) cells: Option<Cells>,
}

impl Shadow {
    /// Nothing in an allocation of `bytes` has a value.
    pub(crate) fn forget_values(&mut self, bytes: usize) {
        self.valid = Some(Valid::none(bytes));
    }

    /// Some bytes have no value.
    pub(crate) fn forget_range(&mut self, of: usize, offset: usize, bytes: usize) {
        let all_valid = || {
            let mut valid = Valid::none(of);
            valid.set(0, of, true);
            valid
        };
        let valid = self.valid.get_or_insert_with(all_valid);
        valid.set(offset, bytes, false);
    }

    /// The host writes.
    pub(crate) fn fill(&mut self, of: usize, offset: usize, bytes: usize) {
        if offset == 0 && bytes >= of {
            self.valid = None;
        } else if let Some(valid) = &mut self.valid {
            valid.set(offset, bytes, true);
        }
    }

    /// Forgets all readers and writers.
    pub(crate) fn clear_cells(&mut self) {
        if let Some(cells) = &mut self.cells {
            cells.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_those_of_a_list(steps in prop::collection::vec((0usize..300, 0usize..200, any::<bool>()), 0..20), at in 0usize..300, bytes in 0usize..200) {
            let mut valid = Valid::none(300);
            let mut list = [false; 320];
            for (offset, bytes, has_value) in steps {
                valid.set(offset, bytes, has_value);
                let end = (offset + bytes).min(320);
                list[offset.min(end)..end].fill(has_value);
            }
            prop_assume!(at + bytes <= 300);
            prop_assert_eq!(valid.all(at, bytes), list[at..at + bytes].iter().all(|&bit| bit));
            prop_assert_eq!(valid.any(at, bytes), list[at..at + bytes].iter().any(|&bit| bit));
        }
    }
}
