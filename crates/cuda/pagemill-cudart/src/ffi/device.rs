//! The one device, and what there is to say about it.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::properties::{self, Layout, attribute};
use super::{Done, InText, OutPtr, api, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::Runtime;
use pagemill_sim::DeviceFacts;

/// The same for every simulated GPU, as there is one.
pub(super) const UUID: [u8; 16] = *b"pagemill GPU 000";

pub(super) const DRIVER_VERSION: c_int = 13_050;
const RUNTIME_VERSION_12: c_int = 12_090;
const RUNTIME_VERSION_13: c_int = 13_000;

pub(super) fn only(device: c_int) -> Done {
    if device == 0 {
        return Ok(());
    }
    let message = format!("there is no device {device}: pagemill simulates one, device 0");
    Err(Fault::new(CudaError::INVALID_DEVICE, message))
}

/// # Safety
/// `to` is null or points to a structure of `layout`.
unsafe fn give_properties(to: *mut c_void, device: c_int, layout: Layout) -> Done {
    only(device)?;
    if to.is_null() {
        return Err(null());
    }
    let bytes = with_runtime(|runtime| Ok(properties::device_properties(runtime, layout)))?;
    // SAFETY: `to` is not null, so that the program's structure of `layout`, which has as many bytes, is there; the bytes
    // that are copied are a vector of ours.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
    Ok(())
}

/// `cudaLimitStackSize`.
const STACK_LIMIT: c_int = 0;
/// Most local memory of a thread: CUDA C++ Programming Guide, every compute capability.
const STACK_BYTES_MAX: usize = 512 << 10;
/// `cudaLimitMallocHeapSize`.
const HEAP_LIMIT: c_int = 2;

/// By number, as CUDA has them at first: stack of a thread, buffer of `printf` and heap of `malloc` in kernels, in bytes;
/// launches of kernels that may wait.
static LIMITS: [(c_int, AtomicUsize); 4] = [
    (STACK_LIMIT, AtomicUsize::new(1 << 10)),
    (1, AtomicUsize::new(1 << 20)),
    (HEAP_LIMIT, AtomicUsize::new(8 << 20)),
    (4, AtomicUsize::new(2048)),
];

/// What kernels learn when they ask about the device.
pub(super) fn facts(runtime: &Runtime) -> DeviceFacts {
    let attributes = (1..=properties::ATTRIBUTE_MAX)
        .filter_map(|number| Some((number, attribute(runtime, number)?)));
    let limits = LIMITS.iter();
    let limits = limits.map(|(limit, value)| (*limit, value.load(Ordering::Relaxed) as u64));
    DeviceFacts {
        runtime_version: RUNTIME_VERSION_13,
        attributes: attributes.collect(),
        limits: limits.collect(),
        errors: CudaError::all()
            .map(|(code, name, description)| (code, (name.to_owned(), description.to_owned())))
            .collect(),
    }
}

fn known_limit(limit: c_int) -> Result<&'static AtomicUsize, Fault> {
    let known = LIMITS.iter().find(|(own, _)| *own == limit);
    known.map(|(_, value)| value).ok_or_else(|| {
        let message = format!("pagemill has no limit {limit}");
        Fault::new(CudaError::UNSUPPORTED_LIMIT, message)
    })
}

api! {
    fn cudaGetDeviceCount(to: OutPtr<c_int>) {
        to.put(1)
    }

    fn cudaGetDevice(to: OutPtr<c_int>) {
        to.put(0)
    }

    fn cudaSetDevice(device: c_int) {
        only(device)?;
        with_runtime(|_| Ok(()))
    }

    fn cudaInitDevice(device: c_int, _device_flags: c_uint, _flags: c_uint) {
        only(device)
    }

    fn cudaChooseDevice(to: OutPtr<c_int>, _properties: *const c_void) {
        to.put(0)
    }

    fn cudaSetDeviceFlags(_flags: c_uint) {
        Ok(())
    }

    fn cudaGetDeviceFlags(to: OutPtr<c_uint>) {
        to.put(0)
    }

    fn cudaGetDeviceProperties(to: *mut c_void, device: c_int) {
        // SAFETY: programs of CUDA 13, for which this is the function's name, have room for its structure.
        unsafe { give_properties(to, device, Layout::Thirteen) }
    }

    fn cudaGetDeviceProperties_v12(to: *mut c_void, device: c_int) {
        // SAFETY: the shim of CUDA 12 calls this function, and so only programs with room for its structure.
        unsafe { give_properties(to, device, Layout::Twelve) }
    }

    fn cudaDeviceGetAttribute(to: OutPtr<c_int>, number: c_int, device: c_int) {
        only(device)?;
        let value = with_runtime(|runtime| {
            attribute(runtime, number).ok_or_else(|| {
                Fault::invalid(format!("there is no device attribute {number}"))
            })
        })?;
        to.put(value)
    }

    fn cudaDriverGetVersion(to: OutPtr<c_int>) {
        to.put(DRIVER_VERSION)
    }

    fn cudaRuntimeGetVersion(to: OutPtr<c_int>) {
        to.put(RUNTIME_VERSION_13)
    }

    fn cudaRuntimeGetVersion_v12(to: OutPtr<c_int>) {
        to.put(RUNTIME_VERSION_12)
    }

    fn cudaDeviceGetCacheConfig(to: OutPtr<c_int>) {
        to.put(0)
    }

    fn cudaDeviceSetCacheConfig(_preference: c_int) {
        Ok(())
    }

    fn cudaDeviceGetStreamPriorityRange(least: OutPtr<c_int>, greatest: OutPtr<c_int>) {
        for to in [least, greatest] {
            to.put_if_wanted(0);
        }
        Ok(())
    }

    fn cudaDeviceCanAccessPeer(to: OutPtr<c_int>, device: c_int, _peer: c_int) {
        only(device)?;
        to.put(0)
    }

    fn cudaDeviceGetPCIBusId(to: *mut c_char, bytes: c_int, device: c_int) {
        only(device)?;
        let id = c"0000:00:00.0".to_bytes_with_nul();
        if to.is_null() || usize::try_from(bytes).map_or(true, |room| room < id.len()) {
            return Err(null());
        }
        // SAFETY: the program says that there is room for that many bytes.
        unsafe { std::ptr::copy_nonoverlapping(id.as_ptr(), to.cast(), id.len()) };
        Ok(())
    }

    fn cudaDeviceGetByPCIBusId(to: OutPtr<c_int>, id: InText) {
        let id = id.get()?;
        if !id.ends_with("00:00.0") {
            let message = format!("there is no device {id:?}: pagemill simulates one, 0000:00:00.0");
            return Err(Fault::new(CudaError::INVALID_DEVICE, message));
        }
        to.put(0)
    }

    fn cudaDeviceEnablePeerAccess(peer: c_int, _flags: c_uint) {
        let message = format!("device {peer} is no other device: pagemill simulates one");
        Err(Fault::new(CudaError::PEER_ACCESS_UNSUPPORTED, message))
    }

    fn cudaSetValidDevices(devices: *const c_int, count: c_int) {
        for index in 0..usize::try_from(count).unwrap_or(0) {
            if devices.is_null() {
                return Err(null());
            }
            // SAFETY: the program says that there are so many.
            only(unsafe { devices.add(index).read_unaligned() })?;
        }
        Ok(())
    }

    fn cudaCtxResetPersistingL2Cache() {
        // Nothing persists.
        Ok(())
    }

    fn cudaDeviceGetLimit(to: OutPtr<usize>, limit: c_int) {
        let value = known_limit(limit)?.load(Ordering::Relaxed);
        to.put(value)
    }

    fn cudaDeviceSetLimit(limit: c_int, value: usize) {
        // What is printed has room whatever its limit says.
        let known = known_limit(limit)?;
        match limit {
            STACK_LIMIT if value > STACK_BYTES_MAX => {
                return Err(Fault::invalid(format!("a thread has at most {STACK_BYTES_MAX} bytes of stack, not {value}")));
            }
            STACK_LIMIT => with_runtime(|runtime| {
                runtime.device.gpu.set_stack_bytes(u32::try_from(value).unwrap_or(u32::MAX));
                Ok(())
            })?,
            HEAP_LIMIT => with_runtime(|runtime| runtime.device.set_heap_bytes(value as u64))?,
            _ => {}
        }
        known.store(value, Ordering::Relaxed);
        with_runtime(|runtime| {
            let facts = runtime.device.gpu.device_facts_mut();
            facts.limits.insert(limit, value as u64);
            Ok(())
        })
    }

    fn cudaProfilerStart() {
        Ok(())
    }

    fn cudaProfilerStop() {
        Ok(())
    }
}
