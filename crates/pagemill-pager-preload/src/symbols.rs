//! The replaced functions.

use pagemill_mapping::next;
use std::ffi::c_void;
use std::ptr;

use crate::calls::{CALLS, LENT, give_up};
use crate::paged::least_bytes;

pagemill_mapping::replace_memory_calls!(all CALLS);

/// Paged memory for so many bytes, if that is what they get.
fn paged(bytes: usize) -> Option<*mut c_void> {
    if bytes < least_bytes() {
        return None;
    }
    LENT.lend_heap(bytes).map(ptr::with_exposed_provenance_mut)
}

/// Length of the block that starts at `memory`, if it is paged.
fn paged_bytes(memory: *mut c_void) -> Option<usize> {
    LENT.heap_bytes(memory.addr())
}

fn free_paged(memory: *mut c_void, bytes: usize) {
    give_up(memory.addr()..memory.addr() + bytes);
    LENT.free_heap(memory.addr());
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(bytes: usize) -> *mut c_void {
    paged(bytes).unwrap_or_else(|| next::malloc(bytes))
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let all = count.checked_mul(bytes);
    all.and_then(paged)
        .unwrap_or_else(|| next::calloc(count, bytes))
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    match paged_bytes(memory) {
        Some(bytes) => free_paged(memory, bytes),
        // SAFETY: it is not paged, so it is the next allocator's.
        None => unsafe { next::free(memory) },
    }
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(old_bytes) = paged_bytes(memory) else {
        // SAFETY: it is not paged, so it is the next allocator's.
        return unsafe { next::realloc(memory, bytes) };
    };
    if bytes != 0 && bytes <= old_bytes {
        return memory;
    }
    let new = if bytes == 0 {
        ptr::null_mut()
    } else {
        malloc(bytes)
    };
    if !new.is_null() {
        // SAFETY: both are allocated, with at least `old_bytes` bytes each.
        unsafe { ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), old_bytes) };
    }
    if bytes == 0 || !new.is_null() {
        free_paged(memory, old_bytes);
    }
    new
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    match paged_bytes(memory) {
        Some(bytes) => bytes,
        // SAFETY: it is not paged, so it is the next allocator's, or null.
        None => unsafe { next::malloc_usable_size(memory) },
    }
}
