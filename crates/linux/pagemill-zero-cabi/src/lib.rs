//! Clean huge pages from C: `include/pagemill_zero.h` says what the three calls do.
//!
//! Unsafe code is in the exported symbols. No pointer that comes from C is followed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use pagemill_linux::Mapping;
use pagemill_zero_client::{Client, Exhausted, Lease, Request, socket_path};

/// The connection of this process, and what was borrowed through it, by address.
struct Borrowed {
    process: u32,
    client: Option<Client>,
    leases: BTreeMap<usize, (Mapping, Lease)>,
}

static BORROWED: Mutex<Borrowed> = Mutex::new(Borrowed {
    process: 0,
    client: None,
    leases: BTreeMap::new(),
});

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn set_error(message: &str) {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = text);
}

fn with_borrowed<T>(act: impl FnOnce(&mut Borrowed) -> Result<T, String>) -> Option<T> {
    let mut borrowed = BORROWED.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if borrowed.process != process {
        // A forked child: the connection and the leases are its parent's.
        borrowed.client = None;
        std::mem::forget(std::mem::take(&mut borrowed.leases));
        borrowed.process = process;
    }
    let result = act(&mut borrowed);
    set_error(result.as_ref().err().map_or("", String::as_str));
    result.ok()
}

impl Borrowed {
    fn get(&mut self, bytes: usize, wait_ms: u64) -> Result<usize, String> {
        let client = match &mut self.client {
            Some(client) => client,
            none => {
                let client = Client::connect(&socket_path()).map_err(|error| error.to_string())?;
                none.insert(client)
            }
        };
        let request = Request::bytes(bytes as u64).when_exhausted(Exhausted::Wait(wait_ms));
        let lease = client.lease(&request).map_err(|error| {
            let message = error.to_string();
            if !matches!(error, pagemill_zero_client::ClientError::Refused { .. }) {
                // The pool is gone; the next call looks for it again.
                self.client = None;
            }
            message
        })?;
        let mapping = lease.map(true).map_err(|error| error.to_string())?;
        let address = mapping.address();
        self.leases.insert(address, (mapping, lease));
        Ok(address)
    }

    fn put(&mut self, address: usize) -> Result<(), String> {
        let Some((mapping, lease)) = self.leases.remove(&address) else {
            return Err(format!("{address:#x} was not borrowed, or was given back"));
        };
        drop(mapping);
        if let Some(client) = &mut self.client {
            // If the pool is gone, or is another one now, the memory went back with the mapping.
            let _ = client.give_back(lease);
        }
        Ok(())
    }
}

/// See the header.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_zero_get(bytes: usize, wait_ms: c_uint) -> *mut c_void {
    let address = with_borrowed(|borrowed| borrowed.get(bytes, wait_ms.into()));
    address.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

/// See the header.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_zero_put(memory: *mut c_void) -> c_int {
    let result = with_borrowed(|borrowed| borrowed.put(memory.addr()));
    if result.is_some() { 0 } else { -1 }
}

/// See the header.
// SAFETY: the name is ours alone in any program that links this library.
#[unsafe(no_mangle)]
pub extern "C" fn pagemill_zero_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}
