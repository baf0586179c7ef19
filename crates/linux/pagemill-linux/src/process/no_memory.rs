use std::fs;

/// As the kernel has it for a fault, but for the code: a thread can give another none of the kernel's.
#[repr(C)]
struct FaultInfo {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    padding: libc::c_int,
    address: u64,
    rest: [u64; 13],
}

/// Has `thread` of this process find no memory at `address`, which it touched: it gets `SIGSEGV`. Where it blocks or ignores that, the
/// process ends by it, as it would for any such touch.
pub fn no_memory(thread: u32, address: u64) {
    let info = FaultInfo {
        signal: libc::SIGSEGV,
        error: 0,
        code: libc::SI_QUEUE,
        padding: 0,
        address,
        rest: [0; 13],
    };
    let (process, signal) = (std::process::id(), libc::SIGSEGV);
    if takes_it(thread) {
        // SAFETY: the kernel reads a signal's description, and gives it to a thread of this process.
        unsafe {
            libc::syscall(
                libc::SYS_rt_tgsigqueueinfo,
                process,
                thread,
                signal,
                &raw const info,
            );
        }
        return;
    }
    let text = format!(
        "pagemill pager: thread {thread} touched {address:#x}, where there is no memory, and takes no SIGSEGV: the process ends by it\n"
    );
    // SAFETY: writes bytes that live long enough, and ends this process by the signal, which this thread takes.
    unsafe {
        let _ = libc::write(2, text.as_ptr().cast(), text.len());
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// Whether a thread neither blocks nor ignores `SIGSEGV`.
fn takes_it(thread: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status"));
    let status = status.unwrap_or_default();
    let has = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let bits = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
        bits.unwrap_or(0) >> (libc::SIGSEGV - 1) & 1 == 1
    };
    !has("SigBlk:") && !has("SigIgn:")
}
