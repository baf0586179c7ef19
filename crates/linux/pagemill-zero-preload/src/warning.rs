//! What the user has to know: memory that is the kernel's after all.

use std::io::Write;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::FromRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::settings::is_quiet;

const STANDARD_ERROR: i32 = 2;

/// Standard error as it was when the program started. A program may close it, and open a file of its own under its number.
static AT_START: OnceLock<Option<(u64, u64)>> = OnceLock::new();

#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_STANDARD_ERROR: extern "C" fn() = {
    extern "C" fn note() {
        let _ = AT_START.set(identity(STANDARD_ERROR));
    }
    note
};

/// Says, once a process, that `bytes` come from the kernel, and what counts such requests.
pub fn fell_back(bytes: usize, why: &str, counted_by: &str) {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    if IS_SAID.swap(true, Ordering::Relaxed) || is_quiet() {
        return;
    }
    let at_start = AT_START.get().copied().flatten();
    if at_start.is_none() || identity(STANDARD_ERROR) != at_start {
        return;
    }
    let text = format!(
        "pagemill zero: process {} takes {} MiB from the kernel as usual memory: {why}. This is said once{counted_by}\n",
        std::process::id(),
        bytes.div_ceil(1 << 20),
    );
    // SAFETY: the descriptor is open, as was just seen, and is not closed here.
    let mut file = ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(STANDARD_ERROR) });
    // Nothing can be done where it cannot be written to.
    let _ = file.write(text.as_bytes());
}

/// Device and number of an open file.
pub fn identity(descriptor: i32) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the structure, or says that it did not.
    let stat = unsafe {
        if libc::fstat(descriptor, stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
    Some((stat.st_dev, stat.st_ino))
}
