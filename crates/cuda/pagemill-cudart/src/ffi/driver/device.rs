//! The one device, as the driver API describes it.

use std::ffi::{c_char, c_int, c_uint};

use super::{driver, of_runtime};
use crate::ffi::device::{self, UUID, only};
use crate::ffi::properties::attribute;
use crate::ffi::{give, null, with_runtime};

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
    // SAFETY: by the contract of this function; one byte is left for the NUL.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len());
        to.add(bytes.len()).write(0);
    }
    Ok(())
}

// SAFETY, of all blocks below: see the module.
driver! { Init:
    fn cuDeviceGet(to: *mut c_int, ordinal: c_int) {
        only(ordinal)?;
        // SAFETY: the program passes `to` as null or room for an int.
        unsafe { give(to, ordinal) }
    }

    fn cuDeviceGetCount(to: *mut c_int) {
        // SAFETY: the program passes `to` as null or room for an int.
        unsafe { give(to, 1) }
    }

    fn cuDeviceGetName(to: *mut c_char, room: c_int, of: c_int) {
        only(of)?;
        let name = with_runtime(|runtime| Ok(runtime.setting().machine_title.clone()))?;
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { give_name(to, room, &name) }
    }

    fn cuDeviceGetUuid(to: *mut [u8; 16], of: c_int) {
        only(of)?;
        // SAFETY: the program passes `to` as null or room for `[u8; 16]`.
        unsafe { give(to, UUID) }
    }

    fn cuDeviceGetUuid_v2(to: *mut [u8; 16], of: c_int) {
        only(of)?;
        // SAFETY: the program passes `to` as null or room for `[u8; 16]`.
        unsafe { give(to, UUID) }
    }

    fn cuDeviceTotalMem_v2(to: *mut usize, of: c_int) {
        only(of)?;
        let bytes = with_runtime(|runtime| Ok(runtime.total_bytes()))?;
        // SAFETY: the program passes `to` as null or room for a size.
        unsafe { give(to, bytes as usize) }
    }

    fn cuDeviceGetAttribute(to: *mut c_int, number: c_int, of: c_int) {
        // SAFETY: the program passes `to` as null or room for an int.
        of_runtime(|| unsafe { device::cudaDeviceGetAttribute(to, number, of) })
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, of: c_int) {
        only(of)?;
        let values = with_runtime(|runtime| Ok([75, 76].map(|number| attribute(runtime, number))))?;
        // SAFETY: the program passes `major` and `minor` as null or room for an int.
        unsafe {
            give(major, values[0].unwrap_or(0))?;
            give(minor, values[1].unwrap_or(0))
        }
    }

    fn cuDeviceGetProperties(to: *mut Properties, of: c_int) {
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
        // SAFETY: the program passes `to` as null or room for `Properties`.
        unsafe { give(to, properties) }
    }

    fn cuDeviceGetP2PAttribute(to: *mut c_int, _attribute: c_int, from: c_int, peer: c_int) {
        only(from)?;
        only(peer)?;
        // SAFETY: the program passes `to` as null or room for an int.
        unsafe { give(to, 0) }
    }

    fn cuDeviceGetLuid(_to: *mut c_char, _mask: *mut c_uint, of: c_int) {
        only(of)?;
        // It exists on Windows only.
        Err(crate::error::Fault::silent(crate::error::CudaError::NOT_SUPPORTED))
    }

    fn cuDeviceGetExecAffinitySupport(to: *mut c_int, _kind: c_int, of: c_int) {
        only(of)?;
        // SAFETY: the program passes `to` as null or room for an int.
        unsafe { give(to, 0) }
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(to: *mut usize, _format: c_int, _channels: c_uint, of: c_int) {
        only(of)?;
        // SAFETY: the program passes `to` as null or room for a size.
        unsafe { give(to, 1 << 28) }
    }

    fn cuModuleGetLoadingMode(to: *mut c_int) {
        // Modules are loaded whole, when they are asked for.
        // SAFETY: the program passes `to` as null or room for an int.
        unsafe { give(to, 1) }
    }

    fn cuFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) {
        Ok(())
    }

}
