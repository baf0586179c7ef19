//! Buffers that CUPTI fills with records, on threads of its own and of the program.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::cupti::{Cupti, IN_USE};
use super::layout;
use pagemill_gpu::recording::Recording;

const BUFFER_BYTES: usize = 4 << 20;
/// Records begin at multiples of it.
const ALIGNMENT: usize = 8;
/// CUPTI drops, and counts, what does not fit into these: 256 MiB.
const MOST_BUFFERS: usize = 64;
/// Some 250 MiB.
const MOST_RECORDS: usize = 4_000_000;

/// What was recorded until now.
static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Kept {
    recording: Recording,
    records: usize,
    names: HashSet<Arc<str>>,
    /// Addresses of buffers that CUPTI has.
    lent: BTreeSet<usize>,
    is_over: bool,
}

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a failure, once.
pub fn note(failure: String) {
    kept().note(failure);
}

/// Keeps the version of CUPTI.
pub fn set_version(version: u32) {
    kept().recording.cupti_version = Some(version);
}

/// All that was recorded. Nothing is, after that.
pub fn take() -> Recording {
    let mut kept = kept();
    kept.is_over = true;
    std::mem::take(&mut kept.recording)
}

/// CUPTI's call for a buffer.
pub extern "C" fn request(buffer: *mut *mut u8, bytes: *mut usize, most_records: *mut usize) {
    let new = kept().lend();
    // SAFETY: CUPTI passes three addresses to write to.
    unsafe {
        buffer.write(new);
        bytes.write(if new.is_null() { 0 } else { BUFFER_BYTES });
        most_records.write(0);
    }
}

/// CUPTI's call with a buffer that has records.
pub extern "C" fn complete(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _bytes: usize,
    used: usize,
) {
    let mut kept = kept();
    // Those of another user of CUPTI in this process are not ours to read and to free.
    if !kept.lent.remove(&buffer.addr()) {
        return;
    }
    if let Some(cupti) = IN_USE.get()
        && used <= BUFFER_BYTES
        && !kept.is_over
    {
        // SAFETY: it is one of ours, which CUPTI gave back with so many bytes in use, and no more than it has.
        unsafe { kept.read(cupti, buffer, used) };
    }
    // SAFETY: it was allocated by `lend`, and CUPTI does not use it any more.
    unsafe { libc::free(buffer.cast()) };
}

impl Kept {
    fn note(&mut self, failure: String) {
        if !self.recording.failed.contains(&failure) {
            self.recording.failed.push(failure);
        }
    }

    /// A buffer, or null.
    fn lend(&mut self) -> *mut u8 {
        if self.is_over || self.lent.len() >= MOST_BUFFERS {
            return ptr::null_mut();
        }
        // The C library's, not ours: another user of CUPTI who takes over frees it like that.
        // SAFETY: the alignment is a power of two, and divides the size.
        let buffer = unsafe { libc::aligned_alloc(ALIGNMENT, BUFFER_BYTES) };
        if !buffer.is_null() {
            self.lent.insert(buffer.addr());
        }
        buffer.cast()
    }

    /// # Safety
    /// CUPTI gave back `buffer` with `used` bytes in use.
    unsafe fn read(&mut self, cupti: &Cupti, buffer: *mut u8, used: usize) {
        // SAFETY: so many bytes of the buffer are written, and CUPTI, which gave it back, writes to them no more.
        let bytes = unsafe { slice::from_raw_parts(buffer, used) };
        let mut record = ptr::null_mut();
        loop {
            // SAFETY: the caller vouches for the buffer, and the record is null or the one before.
            record = match unsafe { cupti.next(buffer, used, record) } {
                Ok(next) if next.is_null() => return,
                Ok(next) => next,
                Err(failure) => return self.note(failure),
            };
            let at = record.addr().wrapping_sub(buffer.addr());
            if self.records == MOST_RECORDS {
                self.recording.left_out += 1;
                continue;
            }
            self.records += 1;
            let name_at = |address| name_at(address, &mut self.names);
            let read = bytes
                .get(at..)
                .and_then(|bytes| layout::read(bytes, &mut self.recording, name_at));
            if read.is_none() {
                return self.note("a record of CUPTI ends behind its buffer".to_owned());
            }
        }
    }
}

/// The kernel's name at `address`, which all kernels of that name share.
fn name_at(address: u64, names: &mut HashSet<Arc<str>>) -> Arc<str> {
    if address == 0 {
        return "".into();
    }
    let name: *const c_char = ptr::with_exposed_provenance(address as usize);
    // SAFETY: a record's name is a string that all records of the kernel share, so that CUPTI keeps it beyond this one.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    if let Some(known) = names.get(&*name) {
        return known.clone();
    }
    let name: Arc<str> = name.into();
    names.insert(name.clone());
    name
}
