//! `free` in kernels.

use super::DeviceMemory;

impl DeviceMemory {
    /// Whether `address` is on the heap of `malloc` in kernels.
    pub(crate) fn is_on_heap(&self, address: u64) -> bool {
        let start = self.heap.as_ref().map(|(start, _)| *start);
        start.is_some_and(|start| address.wrapping_sub(start) < self.heap_bytes)
    }

    /// `free(address)` in a kernel; whether it was something that `malloc` had returned.
    pub(crate) fn free_on_heap(&mut self, address: u64) -> bool {
        self.note_write();
        let heap = self.heap.as_mut();
        heap.is_some_and(|(start, heap)| heap.give_back(address.wrapping_sub(*start)))
    }
}
