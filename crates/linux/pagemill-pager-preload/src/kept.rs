//! Memory that the kernel reads and writes when a thread ends: it does not wait for pages then, so these stay in frames.

use std::ffi::{c_int, c_void};

use pagemill_mapping::MemoryCalls;
use pagemill_mapping::next::Next;

use crate::paged::LENT;

/// Makes memory plain, and calls the C library's function of this name, which takes three arguments at most.
fn after_plain(next: &Next, memory: std::ops::Range<usize>, arguments: [usize; 3]) -> c_int {
    type Function = unsafe extern "C" fn(usize, usize, usize) -> c_int;
    if let Err(error) = LENT.make_plain(memory) {
        return error;
    }
    let [first, second, third] = arguments;
    // SAFETY: functions of the names below have numbers and addresses as arguments, and the program makes this call.
    unsafe { std::mem::transmute::<*mut c_void, Function>(next.get())(first, second, third) }
}

/// A robust mutex is in a list of its owner, which the kernel walks.
// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_init(
    mutex: *mut libc::pthread_mutex_t,
    attributes: *const libc::pthread_mutexattr_t,
) -> c_int {
    static NEXT: Next = Next::new(c"pthread_mutex_init");
    let mut robust = 0;
    if !attributes.is_null() {
        // SAFETY: not null, so attributes of a mutex by the contract of the replaced function; what cannot be read stays 0.
        unsafe { libc::pthread_mutexattr_getrobust(attributes, &raw mut robust) };
    }
    let is_robust = robust == libc::PTHREAD_MUTEX_ROBUST;
    let bytes = match is_robust {
        true => size_of::<libc::pthread_mutex_t>(),
        false => 0,
    };
    let memory = mutex.addr()..mutex.addr() + bytes;
    after_plain(
        &NEXT,
        memory,
        [mutex.expose_provenance(), attributes.expose_provenance(), 0],
    )
}

/// A thread's own number, which the kernel clears for those that wait for its end, lies on its stack.
// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setstack(
    attributes: *mut libc::pthread_attr_t,
    stack: *mut c_void,
    bytes: usize,
) -> c_int {
    static NEXT: Next = Next::new(c"pthread_attr_setstack");
    let memory = stack.addr()..stack.addr().saturating_add(bytes);
    after_plain(
        &NEXT,
        memory,
        [
            attributes.expose_provenance(),
            stack.expose_provenance(),
            bytes,
        ],
    )
}
