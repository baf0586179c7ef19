//! `/proc/self/pagemap`: which frame a page of this process is mapped to.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::{OsError, Result};

const ENTRY_BYTES: u64 = 8;
const PRESENT: u64 = 1 << 63;
const FRAME_MASK: u64 = (1 << 55) - 1;

/// What the kernel says of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whether there is memory behind it.
    pub is_present: bool,
    /// The number of its frame; `None` without the privilege to see it (`CAP_SYS_ADMIN`).
    pub frame: Option<u64>,
}

/// The entry of the page that holds `address`.
///
/// # Errors
/// The file cannot be read.
pub fn entry(address: usize) -> Result<Entry> {
    let failed = |error| OsError::new("read /proc/self/pagemap", error);
    let file = File::open("/proc/self/pagemap").map_err(failed)?;
    let page = (address / rustix::param::page_size()) as u64;
    let mut bytes = [0; ENTRY_BYTES as usize];
    file.read_exact_at(&mut bytes, page * ENTRY_BYTES)
        .map_err(failed)?;
    let raw = u64::from_ne_bytes(bytes);
    let is_present = raw & PRESENT != 0;
    let frame = raw & FRAME_MASK;
    Ok(Entry {
        is_present,
        frame: (is_present && frame != 0).then_some(frame),
    })
}
