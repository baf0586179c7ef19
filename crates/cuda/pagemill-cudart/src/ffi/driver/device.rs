//! The one device, as the driver API describes it.

use std::ffi::{c_char, c_int, c_uint};

use super::{driver, of_runtime};
use crate::ffi::device::{self, UUID, only};
use crate::ffi::properties::attribute;
use crate::ffi::{OutPtr, null, with_runtime};

/// `CUdevprop`.
#[repr(C)]
struct Properties {
    max_threads_per_block: c_int,
    max_block: [c_int; 3],
    max_grid: [c_int; 3],
    shared_bytes_per_block: c_int,
    constant_bytes: c_int,
    warp_threads: c_int,
    pitch_max: c_int,
    registers_per_block: c_int,
    clock_khz: c_int,
    texture_align: c_int,
}

/// # Safety
/// `to` points to room for `room` bytes.
unsafe fn give_name(to: *mut c_char, room: c_int, name: &str) -> crate::ffi::Done {
    let room = usize::try_from(room).unwrap_or(0);
    if to.is_null() || room == 0 {
        return Err(null());
    }
    let bytes = &name.as_bytes()[..name.len().min(room - 1)];
    // SAFETY: `to` is not null, and the program has `room` bytes there, one of which is left for the NUL.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        to.add(bytes.len()).write(0);
    }
    Ok(())
}

driver! { Init:
    fn cuDeviceGet(to: OutPtr<c_int>, ordinal: c_int) {
        only(ordinal)?;
        to.put(ordinal)
    }

    fn cuDeviceGetCount(to: OutPtr<c_int>) {
        to.put(1)
    }

    fn cuDeviceGetName(to: *mut c_char, room: c_int, of: c_int) {
        only(of)?;
        let name = with_runtime(|runtime| Ok(runtime.device.setting.machine_title.clone()))?;
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { give_name(to, room, &name) }
    }

    fn cuDeviceGetUuid(to: OutPtr<[u8; 16]>, of: c_int) {
        only(of)?;
        to.put(UUID)
    }

    fn cuDeviceGetUuid_v2(to: OutPtr<[u8; 16]>, of: c_int) {
        only(of)?;
        to.put(UUID)
    }

    fn cuDeviceTotalMem_v2(to: OutPtr<usize>, of: c_int) {
        only(of)?;
        let bytes = with_runtime(|runtime| Ok(runtime.device.total_bytes()))?;
        to.put(bytes as usize)
    }

    fn cuDeviceGetAttribute(to: OutPtr<c_int>, number: c_int, of: c_int) {
        // SAFETY: every pointer that this function passes on is an `OutPtr`.
        of_runtime(|| unsafe { device::cudaDeviceGetAttribute(to, number, of) })
    }

    fn cuDeviceComputeCapability(major: OutPtr<c_int>, minor: OutPtr<c_int>, of: c_int) {
        only(of)?;
        let values = with_runtime(|runtime| Ok([75, 76].map(|number| attribute(runtime, number))))?;
        major.put(values[0].unwrap_or(0))?;
        minor.put(values[1].unwrap_or(0))
    }

    fn cuDeviceGetProperties(to: OutPtr<Properties>, of: c_int) {
        only(of)?;
        let properties = with_runtime(|runtime| {
            let value = |number| attribute(runtime, number).unwrap_or(0);
            Ok(Properties {
                max_threads_per_block: value(1),
                max_block: [2, 3, 4].map(value),
                max_grid: [5, 6, 7].map(value),
                shared_bytes_per_block: value(8),
                constant_bytes: value(9),
                warp_threads: value(10),
                pitch_max: value(11),
                registers_per_block: value(12),
                clock_khz: value(13),
                texture_align: value(14),
            })
        })?;
        to.put(properties)
    }

    fn cuDeviceGetP2PAttribute(to: OutPtr<c_int>, _attribute: c_int, from: c_int, peer: c_int) {
        only(from)?;
        only(peer)?;
        to.put(0)
    }

    fn cuDeviceGetLuid(_to: *mut c_char, _mask: *mut c_uint, of: c_int) {
        only(of)?;
        // It exists on Windows only.
        Err(crate::error::Fault::silent(crate::error::CudaError::NOT_SUPPORTED))
    }

    fn cuDeviceGetExecAffinitySupport(to: OutPtr<c_int>, _kind: c_int, of: c_int) {
        only(of)?;
        to.put(0)
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(to: OutPtr<usize>, _format: c_int, _channels: c_uint, of: c_int) {
        only(of)?;
        to.put(1 << 28)
    }

    fn cuModuleGetLoadingMode(to: OutPtr<c_int>) {
        // Modules are loaded whole, when they are asked for.
        to.put(1)
    }

    fn cuFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) {
        Ok(())
    }

}
