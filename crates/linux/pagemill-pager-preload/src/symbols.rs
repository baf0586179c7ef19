//! The replaced functions.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::ptr;

use pagemill_mapping::jumps::Jump;
use pagemill_mapping::kernel::for_c;
use pagemill_mapping::{Call, Source, next};

use crate::allocator::{library_bytes, library_free, library_malloc};
use crate::callers::is_library;
use crate::calls::{CALLS, give_up};
use crate::descriptors::{self, close_for};
use crate::paged::{LENT, Paged, admits, least_bytes};

pagemill_mapping::replace_memory_calls!(all CALLS);
pagemill_mapping::replace_ring_calls!(CALLS);
pagemill_mapping::replace_aligned_malloc!(aligned);
pagemill_mapping::jumps!(HEAP_JUMPS, false: malloc, calloc, realloc, free, malloc_usable_size);

/// All entries of the C library that lead here.
pub const JUMPS: [&[Jump]; 5] = [
    ADVICE_JUMPS,
    MEMORY_JUMPS,
    DISPATCH_JUMPS,
    HEAP_JUMPS,
    ALIGNED_JUMPS,
];

/// Paged memory for so many bytes at a multiple of `alignment`, if that is what they get.
fn aligned(alignment: usize, bytes: usize) -> Option<*mut c_void> {
    let is_large = bytes >= least_bytes() && alignment.is_power_of_two();
    if !is_large || !admits(bytes, 0) {
        return None;
    }
    let start = LENT.lend_heap(bytes, alignment)?;
    Some(ptr::with_exposed_provenance_mut(start))
}

/// Length of the block that starts at `memory`, if it is paged.
fn paged_bytes(memory: *mut c_void) -> Option<usize> {
    LENT.heap_bytes(memory.addr())
}

fn free_paged(memory: *mut c_void, bytes: usize) {
    give_up(memory.addr()..memory.addr() + bytes);
    LENT.free_heap(memory.addr());
}

/// Gives back what a paged block has beyond `bytes`.
fn shrink(memory: *mut c_void, bytes: usize, old_bytes: usize) {
    let kept = bytes.next_multiple_of(Paged::GRANULE);
    if kept < old_bytes && paged_bytes(memory).is_some() {
        give_up(memory.addr() + kept..memory.addr() + old_bytes);
        LENT.shrink_heap(memory.addr(), bytes);
    }
}

/// Exports a function that hands its return address on as one more argument.
macro_rules! with_caller {
    ($name:ident, $then:path, $x86:literal, $arm:literal) => {
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!($x86, "jmp {then}", then = sym $then);
            #[cfg(target_arch = "aarch64")]
            naked_asm!($arm, "b {then}", then = sym $then);
        }
    };
}

with_caller!(malloc, malloc_for, "mov rsi, [rsp]", "mov x1, x30");
with_caller!(calloc, calloc_for, "mov rdx, [rsp]", "mov x2, x30");
with_caller!(close, close_for, "mov rsi, [rsp]", "mov x1, x30");
with_caller!(realloc, realloc_for, "mov rdx, [rsp]", "mov x2, x30");

extern "C" fn malloc_for(bytes: usize, caller: usize) -> *mut c_void {
    let memory = aligned(1, bytes).or_else(|| of_library(bytes, caller));
    // SAFETY: any size may be asked for.
    memory.unwrap_or_else(|| unsafe { next::malloc(bytes) })
}

extern "C" fn calloc_for(count: usize, bytes: usize, caller: usize) -> *mut c_void {
    let all = count.checked_mul(bytes);
    if let Some(memory) = all.and_then(|all| aligned(1, all)) {
        return memory;
    }
    let Some((memory, all)) = all.and_then(|all| Some((of_library(all, caller)?, all))) else {
        // SAFETY: any size may be asked for.
        return unsafe { next::calloc(count, bytes) };
    };
    // SAFETY: the block has so many bytes.
    unsafe { memory.cast::<u8>().write_bytes(0, all) };
    memory
}

/// A block for the C library itself, where the program has an allocator of its own.
fn of_library(bytes: usize, caller: usize) -> Option<*mut c_void> {
    if !is_library(caller) {
        return None;
    }
    let memory = library_malloc(bytes);
    (!memory.is_null()).then_some(memory.cast())
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(memory: *mut c_void) {
    if let Some(bytes) = library_bytes(memory.cast()) {
        // SAFETY: the block has the library's head, which tells its bytes, and the program frees it once.
        return unsafe { library_free(memory.cast(), bytes) };
    }
    match paged_bytes(memory) {
        Some(bytes) => free_paged(memory, bytes),
        // SAFETY: it is not paged, so it is the next allocator's.
        None => unsafe { next::free(memory) },
    }
}

unsafe extern "C" fn realloc_for(memory: *mut c_void, bytes: usize, caller: usize) -> *mut c_void {
    if memory.is_null() {
        return malloc_for(bytes, caller);
    }
    let Some(old_bytes) = library_bytes(memory.cast()).or_else(|| paged_bytes(memory)) else {
        // SAFETY: it is neither, so it is the next allocator's.
        return unsafe { next::realloc(memory, bytes) };
    };
    if bytes != 0 && bytes <= old_bytes {
        shrink(memory, bytes, old_bytes);
        return memory;
    }
    let new = match bytes {
        0 => ptr::null_mut(),
        _ => malloc_for(bytes, caller),
    };
    if !new.is_null() {
        // SAFETY: both are allocated, with at least `old_bytes` bytes each.
        unsafe { ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), old_bytes) };
    }
    if bytes == 0 || !new.is_null() {
        // SAFETY: the caller gives it up.
        unsafe { free(memory) };
    }
    new
}

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    match library_bytes(memory.cast()).or_else(|| paged_bytes(memory)) {
        Some(bytes) => bytes,
        // SAFETY: it is neither, so it is the next allocator's, or null.
        None => unsafe { next::malloc_usable_size(memory) },
    }
}

/// Exports functions on descriptors and on the process. Where addresses are limited, the pager could keep no more pages.
macro_rules! of_process {
    ($($name:ident, $number:ident, ($($argument:ident: $type:ty),*);)*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let call = Call::new(libc::$number, [$($argument as usize),*]);
            // SAFETY: by the contract of the replaced function, the program may make this call.
            unsafe { for_c(descriptors::answer(&call)) as c_int }
        }
    )*};
}

of_process!(
    close_range, SYS_close_range, (first: u32, last: u32, flags: u32);
    dup3, SYS_dup3, (from: u32, to: u32, flags: u32);
    unshare, SYS_unshare, (flags: u32);
    setns, SYS_setns, (descriptor: u32, kind: u32);
    prctl, SYS_prctl, (option: usize, second: usize, third: usize, fourth: usize, fifth: usize);
    setrlimit, SYS_setrlimit, (resource: usize, limit: usize);
    setrlimit64, SYS_setrlimit, (resource: usize, limit: usize);
    prlimit, SYS_prlimit64, (process: usize, resource: usize, limit: usize, old: usize);
    prlimit64, SYS_prlimit64, (process: usize, resource: usize, limit: usize, old: usize);
);
#[cfg(target_arch = "x86_64")]
of_process!(dup2, SYS_dup2, (from: u32, to: u32););

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: by the contract of the replaced function, the program gives these descriptors up.
    unsafe { close_range(first.max(0) as u32, u32::MAX, 0) };
}
