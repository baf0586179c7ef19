//! How much memory a program has at a time.

use serde::{Deserialize, Serialize};

/// Bytes that a program allocated, and the most that it had at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocated {
    /// Bytes of all allocations, also of those that were freed.
    pub total_bytes: u64,
    /// Most GPU memory that would have held everything at once: managed memory in whole pages, and what never moves.
    pub peak_bytes: u64,
    /// Most memory at a time that never moves.
    pub fixed_peak_bytes: u64,
    /// The same for what is there now.
    pub live_bytes: u64,
}

impl Allocated {
    /// `bytes` more, which take `footprint_bytes` of GPU memory.
    pub(in crate::gpu) fn add(&mut self, bytes: u64, footprint_bytes: u64) {
        self.total_bytes += bytes;
        self.live_bytes += footprint_bytes;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
    }

    /// Memory that takes `footprint_bytes` of GPU memory is freed.
    pub(in crate::gpu) fn remove(&mut self, footprint_bytes: u64) {
        self.live_bytes = self.live_bytes.saturating_sub(footprint_bytes);
    }

    /// Memory that never moves is `bytes` now.
    pub(in crate::gpu) fn note_fixed(&mut self, bytes: u64) {
        self.fixed_peak_bytes = self.fixed_peak_bytes.max(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_was_there_at_once() {
        let mut allocated = Allocated::default();
        allocated.add(5, 8);
        allocated.add(9, 16);
        allocated.remove(16);
        allocated.add(3, 8);
        assert_eq!((allocated.total_bytes, allocated.peak_bytes), (17, 24));
        allocated.add(20, 24);
        assert_eq!(allocated.peak_bytes, 40);
    }
}
