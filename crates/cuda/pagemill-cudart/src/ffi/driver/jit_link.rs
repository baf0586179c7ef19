//! `libnvJitLink`: the linker of `cuLink*` behind NVIDIA's library for it. What it gives as machine code is PTX, which modules are loaded from.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use super::linker::{CUBIN, FAT_BINARY, LIBRARY, Link, PTX};
use crate::error::{CudaError, Fault};
use crate::ffi::{InText, OutPtr, address, caught, complain};

/// Set in handles of links, and in no address.
const HANDLE_TAG: u64 = 0x74 << 56;

/// `nvJitLinkResult`.
const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const INTERNAL: c_int = 6;
const NULL_INPUT: c_int = 10;
const LTO_NOT_ENABLED: c_int = 18;

/// `nvJitLinkInputType`.
const INPUT_CUBIN: c_int = 1;
const INPUT_PTX: c_int = 2;
const INPUT_LTO: c_int = 3;
const INPUT_FAT_BINARY: c_int = 4;
const INPUT_LIBRARY: c_int = 6;
const INPUT_ANY: c_int = 10;

/// Frameworks link at link time from 12.3 on; an older library gets PTX from them.
const VERSION: (c_uint, c_uint) = (12, 0);

/// A link, and what went wrong in it.
#[derive(Default)]
struct JitLink {
    link: Link,
    errors: String,
}

static LINKS: Mutex<(u64, BTreeMap<u64, JitLink>)> = Mutex::new((0, BTreeMap::new()));

/// Why a call fails: a code, and what to tell the user unless the code says it all.
struct Refusal(c_int, String);

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let code = match fault.code {
            CudaError::UNKNOWN => INTERNAL,
            _ => INVALID_INPUT,
        };
        Self(code, fault.message.unwrap_or_default())
    }
}

type Answer<T> = Result<T, Refusal>;

/// Runs the body of a function of the linker.
fn guard(function: &'static str, body: impl FnOnce() -> Answer<()>) -> c_int {
    let mut refused = None;
    let outcome = caught(|| {
        refused = body().err();
        Ok(())
    });
    let refused = refused.or_else(|| outcome.err().map(Refusal::from));
    let Some(Refusal(code, message)) = refused else {
        return SUCCESS;
    };
    if !message.is_empty() {
        complain(function, &message);
    }
    code
}

fn with_link<T>(handle: *mut c_void, work: impl FnOnce(&mut JitLink) -> Answer<T>) -> Answer<T> {
    let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    match links.1.get_mut(&address(handle)) {
        Some(link) => work(link),
        None => Err(Refusal(INVALID_INPUT, format!("{handle:p} is no link"))),
    }
}

/// What `cuLink*` calls this kind of input; `None` for code of link-time optimization.
fn driver_kind(kind: c_int, bytes: &[u8]) -> Option<c_int> {
    let any = || match bytes {
        [0x50, 0xed, 0x55, 0xba, ..] => FAT_BINARY,
        [0x7f, b'E', b'L', b'F', ..] => CUBIN,
        [b'!', b'<', b'a', b'r', b'c', b'h', ..] => LIBRARY,
        _ => PTX,
    };
    match kind {
        INPUT_CUBIN => Some(CUBIN),
        INPUT_PTX => Some(PTX),
        INPUT_FAT_BINARY => Some(FAT_BINARY),
        INPUT_LTO => None,
        INPUT_ANY => Some(any()),
        // Objects and libraries of the host: the kinds have the same order, one apart and without code of link-time optimization.
        _ => Some(kind.saturating_sub(INPUT_LIBRARY - LIBRARY)),
    }
}

fn add(handle: *mut c_void, kind: c_int, bytes: &[u8]) -> Answer<()> {
    with_link(handle, |own| {
        let added = match driver_kind(kind, bytes) {
            Some(kind) => own.link.add(kind, bytes).map_err(Refusal::from),
            None => Err(Refusal(
                LTO_NOT_ENABLED,
                "code for link-time optimization has no PTX: compile without it (`-dlto`, `lto=True`)".to_owned(),
            )),
        };
        added.inspect_err(|Refusal(_, message)| {
            own.errors += message;
            own.errors.push('\n');
        })
    })
}

/// The number that an option such as `-maxrregcount=32` has.
fn max_registers(option: &str) -> Option<u32> {
    option.strip_prefix("-maxrregcount=")?.parse().ok()
}

/// The linked text, with its NUL if that counts.
fn linked<T>(handle: *mut c_void, work: impl FnOnce(&[u8]) -> T) -> Answer<T> {
    with_link(handle, |own| match &own.link.linked {
        Some(text) => Ok(work(text)),
        None => Err(Refusal(
            INVALID_INPUT,
            "nothing is linked yet: call nvJitLinkComplete first".to_owned(),
        )),
    })
}

/// Copies `bytes` to where the program has room for them.
///
/// # Safety
/// `to` is null or points to room for `bytes`.
unsafe fn copy(bytes: &[u8], to: *mut c_char) -> Answer<()> {
    if to.is_null() {
        return Err(Refusal(NULL_INPUT, String::new()));
    }
    // SAFETY: `to` is not null, and the program has asked how many bytes there are and made room for them, apart from ours.
    unsafe {
        to.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
    Ok(())
}

/// The log of errors as a C string; nothing if it is empty.
fn errors(handle: *mut c_void) -> Answer<Vec<u8>> {
    with_link(handle, |own| {
        let mut log = own.errors.clone().into_bytes();
        if !log.is_empty() {
            log.push(0);
        }
        Ok(log)
    })
}

macro_rules! jit_link {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(export_name = concat!("pagemill_", stringify!($name)))]
            #[allow(non_snake_case, reason = "the names are those of the linker")]
            // SAFETY: called by a program that keeps nvJitLink's contract for the pointers; no panic leaves it.
            unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                guard(stringify!($name), || $body)
            }
        )*
    };
}

jit_link! {
    fn nvJitLinkCreate(to: OutPtr<*mut c_void>, count: c_uint, options: *const InText) {
        let mut own = JitLink::default();
        for index in 0..count as usize {
            if options.is_null() {
                return Err(Refusal(NULL_INPUT, String::new()));
            }
            // SAFETY: the list is not null, and has `count` options, of which this is one.
            let option = unsafe { options.add(index).read() }.get()?;
            own.link.max_registers = max_registers(option).or(own.link.max_registers);
        }
        let handle = {
            let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
            links.0 += 1;
            let handle = HANDLE_TAG | links.0;
            links.1.insert(handle, own);
            handle
        };
        Ok(to.put(handle as *mut c_void)?)
    }

    fn nvJitLinkDestroy(handle: *mut *mut c_void) {
        if handle.is_null() {
            return Err(Refusal(NULL_INPUT, String::new()));
        }
        // SAFETY: the program passes `handle` as null or room for a handle.
        let own = unsafe { handle.read() };
        with_link(own, |_| Ok(()))?;
        LINKS.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&address(own));
        // SAFETY: `handle` is not null, and the handle that was read from there is the program's.
        unsafe { handle.write(std::ptr::null_mut()) };
        Ok(())
    }

    fn nvJitLinkAddData(handle: *mut c_void, kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char) {
        if data.is_null() {
            return Err(Refusal(NULL_INPUT, String::new()));
        }
        // SAFETY: `data` is not null, and the program says that `bytes` are there while this call lasts.
        add(handle, kind, unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) })
    }

    fn nvJitLinkAddFile(handle: *mut c_void, kind: c_int, path: InText) {
        let path = path.get()?;
        let data = std::fs::read(path).map_err(|error| Refusal(INVALID_INPUT, format!("{path}: {error}")))?;
        add(handle, kind, &data)
    }

    fn nvJitLinkComplete(handle: *mut c_void) {
        with_link(handle, |own| {
            if !own.errors.is_empty() {
                return Err(Refusal(INVALID_INPUT, String::new()));
            }
            own.link.complete();
            Ok(())
        })
    }

    fn nvJitLinkGetLinkedCubinSize(handle: *mut c_void, to: OutPtr<usize>) {
        Ok(to.put(linked(handle, <[u8]>::len)?)?)
    }

    fn nvJitLinkGetLinkedCubin(handle: *mut c_void, to: *mut c_char) {
        // SAFETY: the program passes `to` as null or room for its text.
        linked(handle, |text| unsafe { copy(text, to) })?
    }

    fn nvJitLinkGetLinkedPtxSize(handle: *mut c_void, to: OutPtr<usize>) {
        Ok(to.put(linked(handle, <[u8]>::len)?)?)
    }

    fn nvJitLinkGetLinkedPtx(handle: *mut c_void, to: *mut c_char) {
        // SAFETY: the program passes `to` as null or room for its text.
        linked(handle, |text| unsafe { copy(text, to) })?
    }

    fn nvJitLinkGetLinkedLTOIRSize(_handle: *mut c_void, _to: *mut usize) {
        Err(Refusal(LTO_NOT_ENABLED, String::new()))
    }

    fn nvJitLinkGetLinkedLTOIR(_handle: *mut c_void, _to: *mut c_char) {
        Err(Refusal(LTO_NOT_ENABLED, String::new()))
    }

    fn nvJitLinkGetErrorLogSize(handle: *mut c_void, to: OutPtr<usize>) {
        Ok(to.put(errors(handle)?.len())?)
    }

    fn nvJitLinkGetErrorLog(handle: *mut c_void, to: *mut c_char) {
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { copy(&errors(handle)?, to) }
    }

    fn nvJitLinkGetInfoLogSize(handle: *mut c_void, to: OutPtr<usize>) {
        with_link(handle, |_| Ok(()))?;
        Ok(to.put(0)?)
    }

    fn nvJitLinkGetInfoLog(handle: *mut c_void, _to: *mut c_char) {
        with_link(handle, |_| Ok(()))
    }

    fn nvJitLinkVersion(major: OutPtr<c_uint>, minor: OutPtr<c_uint>) {
        major.put(VERSION.0)?;
        Ok(minor.put(VERSION.1)?)
    }
}
