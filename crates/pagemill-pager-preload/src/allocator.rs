//! Memory of this library itself.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

unsafe extern "C" {
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

/// The C library's heap, by names that are not replaced.
struct Plain;

/// What `__libc_realloc` keeps.
const USUAL_ALIGNMENT: usize = 16;

// SAFETY: the C library's functions keep the contract.
unsafe impl GlobalAlloc for Plain {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let alignment = layout.align().max(USUAL_ALIGNMENT);
        // SAFETY: any size may be asked for, with an alignment that is a power of two.
        unsafe { __libc_memalign(alignment, layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: the caller's promise: it came from here.
        unsafe { __libc_free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= USUAL_ALIGNMENT {
            // SAFETY: the caller's promise: it came from here.
            return unsafe { __libc_realloc(memory.cast(), bytes) }.cast();
        }
        // SAFETY: the caller's promise; both blocks hold as many bytes as are copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(memory, layout.size().min(bytes));
                self.dealloc(memory, layout);
            }
            new
        }
    }
}

#[global_allocator]
static PLAIN: Plain = Plain;
