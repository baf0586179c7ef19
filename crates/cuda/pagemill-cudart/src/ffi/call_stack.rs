//! Where the program called from.

use std::ffi::{CStr, c_void};
use std::path::Path;

use pagemill_wire::{Frame, Stack};

/// Calls that are noted: enough for a helper or two between the call and the line that it is for.
const FRAMES_MAX: usize = 12;
/// Calls of this library that lie above them.
const OWN_FRAMES_MAX: usize = 24;

/// The calls that led here, without those of this library.
pub(super) fn capture() -> Stack {
    let mut addresses = [std::ptr::null_mut::<c_void>(); FRAMES_MAX + OWN_FRAMES_MAX];
    // SAFETY: there is room for as many addresses.
    let count = unsafe { libc::backtrace(addresses.as_mut_ptr(), addresses.len() as i32) };
    let count = usize::try_from(count).unwrap_or(0);
    let own = base_of(capture as *const c_void).map(|(base, _)| base);
    let frames = addresses[..count].iter().filter_map(|&address| {
        let (base, module) = base_of(address)?;
        Some(Frame {
            module,
            base,
            address: address as u64,
        })
    });
    let outside = frames.filter(|frame| Some(frame.base) != own && !is_shim(&frame.module));
    Stack {
        frames: outside.take(FRAMES_MAX).collect(),
        variable: None,
    }
}

/// The file that called, if it is not the program.
pub(super) fn library() -> Option<String> {
    let program = std::fs::canonicalize("/proc/self/exe").unwrap_or_default();
    let frames = capture().frames.into_iter();
    // Libraries call from `pthread_once` and the like.
    let caller = frames
        .map(|frame| frame.module)
        .find(|module| !is_of_c(module))?;
    (Path::new(&caller) != program).then_some(caller)
}

/// Whether a file belongs to the C library, which asks for nothing itself.
fn is_of_c(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    let own = [
        "libc.so",
        "libc-2",
        "libpthread",
        "libdl",
        "ld-linux",
        "ld-2",
    ];
    own.iter().any(|own| name.starts_with(own))
}

/// Whether a file is one of those that jump to this library.
fn is_shim(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    ["libcudart.so", "libcuda.so", "libpagemill"]
        .iter()
        .any(|own| name.starts_with(own))
}

/// Where the file that holds an address is loaded, and its path.
fn base_of(address: *const c_void) -> Option<(u64, String)> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is room for the answer; any address may be asked for.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the call has filled it in.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name of a loaded file is a C string.
    let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy();
    // The executable is named as it was started: without a folder if the shell searched for it.
    let file = if name.contains('/') {
        &*name
    } else {
        "/proc/self/exe"
    };
    let path = std::fs::canonicalize(file)
        .map_or_else(|_| name.into_owned(), |path| path.display().to_string());
    Some((info.dli_fbase as u64, path))
}

#[cfg(test)]
mod tests;
