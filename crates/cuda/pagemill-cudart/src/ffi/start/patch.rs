//! Entries of functions that become jumps to others.

use std::io;

/// A function and where it is to lead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub(super) at: u64,
    pub(super) room_bytes: u64,
    pub(super) target: u64,
}

/// The instructions of a jump to any address.
#[cfg(target_arch = "x86_64")]
fn instructions(target: u64) -> Vec<u8> {
    // jmp *0(%rip), and the address behind it.
    [&[0xff, 0x25, 0, 0, 0, 0][..], &target.to_le_bytes()].concat()
}

/// The instructions of a jump to any address.
#[cfg(target_arch = "aarch64")]
fn instructions(target: u64) -> Vec<u8> {
    // ldr x16, #8; br x16, and the address behind them.
    let words = [0x5800_0050u32, 0xd61f_0200].map(u32::to_le_bytes).concat();
    [&words[..], &target.to_le_bytes()].concat()
}

/// Writes all jumps that there is room for. The pages are never writable and executable at once.
pub(super) fn apply(jumps: &[Jump]) -> io::Result<()> {
    // SAFETY: a plain question to the C library.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    for jump in jumps {
        let code = instructions(jump.target);
        if (jump.room_bytes as usize) < code.len() {
            continue;
        }
        let start = jump.at / page * page;
        let bytes = (jump.at + code.len() as u64 - start).next_multiple_of(page);
        protect(start, bytes, libc::PROT_READ | libc::PROT_WRITE)?;
        // SAFETY: the symbol table says that the function has this many bytes here; they were made writable, and no other
        // thread exists yet that could run them.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), jump.at as *mut u8, code.len()) };
        protect(start, bytes, libc::PROT_READ | libc::PROT_EXEC)?;
        flush(jump.at, code.len());
    }
    Ok(())
}

fn protect(start: u64, bytes: u64, protection: i32) -> io::Result<()> {
    // SAFETY: these are whole pages of the executable's code, none of which is this library's.
    match unsafe { libc::mprotect(start as *mut libc::c_void, bytes as usize, protection) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the processor see new instructions.
#[cfg(target_arch = "x86_64")]
fn flush(_at: u64, _bytes: usize) {}

/// Makes the processor see new instructions.
#[cfg(target_arch = "aarch64")]
fn flush(at: u64, bytes: usize) {
    unsafe extern "C" {
        fn __clear_cache(start: *mut libc::c_void, end: *mut libc::c_void);
    }
    // SAFETY: the bytes were just written.
    unsafe {
        __clear_cache(
            at as *mut libc::c_void,
            (at + bytes as u64) as *mut libc::c_void,
        )
    };
}
