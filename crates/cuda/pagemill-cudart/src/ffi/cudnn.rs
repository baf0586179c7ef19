//! `libcudnn.so.9`: as much as XLA asks for before it compiles anything. Its operations have no PTX, so each is refused by name.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{InText, OutPtr, address, complain_once};

/// `cudnnStatus_t`.
const SUCCESS: c_int = 0;
const BAD_PARAM: c_int = 2000;
const NOT_SUPPORTED: c_int = 3000;

/// The version whose functions these are, and that of the runtime it was built with, as the library counts them.
const VERSION: (c_int, c_int, c_int) = (9, 28, 0);
const RUNTIME_VERSION: usize = 13_000;

/// Set in handles, and in no address.
const HANDLE_TAG: u64 = 0x64 << 56;

static LAST_HANDLE: AtomicU64 = AtomicU64::new(0);

/// Handles with the streams that they are to use.
static HANDLES: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// The handle's place among all.
fn with_handle(handle: *mut c_void, work: impl FnOnce(&mut Vec<(u64, u64)>, usize)) -> c_int {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    let own = address(handle);
    match handles.iter().position(|&(handle, _)| handle == own) {
        Some(place) => {
            work(&mut handles, place);
            SUCCESS
        }
        None => BAD_PARAM,
    }
}

fn give<T>(to: OutPtr<T>, value: T) -> c_int {
    match to.put(value) {
        Ok(()) => SUCCESS,
        Err(_) => BAD_PARAM,
    }
}

/// Stands behind all functions that are not in this file.
#[unsafe(no_mangle)]
extern "C" fn pagemill_unsupported_cudnn(name: InText) -> c_int {
    if let Ok(name) = name.get() {
        complain_once(
            name,
            "cuDNN's operations are machine code only, so pagemill has none of them; it returns CUDNN_STATUS_NOT_SUPPORTED (3000). \
             XLA wants cuDNN for convolutions and for attention that asks for it: use matrix products (an MLP, attention with \
             implementation=\"xla\"), or run this part on the CPU",
        );
    }
    NOT_SUPPORTED
}

#[unsafe(export_name = "pagemill_cudnnGetVersion")]
extern "C" fn get_version() -> usize {
    let (major, minor, patch) = VERSION;
    (major * 10_000 + minor * 100 + patch) as usize
}

#[unsafe(export_name = "pagemill_cudnnGetMaxDeviceVersion")]
extern "C" fn get_max_device_version() -> usize {
    get_version()
}

#[unsafe(export_name = "pagemill_cudnnGetCudartVersion")]
extern "C" fn get_cudart_version() -> usize {
    RUNTIME_VERSION
}

/// Each part of the library has such a check; there is one part here.
#[unsafe(export_name = "pagemill_cudnnVersionCheck")]
extern "C" fn version_check() -> c_int {
    SUCCESS
}

#[unsafe(export_name = "pagemill_cudnnGetProperty")]
extern "C" fn get_property(kind: c_int, to: OutPtr<c_int>) -> c_int {
    let (major, minor, patch) = VERSION;
    let value = match kind {
        0 => major,
        1 => minor,
        2 => patch,
        _ => return BAD_PARAM,
    };
    give(to, value)
}

#[unsafe(export_name = "pagemill_cudnnCreate")]
extern "C" fn create(to: OutPtr<*mut c_void>) -> c_int {
    let handle = HANDLE_TAG | (LAST_HANDLE.fetch_add(1, Ordering::Relaxed) + 1);
    let code = give(to, handle as *mut c_void);
    if code == SUCCESS {
        let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
        handles.push((handle, 0));
    }
    code
}

#[unsafe(export_name = "pagemill_cudnnDestroy")]
extern "C" fn destroy(handle: *mut c_void) -> c_int {
    with_handle(handle, |handles, place| {
        handles.swap_remove(place);
    })
}

#[unsafe(export_name = "pagemill_cudnnSetStream")]
extern "C" fn set_stream(handle: *mut c_void, stream: *mut c_void) -> c_int {
    with_handle(handle, |handles, place| handles[place].1 = address(stream))
}

#[unsafe(export_name = "pagemill_cudnnGetStream")]
extern "C" fn get_stream(handle: *mut c_void, to: OutPtr<*mut c_void>) -> c_int {
    let mut stream = 0;
    match with_handle(handle, |handles, place| stream = handles[place].1) {
        SUCCESS => give(to, stream as *mut c_void),
        code => code,
    }
}

#[unsafe(export_name = "pagemill_cudnnGetErrorString")]
extern "C" fn get_error_string(status: c_int) -> *const c_char {
    let text = match status {
        SUCCESS => c"CUDNN_STATUS_SUCCESS",
        BAD_PARAM => c"CUDNN_STATUS_BAD_PARAM",
        NOT_SUPPORTED => c"CUDNN_STATUS_NOT_SUPPORTED",
        _ => c"CUDNN_UNKNOWN_STATUS",
    };
    text.as_ptr()
}

/// # Safety
/// As the library's.
#[unsafe(export_name = "pagemill_cudnnGetLastErrorString")]
unsafe extern "C" fn get_last_error_string(to: *mut c_char, room: usize) {
    let text = c"pagemill has no operation of cuDNN".to_bytes_with_nul();
    if to.is_null() || room < text.len() {
        return;
    }
    // SAFETY: the program has room for `room` bytes, which is enough.
    unsafe {
        to.cast::<u8>()
            .copy_from_nonoverlapping(text.as_ptr(), text.len())
    };
}
