//! A GPU that clears the host's memory over its link.

use std::ffi::c_void;

use cudarc::driver::{result, sys};

use super::call::Checked;
use super::library;
use crate::gpu::GpuFacts;
use crate::{GpuError, show_bytes};

/// The calls that clearing makes.
const CALLS: &[&str] = &[
    "cuMemHostRegister_v2",
    "cuMemHostGetDevicePointer_v2",
    "cuMemHostUnregister",
    "cuMemsetD8Async",
];

/// The first GPU, with its context retained.
pub struct HostWriter {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: a context may be current on any one thread at a time; each call makes it current first, and takes `&mut self`.
unsafe impl Send for HostWriter {}

impl HostWriter {
    /// The GPU that [`open`](Self::open) takes; changes nothing.
    ///
    /// # Errors
    /// If there is no driver, an old one, or no GPU that it can use.
    pub fn look() -> Result<GpuFacts, GpuError> {
        let mut gpus = library::probe_for(CALLS)?.into_iter();
        gpus.next()
            .ok_or(GpuError::NoSuchGpu { asked: 0, count: 0 })
    }

    /// Opens the first GPU.
    ///
    /// # Errors
    /// As [`look`](Self::look), and if the GPU refuses a context.
    pub fn open() -> Result<Self, GpuError> {
        let facts = Self::look()?;
        let device = library::device(facts.index)?;
        // SAFETY: the driver is loaded and initialized, and `device` is one of its devices.
        let context = unsafe { result::primary_ctx::retain(device) }
            .checked("cuDevicePrimaryCtxRetain", || {
                format!("opening {}", facts.name)
            })?;
        Ok(Self { device, context })
    }

    /// Has the GPU write zeroes to all of `pages`, which are runs of whole pages of the host, and waits until it has.
    ///
    /// # Errors
    /// A call failed: any of the pages may hold anything. After [`ClearError::StillWriting`] they stay registered.
    pub fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<(), ClearError> {
        // SAFETY: the context was retained by `open`, and is released when `self` is dropped.
        unsafe { result::ctx::set_current(self.context) }
            .checked("cuCtxSetCurrent", || "clearing host memory".to_owned())
            .map_err(ClearError::Stopped)?;
        let mut registered: Vec<*mut c_void> = Vec::with_capacity(pages.len());
        let sent = pages
            .iter_mut()
            .filter(|page| !page.is_empty())
            .try_for_each(|page| {
                registered.push(register(page)?);
                send(page)
            });
        // SAFETY: no argument; it waits for what was sent.
        let waited = unsafe { sys::cuCtxSynchronize() }
            .result()
            .checked("cuCtxSynchronize", || {
                format!("clearing {} runs of pages", registered.len())
            });
        waited.map_err(ClearError::StillWriting)?;
        let released = registered.into_iter().try_for_each(unregister);
        sent.and(released).map_err(ClearError::Stopped)
    }
}

impl Drop for HostWriter {
    fn drop(&mut self) {
        // SAFETY: retained by `open`; nothing is under way, as `zero` waits.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Why memory was not cleared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClearError {
    /// A call failed, and the GPU is done with the memory.
    #[error(transparent)]
    Stopped(GpuError),
    /// The GPU may go on writing until its context is gone.
    #[error(transparent)]
    StillWriting(GpuError),
}

/// Pins a run of pages and shows it to the GPU.
fn register(page: &mut [u8]) -> Result<*mut c_void, GpuError> {
    let start: *mut c_void = page.as_mut_ptr().cast();
    // SAFETY: the run is borrowed exclusively until `zero` returns, which unregisters it before.
    unsafe { sys::cuMemHostRegister_v2(start, page.len(), sys::CU_MEMHOSTREGISTER_DEVICEMAP) }
        .result()
        .checked("cuMemHostRegister", || {
            format!("showing {} to the GPU", show_bytes(page.len() as u64))
        })?;
    Ok(start)
}

/// Sends off the clearing of a registered run.
fn send(page: &mut [u8]) -> Result<(), GpuError> {
    let sending = || format!("clearing {}", show_bytes(page.len() as u64));
    let mut seen: sys::CUdeviceptr = 0;
    // SAFETY: the run is registered; the driver writes one address.
    unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut seen, page.as_ptr().cast_mut().cast(), 0) }
        .result()
        .checked("cuMemHostGetDevicePointer", sending)?;
    // SAFETY: the GPU sees the run at `seen`, for as many bytes as it is long, until it is unregistered.
    unsafe { sys::cuMemsetD8Async(seen, 0, page.len(), std::ptr::null_mut()) }
        .result()
        .checked("cuMemsetD8Async", sending)
}

fn unregister(start: *mut c_void) -> Result<(), GpuError> {
    // SAFETY: registered by `register`, and the GPU is done with it.
    unsafe { sys::cuMemHostUnregister(start) }
        .result()
        .checked("cuMemHostUnregister", || {
            "taking back host memory".to_owned()
        })
}
