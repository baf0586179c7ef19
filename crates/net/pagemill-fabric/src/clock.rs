//! `gettimeofday` in virtual time, for programs that ask for it and only when the program itself calls.
//!
//! Libraries go on seeing real time: their time-outs would never come otherwise.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use crate::preload::CLOCK_VARIABLE;
use crate::process;

/// Picoseconds in a microsecond.
const MICROSECOND_PS: u64 = 1_000_000;

/// As the C library's, but for calls of the program itself when `pagemill mpi --clock program` asks for it.
///
/// # Safety
/// As the C library says: `time` is null or writable.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    // The return address becomes the third argument.
    std::arch::naked_asm!("mov rdx, [rsp]", "jmp {give_time}", give_time = sym give_time)
}

/// As the C library's, but for calls of the program itself when `pagemill mpi --clock program` asks for it.
///
/// # Safety
/// As the C library says: `time` is null or writable.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    std::arch::naked_asm!("mov x2, x30", "b {give_time}", give_time = sym give_time)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" fn give_time(
    time: *mut libc::timeval,
    _: *mut c_void,
    caller: *const c_void,
) -> c_int {
    let now = match is_wanted() && is_of_program(caller) {
        true => virtual_time().unwrap_or_else(real_time),
        false => real_time(),
    };
    // SAFETY: null or writable, by the caller's promise.
    if let Some(time) = unsafe { time.as_mut() } {
        *time = now;
    }
    0
}

fn is_wanted() -> bool {
    static IS_WANTED: OnceLock<bool> = OnceLock::new();
    *IS_WANTED.get_or_init(|| std::env::var_os(CLOCK_VARIABLE).is_some())
}

fn virtual_time() -> Option<libc::timeval> {
    let mut process = process::lock();
    let microseconds = process.as_mut()?.read_clock() / MICROSECOND_PS;
    Some(libc::timeval {
        tv_sec: (microseconds / 1_000_000) as libc::time_t,
        tv_usec: (microseconds % 1_000_000) as libc::suseconds_t,
    })
}

fn real_time() -> libc::timeval {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    libc::timeval {
        tv_sec: now.tv_sec,
        tv_usec: (now.tv_nsec / 1000) as libc::suseconds_t,
    }
}

/// Whether an address is code of the program, not of a library.
fn is_of_program(address: *const c_void) -> bool {
    // SAFETY: no preconditions; the kernel put the program's headers there.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    let program = base_of(std::ptr::with_exposed_provenance(headers));
    program.is_some() && base_of(address) == program
}

/// Where the object that holds an address was loaded.
fn base_of(address: *const c_void) -> Option<usize> {
    // SAFETY: plain numbers and pointers; zero is valid.
    let mut object: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for.
    let found = unsafe { libc::dladdr(address, &raw mut object) };
    (found != 0).then(|| object.dli_fbase.addr())
}
