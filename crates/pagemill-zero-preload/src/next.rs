//! The `malloc` that the program would have without this library: the C library's, or that of an allocator that the program was linked with.
//! And one for this library itself, which may be called from inside of that allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function that is looked up at its first call.
struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // SAFETY: ends the process: the C library has all of these.
            unsafe { libc::abort() };
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// The next library's function of a name, as a type.
macro_rules! next {
    ($name:literal as $type:ty) => {{
        static NEXT: Next = Next::new($name);
        std::mem::transmute::<*mut c_void, $type>(NEXT.get())
    }};
}

pub fn malloc(bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(usize) -> *mut c_void;
    // SAFETY: a function of this name has this type. Any size may be asked for.
    unsafe { next!(c"malloc" as Function)(bytes) }
}

pub fn calloc(count: usize, bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(usize, usize) -> *mut c_void;
    // SAFETY: a function of this name has this type. Any size may be asked for.
    unsafe { next!(c"calloc" as Function)(count, bytes) }
}

/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"realloc" as Function)(memory, bytes) }
}

/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn free(memory: *mut c_void) {
    type Function = unsafe extern "C" fn(*mut c_void);
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"free" as Function)(memory) }
}

/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn malloc_usable_size(memory: *mut c_void) -> usize {
    type Function = unsafe extern "C" fn(*mut c_void) -> usize;
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"malloc_usable_size" as Function)(memory) }
}

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
