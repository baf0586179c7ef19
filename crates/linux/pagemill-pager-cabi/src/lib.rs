//! Memory beyond its frames from C: `include/pagemill_pager.h` says what the calls do.
//!
//! Unsafe code is in the exported symbols.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use pagemill_pager::{Allocation, Announcement, COUNTERS, FileMode, Pager, PagerError, Setup};

/// A pager and its memory by address. Memory ends before the handlers do.
#[derive(Debug)]
pub struct Opened {
    allocations: Mutex<BTreeMap<usize, Allocation>>,
    pager: Pager,
    /// Shows it to `pagemill pager top`, where there can be temporary files.
    _announced: Option<Announcement>,
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps the message for `pagemill_pager_error`.
fn noted<T>(result: Result<T, String>) -> Option<T> {
    let message = result.as_ref().err().map_or("", String::as_str);
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = text);
    result.ok()
}

fn open(memory_bytes: u64, to: &CStr, in_thread: bool) -> Result<Box<Opened>, String> {
    let to = to.to_str().map_err(|error| format!("`to`: {error}"))?;
    let mut setup = Setup::new(memory_bytes, to);
    setup.in_thread = in_thread;
    let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let announced = Announcement::new(name.trim_end(), &mut setup).ok();
    let pager = setup.start().map_err(|error| error.to_string())?;
    let allocations = Mutex::default();
    Ok(Box::new(Opened {
        allocations,
        pager,
        _announced: announced,
    }))
}

impl Opened {
    fn map(&self, bytes: usize) -> Result<usize, String> {
        self.keep(self.pager.allocate(bytes as u64))
    }

    fn map_file(&self, path: &CStr, mode: &CStr, offset: u64, bytes: u64) -> Result<usize, String> {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let mode: FileMode = (mode.to_string_lossy().parse())
            .map_err(|error: pagemill_pager::FileError| error.to_string())?;
        self.keep(self.pager.map_file(path, mode, offset, bytes))
    }

    fn keep(&self, allocation: Result<Allocation, PagerError>) -> Result<usize, String> {
        let allocation = allocation.map_err(|error| error.to_string())?;
        let start = allocation.start() as usize;
        self.allocations().insert(start, allocation);
        Ok(start)
    }

    fn flush(&self, start: usize) -> Result<(), String> {
        // Taken out, so that memory is mapped and unmapped meanwhile.
        let allocation = self.taken(start)?;
        let flushed = allocation.flush();
        self.allocations().insert(start, allocation);
        flushed.map(drop).map_err(|error| error.to_string())
    }

    fn unmap(&self, start: usize) -> Result<(), String> {
        self.taken(start)?.close().map_err(|(allocation, error)| {
            self.allocations().insert(start, allocation);
            error.to_string()
        })
    }

    fn taken(&self, start: usize) -> Result<Allocation, String> {
        let allocation = self.allocations().remove(&start);
        allocation.ok_or_else(|| format!("{start:#x} is not mapped by this pager"))
    }

    fn count(&self, name: &CStr) -> Result<u64, String> {
        let known = (COUNTERS.iter()).find(|(_, known, _)| known.as_bytes() == name.to_bytes());
        let (count, ..) =
            known.ok_or_else(|| format!("there is no counter {}", name.to_string_lossy()))?;
        Ok(self.pager.counters().get(*count))
    }

    fn allocations(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Allocation>> {
        (self.allocations.lock()).unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the header.
///
/// # Safety
/// `to` is a text of C.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_open(memory_bytes: u64, to: *const c_char) -> *mut Opened {
    // SAFETY: `to` is a string that ends with a NUL, as pagemill_pager.h asks.
    let opened = noted(open(memory_bytes, unsafe { CStr::from_ptr(to) }, false));
    opened.map_or(ptr::null_mut(), Box::into_raw)
}

/// See the header.
///
/// # Safety
/// `to` is a text of C.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_open_in_thread(
    memory_bytes: u64,
    to: *const c_char,
) -> *mut Opened {
    // SAFETY: `to` is a string that ends with a NUL, as pagemill_pager.h asks.
    let opened = noted(open(memory_bytes, unsafe { CStr::from_ptr(to) }, true));
    opened.map_or(ptr::null_mut(), Box::into_raw)
}

/// See the header.
///
/// # Safety
/// `pager` is open.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_map(pager: *mut Opened, bytes: usize) -> *mut c_void {
    // SAFETY: `pager` came from an opening function and is not closed: no mutable reference to it exists.
    let start = noted(unsafe { &*pager }.map(bytes));
    start.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

/// See the header.
///
/// # Safety
/// `pager` is open; `path` and `mode` are texts of C.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_map_file(
    pager: *mut Opened,
    path: *const c_char,
    mode: *const c_char,
    offset: u64,
    bytes: u64,
) -> *mut c_void {
    // SAFETY: `pager` is open, and both strings end with a NUL, as pagemill_pager.h asks.
    let (opened, path, mode) = unsafe { (&*pager, CStr::from_ptr(path), CStr::from_ptr(mode)) };
    let start = noted(opened.map_file(path, mode, offset, bytes));
    start.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

/// See the header.
///
/// # Safety
/// `pager` is open.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_flush(pager: *mut Opened, memory: *mut c_void) -> c_int {
    // SAFETY: `pager` came from an opening function and is not closed: no mutable reference to it exists.
    let result = noted(unsafe { &*pager }.flush(memory.addr()));
    if result.is_some() { 0 } else { -1 }
}

/// See the header.
///
/// # Safety
/// `pager` is open, and nothing uses the memory any more.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_unmap(pager: *mut Opened, memory: *mut c_void) -> c_int {
    // SAFETY: `pager` came from an opening function and is not closed: no mutable reference to it exists.
    let result = noted(unsafe { &*pager }.unmap(memory.addr()));
    if result.is_some() { 0 } else { -1 }
}

/// See the header.
///
/// # Safety
/// `pager` is open; `name` is a text of C.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_count(pager: *mut Opened, name: *const c_char) -> u64 {
    // SAFETY: `pager` is open, and `name` ends with a NUL, as pagemill_pager.h asks.
    let (opened, name) = unsafe { (&*pager, CStr::from_ptr(name)) };
    noted(opened.count(name)).unwrap_or(u64::MAX)
}

/// See the header.
///
/// # Safety
/// `pager` is open or null, and nothing uses it or its memory any more.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pagemill_pager_close(pager: *mut Opened) {
    if !pager.is_null() {
        // SAFETY: `pager` came from `Box::into_raw` of an opening function, and is closed once.
        drop(unsafe { Box::from_raw(pager) });
    }
}

/// See the header.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_pager_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}
