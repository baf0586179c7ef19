//! The replaced functions: glibc's promises, where the allocator's differ.

use std::ffi::{c_int, c_void};
use std::ptr;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_usable_size, mi_zalloc,
};

/// What glibc aligns everything to; the allocator aligns to it from 9 bytes on.
const ALIGNMENT: usize = 16;
const LEAST_BYTES: usize = 9;

/// Every page that Linux has on the machines that the module is for.
const PAGE_BYTES: usize = 4096;

#[cold]
fn refuse(errno: c_int) -> *mut c_void {
    // SAFETY: the address of this thread's error number.
    unsafe { *libc::__errno_location() = errno };
    ptr::null_mut()
}

#[inline]
fn or_no_memory(memory: *mut c_void) -> *mut c_void {
    if memory.is_null() {
        return refuse(libc::ENOMEM);
    }
    memory
}

#[inline]
fn new(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    or_no_memory(unsafe { mi_malloc(bytes.max(LEAST_BYTES)) })
}

#[inline]
fn new_zeroed(count: usize, bytes: usize) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: any size may be asked for.
        Some(bytes) => or_no_memory(unsafe { mi_zalloc(bytes.max(LEAST_BYTES)) }),
        None => refuse(libc::ENOMEM),
    }
}

/// `alignment` is a power of two.
fn new_aligned(alignment: usize, bytes: usize) -> *mut c_void {
    if alignment <= ALIGNMENT {
        return new(bytes);
    }
    // SAFETY: any size may be asked for, and the alignment is a power of two.
    or_no_memory(unsafe { mi_malloc_aligned(bytes.max(LEAST_BYTES), alignment) })
}

/// As glibc's `memalign`: to the next power of two.
fn new_rounded(alignment: usize, bytes: usize) -> *mut c_void {
    match alignment.checked_next_power_of_two() {
        Some(alignment) => new_aligned(alignment, bytes),
        None => refuse(libc::EINVAL),
    }
}

fn new_pages(bytes: usize) -> *mut c_void {
    match bytes.checked_next_multiple_of(PAGE_BYTES) {
        Some(bytes) => new_aligned(PAGE_BYTES, bytes),
        None => refuse(libc::ENOMEM),
    }
}

/// # Safety
/// `memory` came from here, or is null.
#[inline]
unsafe fn resize(memory: *mut c_void, bytes: usize) -> *mut c_void {
    if memory.is_null() {
        return new(bytes);
    }
    if bytes == 0 {
        // SAFETY: the program has this block from the allocator and gives it up. glibc frees and returns null.
        unsafe { mi_free(memory) };
        return ptr::null_mut();
    }
    // SAFETY: the program has this block from the allocator, and uses only the new one from now on.
    or_no_memory(unsafe { mi_realloc(memory, bytes.max(LEAST_BYTES)) })
}

/// Defines functions that replace those of the C library.
macro_rules! replaced {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
    )*};
}

replaced! {
    malloc(bytes: usize) -> *mut c_void { new(bytes) }
    calloc(count: usize, bytes: usize) -> *mut c_void { new_zeroed(count, bytes) }
    realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
        // SAFETY: a block of `malloc`'s family or null, that the program has not freed: what C demands of `realloc`.
        unsafe { resize(memory, bytes) }
    }
    free(memory: *mut c_void) {
        // SAFETY: a block of `malloc`'s family or null, that the program has not freed: what C demands of `free`.
        unsafe { mi_free(memory) }
    }
    reallocarray(memory: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
        match count.checked_mul(bytes) {
            // SAFETY: a block of `malloc`'s family or null, that the program has not freed: what it demands of `realloc`.
            Some(bytes) => unsafe { resize(memory, bytes) },
            None => refuse(libc::ENOMEM),
        }
    }
    posix_memalign(place: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
        if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
            return libc::EINVAL;
        }
        let memory = new_aligned(alignment, bytes);
        if memory.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: POSIX demands that the program has room for a pointer there.
        unsafe { place.write(memory) };
        0
    }
    memalign(alignment: usize, bytes: usize) -> *mut c_void { new_rounded(alignment, bytes) }
    aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void { new_rounded(alignment, bytes) }
    valloc(bytes: usize) -> *mut c_void { new_aligned(PAGE_BYTES, bytes) }
    pvalloc(bytes: usize) -> *mut c_void { new_pages(bytes) }
    malloc_usable_size(memory: *mut c_void) -> usize {
        // SAFETY: the program asks about a block of this allocator that it has not freed, or null.
        unsafe { mi_usable_size(memory) }
    }
}

pagemill_mapping::jumps!(
    HEAP_JUMPS, false: malloc, calloc, realloc, free, reallocarray, posix_memalign, memalign, aligned_alloc, valloc, pvalloc,
    malloc_usable_size,
);
