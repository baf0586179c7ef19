//! Memory of this library itself, which may be called from inside of the program's allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

/// The C library's own allocator, whatever the program uses. An allocator that maps memory with its locks held must not be entered again
/// from there; the C library's maps past this library.
struct OfLibc;

#[global_allocator]
static ALLOCATOR: OfLibc = OfLibc;

/// What the C library aligns everything to.
const ALIGNMENT: usize = 16;

// SAFETY: each function passes on what the C library returns, with the alignment asked for.
unsafe impl GlobalAlloc for OfLibc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size may be asked for; the alignment is a power of two.
        unsafe {
            if layout.align() <= ALIGNMENT {
                return __libc_malloc(layout.size()).cast();
            }
            __libc_memalign(layout.align(), layout.size()).cast()
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: it came from `alloc`.
        unsafe { __libc_free(memory.cast()) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if layout.align() <= ALIGNMENT {
                return __libc_realloc(memory.cast(), bytes).cast();
            }
            let new = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(memory, new, layout.size().min(bytes));
                self.dealloc(memory, layout);
            }
            new
        }
    }
}
