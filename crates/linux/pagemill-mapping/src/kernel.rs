//! System calls past the C library, whose functions of these names the preload libraries replace.

use std::arch::asm;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The kernel's answer: a result, or a negative error number.
pub type Answer = isize;

/// `syscall; ret`. Once calls from elsewhere are delivered as signals ([`crate::dispatch`]), those of the C library.
#[cfg(target_arch = "x86_64")]
pub(crate) static CALL: AtomicPtr<()> = AtomicPtr::new(own_call as *mut ());

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn own_call() {
    std::arch::naked_asm!("syscall", "ret")
}

/// The C library's `syscall`, as it was.
#[cfg(target_arch = "x86_64")]
pub static SYSCALL: AtomicPtr<()> = AtomicPtr::new(own_syscall as *mut ());

/// The same, before it is known where that goes on.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn own_syscall() {
    std::arch::naked_asm!(
        "mov rax, rdi; mov rdi, rsi; mov rsi, rdx; mov rdx, rcx; mov r10, r8; mov r8, r9; mov r9, [rsp + 8]",
        "syscall; cmp rax, -4095; jae 2f; ret; 2: mov rdi, rax; jmp {failed}",
        failed = sym failed,
    )
}

#[cfg(target_arch = "x86_64")]
extern "C" fn failed(answer: Answer) -> Answer {
    for_c(answer)
}

/// Performs a system call.
///
/// # Safety
/// As the system call itself. One that returns twice on one stack (`vfork`) must not be made here.
#[cfg(target_arch = "x86_64")]
pub unsafe fn perform(number: c_long, arguments: [usize; 6]) -> Answer {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    let call = CALL.load(Ordering::Relaxed);
    // SAFETY: what the call does to memory is what the program asked for; the kernel changes `rax`, `rcx`, `r11` and memory only.
    unsafe {
        asm!("call {call}", call = in(reg) call, inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b,
            in("rdx") c, in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _);
    }
    answer
}

/// Performs a system call.
///
/// # Safety
/// As the system call itself. One that returns twice on one stack (`vfork`) must not be made here.
#[cfg(target_arch = "aarch64")]
pub unsafe fn perform(number: c_long, arguments: [usize; 6]) -> Answer {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: what the call does to memory is what the program asked for; the kernel changes `x0` and memory only.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, in("x5") f, options(nostack));
    }
    answer
}

/// Whether an answer is an error number.
pub fn has_failed(answer: Answer) -> bool {
    (-4095..0).contains(&answer)
}

/// An answer as the C library's functions give it: -1 and `errno`, or the result.
pub fn for_c(answer: Answer) -> isize {
    if !has_failed(answer) {
        return answer;
    }
    // SAFETY: the address of this thread's error number.
    unsafe { *libc::__errno_location() = -answer as i32 };
    -1
}

/// Fresh private memory, where the kernel finds room.
///
/// # Errors
/// The error number of the kernel.
pub fn map_plain(bytes: usize) -> Result<usize, i32> {
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: the kernel chooses free addresses.
    let answer = unsafe { perform(libc::SYS_mmap, [0, bytes, access, flags, usize::MAX, 0]) };
    if has_failed(answer) {
        return Err(-answer as i32);
    }
    Ok(answer as usize)
}

/// Whether the kernel would map so many bytes of private memory: limits of the process, and far more than the computer has.
pub fn would_map(bytes: usize, flags: c_int) -> bool {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags & libc::MAP_NORESERVE) as usize;
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: the kernel chooses free addresses.
    let probe = unsafe { perform(libc::SYS_mmap, [0, bytes, access, flags, usize::MAX, 0]) };
    // SAFETY: it was just mapped, and has no user.
    !has_failed(probe) && !has_failed(unsafe { unmap(probe as usize, bytes) })
}

/// Fresh private memory in the place of what is there.
///
/// # Safety
/// The bytes there are of no use any more.
pub unsafe fn map_plain_over(start: usize, bytes: usize) -> Answer {
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as usize;
    // SAFETY: the caller's promise.
    unsafe { perform(libc::SYS_mmap, [start, bytes, access, flags, usize::MAX, 0]) }
}

/// # Safety
/// As `munmap(2)`.
pub unsafe fn unmap(start: usize, bytes: usize) -> Answer {
    // SAFETY: the caller's promise.
    unsafe { perform(libc::SYS_munmap, [start, bytes, 0, 0, 0, 0]) }
}

/// # Safety
/// As `madvise(2)`.
pub unsafe fn advise(start: usize, bytes: usize, advice: i32) -> Answer {
    // SAFETY: the caller's promise.
    unsafe { perform(libc::SYS_madvise, [start, bytes, advice as usize, 0, 0, 0]) }
}

/// Moves a mapping to another place, over what is there.
///
/// # Safety
/// As `mremap(2)`.
pub unsafe fn move_to(start: usize, bytes: usize, target: usize) -> Answer {
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as usize;
    // SAFETY: the caller's promise.
    unsafe { perform(libc::SYS_mremap, [start, bytes, bytes, flags, target, 0]) }
}
