//! The replaced functions.

use pagemill_mapping::{dispatch, next};
use std::ffi::c_void;
use std::ptr;

use crate::pool::POOL;
use crate::settings::least_bytes;
use crate::warning;

pagemill_mapping::replace_memory_calls!(all POOL);
pagemill_mapping::replace_ring_calls!(POOL);
pagemill_mapping::replace_aligned_malloc!(aligned);
pagemill_mapping::jumps!(HEAP_JUMPS, false: malloc, calloc, realloc, free, malloc_usable_size);

/// Before the program's `main`: from now on, all its calls on memory are seen, or nothing comes from the pool.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        let lists = [
            ADVICE_JUMPS,
            MEMORY_JUMPS,
            DISPATCH_JUMPS,
            HEAP_JUMPS,
            ALIGNED_JUMPS,
        ];
        if let Err(cause) = dispatch::begin(&POOL, &lists) {
            warning::fell_back(0, cause, "");
            // Where it cannot become plain, what was lent stays as it is; there is no more.
            let _ = POOL.refuse();
        }
    }
    begin
};

/// Memory of the pool for so many bytes at a multiple of `alignment`, if that is what they get.
fn aligned(alignment: usize, bytes: usize) -> Option<*mut c_void> {
    if bytes < least_bytes() || !alignment.is_power_of_two() {
        return None;
    }
    let start = POOL.lend_heap(bytes, alignment)?;
    Some(ptr::with_exposed_provenance_mut(start))
}

/// Length of the block that starts at `memory`, if it is of the pool.
fn pool_bytes(memory: *mut c_void) -> Option<usize> {
    POOL.heap_bytes(memory.addr())
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    aligned(1, bytes).unwrap_or_else(|| unsafe { next::malloc(bytes) })
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let all = count.checked_mul(bytes);
    let memory = all.and_then(|all| aligned(1, all));
    // SAFETY: any size may be asked for.
    memory.unwrap_or_else(|| unsafe { next::calloc(count, bytes) })
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    match pool_bytes(memory) {
        Some(_) => POOL.free_heap(memory.addr()),
        // SAFETY: it is not of the pool, so it is of the C library.
        None => unsafe { next::free(memory) },
    }
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    let Some(old_bytes) = pool_bytes(memory) else {
        // SAFETY: it is not of the pool, so it is of the C library.
        // SAFETY: any size may be asked for.
        return unsafe { next::realloc(memory, bytes) };
    };
    if bytes != 0 && bytes <= old_bytes {
        POOL.shrink_heap(memory.addr(), bytes);
        return memory;
    }
    let new = match bytes {
        0 => ptr::null_mut(),
        _ => malloc(bytes),
    };
    if !new.is_null() {
        // SAFETY: both are allocated, with at least `old_bytes` bytes each.
        unsafe { ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), old_bytes) };
    }
    if bytes == 0 || !new.is_null() {
        POOL.free_heap(memory.addr());
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
