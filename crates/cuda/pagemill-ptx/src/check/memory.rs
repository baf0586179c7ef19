//! Memory accesses as the checks see them.

use super::{Checker, Finding, Shadow};
use crate::exec::trap::Trap;
use crate::launch::Launch;
use crate::memory::DeviceMemory;

impl DeviceMemory {
    /// Looks for mistakes in all later functional launches. Memory has values from the start, unless
    /// [`DeviceMemory::forget_values`] says otherwise.
    pub fn set_checked(&mut self) {
        self.checker.get_or_insert_default();
    }

    /// Whether mistakes are looked for.
    pub(crate) fn is_checked(&self) -> bool {
        self.checker.is_some()
    }

    /// The `bytes` bytes from `address` on have no value. In checked runs, a kernel that reads them makes a mistake.
    pub fn forget_values(&mut self, address: u64, bytes: u64) {
        if !self.is_checked() {
            return;
        }
        let Some(at) = self.index_of(address) else {
            return;
        };
        let allocation = &mut self.allocations[at];
        let (size, offset) = (allocation.bytes() as usize, address - allocation.address());
        if offset == 0 && bytes as usize >= size {
            allocation.shadow.forget_values(size);
        } else {
            allocation
                .shadow
                .forget_range(size, offset as usize, bytes as usize);
        }
    }

    /// Which of the `bytes` bytes from `address` on have no value, as offsets of the first and behind the last of each run;
    /// none where mistakes are not looked for.
    pub fn without_values(&self, address: u64, bytes: u64) -> Vec<(u64, u64)> {
        let Some(at) = self.index_of(address).filter(|_| self.is_checked()) else {
            return Vec::new();
        };
        let allocation = &self.allocations[at];
        let start = (address - allocation.address()) as usize;
        match &allocation.shadow.valid {
            Some(valid) => valid.holes(start, bytes as usize),
            None => Vec::new(),
        }
    }

    /// The mistakes that were found, each kind once for each source line, in the order in which they were found.
    pub fn findings(&self) -> &[Finding] {
        self.checker
            .as_ref()
            .map_or(&[], |checker| checker.findings())
    }

    /// Those that were found since the last call and had not been found before.
    pub fn take_new_findings(&mut self) -> Vec<Finding> {
        self.checker
            .as_mut()
            .map_or_else(Vec::new, |checker| checker.take_new())
    }

    pub(crate) fn begin_launch(&mut self, launch: &Launch) {
        let wraps = self
            .checker
            .as_mut()
            .is_some_and(|checker| checker.begin(launch.kernel(), launch.grid, launch.block));
        if wraps {
            for allocation in &mut self.allocations {
                allocation.shadow.clear_cells();
            }
        }
    }

    pub(crate) fn note_trap(&mut self, trap: &Trap) {
        if let Some(checker) = &mut self.checker {
            checker.note_trap(Finding::of_trap(trap));
        }
    }

    pub(super) fn take_checker(&mut self) -> Option<Box<Checker>> {
        self.checker.take()
    }

    pub(super) fn put_checker(&mut self, checker: Box<Checker>) {
        self.checker = Some(checker);
    }

    pub(super) fn take_shadow(&mut self, at: usize) -> Shadow {
        std::mem::take(&mut self.allocations[at].shadow)
    }

    pub(super) fn put_shadow(&mut self, at: usize, shadow: Shadow) {
        self.allocations[at].shadow = shadow;
    }

    /// First address and size of an allocation.
    pub(super) fn extent(&self, at: usize) -> (u64, usize) {
        let (base, data) = self.data(at);
        (base, data.len())
    }

    /// Whether an allocation is the heap of `malloc` in kernels.
    pub(super) fn is_heap(&self, at: usize) -> bool {
        let address = self.allocations[at].address();
        self.heap
            .as_ref()
            .is_some_and(|(start, _)| *start == address)
    }

    /// Whether `malloc` in a kernel has handed out that address.
    pub(super) fn is_taken(&self, address: u64) -> bool {
        let heap = self.heap.as_ref();
        heap.is_some_and(|(start, heap)| heap.is_taken(address.wrapping_sub(*start)))
    }
}
