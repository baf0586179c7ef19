//! Memory and events of other processes.

use std::ffi::{c_uint, c_void};

use super::{OutPtr, address, api, with_runtime};
use crate::runtime::IpcHandle;

api! {
    fn cudaIpcGetMemHandle(to: OutPtr<IpcHandle>, at: *mut c_void) {
        to.needed()?;
        let handle = with_runtime(|runtime| runtime.export_memory(address(at)))?;
        to.put(handle)
    }

    fn cudaIpcOpenMemHandle(to: OutPtr<*mut c_void>, handle: IpcBytes, _flags: c_uint) {
        to.needed()?;
        let at = with_runtime(|runtime| runtime.shared.import_memory(&mut runtime.device, &handle.0))?;
        to.put(at as *mut c_void)
    }

    fn cudaIpcCloseMemHandle(at: *mut c_void) {
        with_runtime(|runtime| runtime.close_memory(address(at)))
    }

    fn cudaIpcGetEventHandle(to: OutPtr<IpcHandle>, event: *mut c_void) {
        to.needed()?;
        let handle = with_runtime(|runtime| runtime.export_event(address(event)))?;
        to.put(handle)
    }

    fn cudaIpcOpenEventHandle(to: OutPtr<*mut c_void>, handle: IpcBytes) {
        to.needed()?;
        let event = with_runtime(|runtime| runtime.import_event(&handle.0))?;
        to.put(event as *mut c_void)
    }
}

/// A handle that is passed as it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct IpcBytes(pub(super) IpcHandle);
