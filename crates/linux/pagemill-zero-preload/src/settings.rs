//! The environment's settings, read without allocating: they are wanted inside of `malloc`.

use std::ffi::CStr;
use std::sync::OnceLock;

/// Smallest `malloc` that comes from the pool, in bytes.
pub fn least_bytes() -> usize {
    static LEAST: OnceLock<usize> = OnceLock::new();
    *LEAST.get_or_init(|| setting(c"PAGEMILL_ZERO_MIN").unwrap_or(4 << 20).max(1))
}

/// Whether mappings without `MAP_HUGETLB` come from the pool.
pub fn takes_plain_mappings() -> bool {
    setting(c"PAGEMILL_ZERO_MMAP") == Some(1)
}

/// How long a request waits for pages that the pool is clearing, in milliseconds.
pub fn wait_ms() -> u64 {
    setting(c"PAGEMILL_ZERO_WAIT").unwrap_or(1000) as u64
}

/// Whether nothing is written to standard error.
pub fn is_quiet() -> bool {
    setting(c"PAGEMILL_ZERO_QUIET") == Some(1)
}

/// The source of large memory; empty if none is chosen.
pub fn origin_name() -> &'static [u8] {
    text(c"PAGEMILL_ZERO_SOURCE").map_or(b"", CStr::to_bytes)
}

fn setting(name: &CStr) -> Option<usize> {
    text(name)?.to_str().ok()?.parse().ok()
}

fn text(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero byte; what is returned is a string of the environment, or null.
    unsafe {
        let text = libc::getenv(name.as_ptr());
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}
