//! The heap of `malloc` and `free` in kernels: one allocation, parts of which are handed out, first fit.

use std::collections::BTreeMap;

/// Everything on the heap begins at multiples of this.
const ALIGN: u64 = 16;

/// Which parts of the heap are taken; offsets from its start.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    /// Free stretches: start and bytes, never touching each other.
    free: BTreeMap<u64, u64>,
    /// What was handed out: start and bytes.
    taken: BTreeMap<u64, u64>,
}

impl Heap {
    /// `bytes` of free heap.
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes = bytes / ALIGN * ALIGN;
        Self {
            free: (bytes > 0).then_some((0, bytes)).into_iter().collect(),
            taken: BTreeMap::new(),
        }
    }

    /// Where `bytes` are now taken, if there is room; `None` for 0 bytes.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes
            .checked_next_multiple_of(ALIGN)
            .filter(|bytes| *bytes > 0)?;
        let mut stretches = self.free.iter();
        let (&start, &room) = stretches.find(|(_, room)| **room >= bytes)?;
        self.free.remove(&start);
        if room > bytes {
            self.free.insert(start + bytes, room - bytes);
        }
        self.taken.insert(start, bytes);
        Some(start)
    }

    /// Whether the byte at `offset` is handed out.
    pub(crate) fn is_taken(&self, offset: u64) -> bool {
        let before = self.taken.range(..=offset).next_back();
        before.is_some_and(|(start, bytes)| offset - start < *bytes)
    }

    /// Gives back what was handed out at `start`; false if nothing was.
    pub(crate) fn give_back(&mut self, start: u64) -> bool {
        let Some(bytes) = self.taken.remove(&start) else {
            return false;
        };
        let (mut start, mut bytes) = (start, bytes);
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            self.free.remove(&before);
            (start, bytes) = (before, room + bytes);
        }
        if let Some(room) = self.free.remove(&(start + bytes)) {
            bytes += room;
        }
        self.free.insert(start, bytes);
        true
    }
}

#[cfg(test)]
mod tests;
