//! The driver API, the second border over the same runtime: handles are those of the runtime API, so that a program may
//! use both. See `docs/adr/0016-cuda-driver.md`.
//!
//! The program keeps the contract of the driver API, as that of the runtime.

mod context;
mod copy;
mod device;
mod graph;
mod jit_link;
mod launch;
mod linker;
mod memory;
mod module;
mod same;
mod symbols;
mod tensor_map;
mod texture;
mod virtual_memory;

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{CudaError, Done, Fault, InPtr, LAST_ERROR, OutPtr, caught, complain};
use crate::error::driver_error;

/// What has to be true before a function of the driver may be called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// `cuInit` was called.
    Init,
    /// A context is current.
    Context,
}

/// Exports functions of the driver API as `pagemill_<name>`.
macro_rules! driver {
    ($needs:ident: $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(export_name = concat!("pagemill_", stringify!($name)))]
            #[allow(
                non_snake_case,
                clippy::too_many_arguments,
                reason = "names and parameters are those of CUDA"
            )]
            // SAFETY: the prefix keeps the name from any other library's; the shims pass on the arguments as the program's.
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                $crate::ffi::driver::guard(
                    stringify!($name), $crate::ffi::driver::Needs::$needs, || $body)
            }
        )*
    };
}
use driver;

/// The first table that NVIDIA's static runtime asks for, `6bd5fb6c-5bf4-e74a-8987-d93912fd9df9`.
const RUNTIME_TABLE: [u8; 16] = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

static INITIALIZED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The function of the driver that stands behind a call of the runtime API.
    static CALLED_AS: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The name of the driver's function that is at work in this thread.
pub(super) fn called_as() -> Option<&'static str> {
    CALLED_AS.get()
}

/// A function of the runtime API was called, which makes the primary context current where none is.
pub(super) fn note_runtime() {
    if CALLED_AS.get().is_none() {
        INITIALIZED.store(true, Ordering::Relaxed);
        context::use_primary();
    }
}

fn check(needs: Needs) -> Done {
    if needs != Needs::Nothing && !INITIALIZED.load(Ordering::Relaxed) {
        let message = "cuInit was not called";
        return Err(Fault::new(CudaError::INITIALIZATION, message));
    }
    if needs == Needs::Context {
        context::current()?;
    }
    Ok(())
}

/// Runs the body of a function of the driver API.
fn guard(function: &'static str, needs: Needs, body: impl FnOnce() -> Done) -> i32 {
    let outer = CALLED_AS.replace(Some(function));
    let outcome = caught(|| check(needs).and_then(|()| body()));
    CALLED_AS.set(outer);
    match outcome {
        Ok(()) => CudaError::SUCCESS.0,
        Err(fault) => {
            if let Some(message) = &fault.message {
                complain(function, message);
            }
            fault.code.for_driver()
        }
    }
}

/// Result of a function of the runtime API, which has reported errors already.
fn of_runtime(body: impl FnOnce() -> i32) -> Done {
    let last = LAST_ERROR.get();
    let code = body();
    LAST_ERROR.set(last);
    match code {
        0 => Ok(()),
        code => Err(Fault::silent(CudaError(code))),
    }
}

driver! { Nothing:
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Fault::invalid(format!("there are no flags {flags:#x}")));
        }
        super::with_runtime(|_| Ok(()))?;
        INITIALIZED.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn cuDriverGetVersion(to: OutPtr<c_int>) {
        to.put(super::device::DRIVER_VERSION)
    }

    fn cuGetErrorName(code: c_int, to: OutPtr<*const c_char>) {
        let (name, _) = driver_error(code).ok_or_else(|| Fault::silent(CudaError::INVALID_VALUE))?;
        to.put(name.as_ptr())
    }

    fn cuGetErrorString(code: c_int, to: OutPtr<*const c_char>) {
        let (_, text) = driver_error(code).ok_or_else(|| Fault::silent(CudaError::INVALID_VALUE))?;
        to.put(text.as_ptr())
    }

    fn cuGetExportTable(to: OutPtr<*const std::ffi::c_void>, id: InPtr<[u8; 16]>) {
        let id = id.read()?;
        to.put(std::ptr::null())?;
        if id == RUNTIME_TABLE {
            super::start::note_stripped();
        }
        Err(Fault::silent(CudaError::NOT_FOUND))
    }
}
