//! The replaced functions.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::next;
use crate::pool::{PAGE_BYTES, least_bytes, takes_plain_mappings, with_blocks};

/// Memory of the pool for so many bytes, if that is what they get.
fn from_pool(bytes: usize) -> Option<*mut c_void> {
    if bytes < least_bytes() {
        return None;
    }
    let address = with_blocks(|blocks| blocks.get(bytes))??;
    Some(ptr::with_exposed_provenance_mut(address))
}

/// Length of the block that starts at `memory`, if it is of the pool.
fn pool_bytes(memory: *mut c_void) -> Option<usize> {
    let address = memory.addr();
    if memory.is_null() || !address.is_multiple_of(PAGE_BYTES) {
        return None;
    }
    with_blocks(|blocks| blocks.bytes_of(address))?
}

fn give_back(memory: *mut c_void, bytes: usize) -> c_int {
    // In one step: no other thread may get the addresses, and enter them, in between.
    let result = with_blocks(|blocks| {
        // SAFETY: the caller of `free` or `munmap` uses the block no more, and it is ours to unmap.
        let result = unsafe { next::munmap(memory, bytes) };
        blocks.put(memory.addr());
        result
    });
    result.unwrap_or(-1)
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(bytes: usize) -> *mut c_void {
    from_pool(bytes).unwrap_or_else(|| next::malloc(bytes))
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let all = count.checked_mul(bytes);
    all.and_then(from_pool)
        .unwrap_or_else(|| next::calloc(count, bytes))
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    match pool_bytes(memory) {
        Some(bytes) => {
            give_back(memory, bytes);
        }
        // SAFETY: it is not of the pool, so it is of the C library.
        None => unsafe { next::free(memory) },
    }
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(old_bytes) = pool_bytes(memory) else {
        // SAFETY: it is not of the pool, so it is of the C library.
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
        give_back(memory, old_bytes);
    }
    new
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    match pool_bytes(memory) {
        Some(bytes) => bytes,
        // SAFETY: it is not of the pool, so it is of the C library, or null.
        None => unsafe { next::malloc_usable_size(memory) },
    }
}

/// Whether an anonymous mapping is one that the pool can stand for.
fn is_for_pool(start: *mut c_void, bytes: usize, access: c_int, flags: c_int) -> bool {
    let is_private = flags & libc::MAP_ANONYMOUS != 0 && flags & libc::MAP_PRIVATE != 0;
    let is_placed = !start.is_null() || flags & (libc::MAP_FIXED | libc::MAP_GROWSDOWN) != 0;
    let is_usual = access == libc::PROT_READ | libc::PROT_WRITE;
    let is_huge = flags & libc::MAP_HUGETLB != 0;
    let huge_size = (flags >> libc::MAP_HUGE_SHIFT) & libc::MAP_HUGE_MASK;
    let is_2_mib = huge_size == 0 || huge_size == libc::MAP_HUGE_2MB >> libc::MAP_HUGE_SHIFT;
    let is_wanted = (is_huge && is_2_mib) || (!is_huge && takes_plain_mappings());
    is_private && !is_placed && is_usual && is_wanted && bytes.is_multiple_of(PAGE_BYTES)
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    start: *mut c_void,
    bytes: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    if bytes > 0
        && is_for_pool(start, bytes, access, flags)
        && let Some(Some(address)) = with_blocks(|blocks| blocks.get(bytes))
    {
        return ptr::with_exposed_provenance_mut(address);
    }
    // SAFETY: the caller's promise.
    unsafe { next::mmap(start, bytes, access, flags, file, offset) }
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    start: *mut c_void,
    bytes: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off64_t,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { mmap(start, bytes, access, flags, file, offset) }
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(start: *mut c_void, bytes: usize) -> c_int {
    match pool_bytes(start) {
        Some(whole) if bytes == whole => give_back(start, whole),
        // A part of a block: the lease lasts until the process ends.
        // SAFETY: the caller's promise.
        _ => unsafe { next::munmap(start, bytes) },
    }
}
