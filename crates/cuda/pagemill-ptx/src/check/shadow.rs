//! What is known of the bytes of one allocation.

use std::ops::Range;

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
    /// The runs of bytes without a value, as offsets from the start of a range: of the first, and behind the last.
    pub(super) fn holes(&self, offset: usize, bytes: usize) -> Vec<(u64, u64)> {
        let mut holes: Vec<(u64, u64)> = Vec::new();
        let mut add = |start: usize, end: usize| match holes.last_mut() {
            Some((_, last)) if *last == start as u64 => *last = end as u64,
            _ => holes.push((start as u64, end as u64)),
        };
        let mut at = 0;
        while at < bytes {
            let low = (offset + at) % 64;
            let count = (64 - low).min(bytes - at);
            let mask = u64::MAX >> (64 - count);
            let unset = match self.bits.get((offset + at) / 64) {
                Some(bits) => !(bits >> low) & mask,
                None => 0,
            };
            if unset == mask {
                add(at, at + count);
            } else {
                let bits = (0..count).filter(|bit| unset >> bit & 1 != 0);
                bits.for_each(|bit| add(at + bit, at + bit + 1));
            }
            at += count;
        }
        holes
    }

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
    pub(super) seen: Seen,
}

/// Where the last launch that touched an allocation did so.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// When that launch began.
    began: u64,
    start: usize,
    end: usize,
}

impl Seen {
    /// The launch that began then touches `start..end`.
    #[inline(always)]
    pub(super) fn widen(&mut self, began: u64, start: usize, end: usize) {
        if self.began == began {
            (self.start, self.end) = (self.start.min(start), self.end.max(end));
        } else {
            *self = Self { began, start, end };
        }
    }

    /// A range that holds all that was touched after `from` and up to `to`.
    pub(super) fn within(&self, from: u64, to: u64) -> Range<usize> {
        match self.began {
            began if began <= from => 0..0,
            began if began == from + 1 && began <= to => self.start..self.end,
            _ => 0..usize::MAX,
        }
    }
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
        self.seen = Seen::default();
        if let Some(cells) = &mut self.cells {
            cells.clear();
        }
    }
}

#[cfg(test)]
mod tests;
