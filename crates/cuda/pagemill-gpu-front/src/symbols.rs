//! `dlsym`, by which runtimes find the driver's functions.

use std::ffi::{CStr, c_char, c_void};

use crate::hooks;
use crate::linker::{is_of_driver, next_dlsym, real_dlsym};

/// Answers `dlsym` for names that begin with `cu`.
unsafe extern "C" fn dlsym_of_cuda(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller of `dlsym` passes a name that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let real = real_dlsym(handle, name);
    if real.is_null() {
        return real;
    }
    match hooks::named(name) {
        Some(hook) if is_of_driver(real) => hook.in_front_of(real),
        _ => real,
    }
}

/// Jumps on with the return address of its caller, by which the C library knows what `RTLD_NEXT` means.
// SAFETY: replaces the C library's function of this name, and takes its arguments: a name that cannot be CUDA's, and a search that is
// relative to the caller or finds this library's own functions, go on as they are.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym() {
    std::arch::naked_asm!(
        "test rsi, rsi",
        "jz 2f",
        "cmp byte ptr [rsi], {c}",
        "jne 2f",
        "cmp byte ptr [rsi + 1], {u}",
        "jne 2f",
        "lea rax, [rdi + 1]",
        // RTLD_NEXT is -1 and RTLD_DEFAULT 0.
        "cmp rax, 1",
        "ja {of_cuda}",
        "2: push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {next}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        c = const b'c',
        u = const b'u',
        of_cuda = sym dlsym_of_cuda,
        next = sym next_dlsym,
    );
}
