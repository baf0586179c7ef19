//! Memory and events of other processes.

use std::ffi::{c_uint, c_void};

use super::{address, api, give, null, with_runtime};
use crate::runtime::IpcHandle;

// SAFETY, of all blocks below: see the module.
api! {
    fn cudaIpcGetMemHandle(to: *mut IpcHandle, at: *mut c_void) {
        if to.is_null() {
            return Err(null());
        }
        let handle = with_runtime(|runtime| runtime.export_memory(address(at)))?;
        // SAFETY: the program passes `to` as null or room for `IpcHandle`.
        unsafe { give(to, handle) }
    }

    fn cudaIpcOpenMemHandle(to: *mut *mut c_void, handle: IpcBytes, _flags: c_uint) {
        if to.is_null() {
            return Err(null());
        }
        let at = with_runtime(|runtime| runtime.import_memory(&handle.0))?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, at as *mut c_void) }
    }

    fn cudaIpcCloseMemHandle(at: *mut c_void) {
        with_runtime(|runtime| runtime.close_memory(address(at)))
    }

    fn cudaIpcGetEventHandle(to: *mut IpcHandle, event: *mut c_void) {
        if to.is_null() {
            return Err(null());
        }
        let handle = with_runtime(|runtime| runtime.export_event(address(event)))?;
        // SAFETY: the program passes `to` as null or room for `IpcHandle`.
        unsafe { give(to, handle) }
    }

    fn cudaIpcOpenEventHandle(to: *mut *mut c_void, handle: IpcBytes) {
        if to.is_null() {
            return Err(null());
        }
        let event = with_runtime(|runtime| runtime.import_event(&handle.0))?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, event as *mut c_void) }
    }
}

/// A handle that is passed as it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct IpcBytes(pub(super) IpcHandle);
