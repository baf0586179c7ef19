//! A heap of a preload library's own: never the program's allocator, which may be what calls this library, with its locks held.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr;

use dlmalloc::{Allocator, Dlmalloc};

use crate::kernel::{has_failed, map_plain, perform, unmap};
use crate::lock::Lock;

/// A heap that a forked child can go on with.
pub struct Heap<A> {
    lock: Lock,
    inner: UnsafeCell<Dlmalloc<A>>,
}

// SAFETY: only the holder of the lock uses the inner heap.
unsafe impl<A: Allocator> Sync for Heap<A> {}

impl<A: Allocator> Heap<A> {
    /// Empty.
    pub const fn new(source: A) -> Self {
        Self {
            lock: Lock::new(),
            inner: UnsafeCell::new(Dlmalloc::new_with_allocator(source)),
        }
    }

    /// Acts on the heap while no other thread does.
    pub fn with<T>(&self, act: impl FnOnce(&mut Dlmalloc<A>) -> T) -> T {
        self.lock.take();
        // SAFETY: the lock is held.
        let result = act(unsafe { &mut *self.inner.get() });
        self.lock.release();
        result
    }

    /// Before a fork: no thread is changing the heap then.
    pub fn hold(&self) {
        self.lock.take();
    }

    /// After a fork, in the parent and in the child.
    pub fn let_go(&self) {
        self.lock.release();
    }
}

/// Memory of the kernel's, past the functions that this library replaces.
pub struct KernelPages;

// SAFETY: the kernel's mappings are page-aligned and the caller's alone.
unsafe impl Allocator for KernelPages {
    fn alloc(&self, bytes: usize) -> (*mut u8, usize, u32) {
        match map_plain(bytes) {
            Ok(start) => (ptr::with_exposed_provenance_mut(start), bytes, 0),
            Err(_) => (ptr::null_mut(), 0, 0),
        }
    }

    fn remap(&self, memory: *mut u8, old: usize, new: usize, can_move: bool) -> *mut u8 {
        let flags = if can_move { libc::MREMAP_MAYMOVE } else { 0 };
        let arguments = [memory.addr(), old, new, flags as usize, 0, 0];
        // SAFETY: the heap owns the mapping, and its caller's block is all that is in it.
        let answer = unsafe { perform(libc::SYS_mremap, arguments) };
        if has_failed(answer) {
            return ptr::null_mut();
        }
        ptr::with_exposed_provenance_mut(answer as usize)
    }

    fn free_part(&self, memory: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: the heap owns the mapping, and has no block in this part.
        !has_failed(unsafe { unmap(memory.addr() + new, old - new) })
    }

    fn free(&self, memory: *mut u8, bytes: usize) -> bool {
        // SAFETY: the heap owns the mapping, and has no block in it.
        !has_failed(unsafe { unmap(memory.addr(), bytes) })
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

// SAFETY: the heap keeps the contract.
unsafe impl GlobalAlloc for Heap<KernelPages> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the trait's contract the layout is valid and not empty.
        self.with(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the trait's contract the layout is valid; zeros cost no other promise.
        self.with(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by the trait's contract this heap gave the block out with this layout, and it is not used again.
        self.with(|heap| unsafe { heap.free(memory, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: by the trait's contract this heap gave the block out with this layout, and the new size is not zero.
        self.with(|heap| unsafe { heap.realloc(memory, layout.size(), layout.align(), bytes) })
    }
}
