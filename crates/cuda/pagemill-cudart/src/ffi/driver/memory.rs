//! What the driver API says of memory, and fills.

use std::ffi::{c_int, c_uint, c_void};

use super::context::current;
use super::{driver, of_runtime};
use crate::error::{CudaError, Fault};
use crate::ffi::work::{Wait, submit};
use crate::ffi::{Done, OutPtr, address, memory, null, with_runtime};
use crate::runtime::{Extent, Side, Span, StreamId, Work};

/// `CUpointer_attribute`.
mod pointer {
    pub(super) const CONTEXT: i32 = 1;
    pub(super) const MEMORY_TYPE: i32 = 2;
    pub(super) const DEVICE_POINTER: i32 = 3;
    pub(super) const HOST_POINTER: i32 = 4;
    pub(super) const SYNC_MEMOPS: i32 = 6;
    pub(super) const BUFFER_ID: i32 = 7;
    pub(super) const IS_MANAGED: i32 = 8;
    pub(super) const DEVICE_ORDINAL: i32 = 9;
    pub(super) const IS_LEGACY_CUDA_IPC_CAPABLE: i32 = 10;
    pub(super) const RANGE_START: i32 = 11;
    pub(super) const RANGE_SIZE: i32 = 12;
    pub(super) const MAPPED: i32 = 13;
    pub(super) const ALLOWED_HANDLE_TYPES: i32 = 14;
    pub(super) const IS_GPU_DIRECT_RDMA_CAPABLE: i32 = 15;
    pub(super) const ACCESS_FLAGS: i32 = 16;
    pub(super) const MEMPOOL: i32 = 17;
}

/// # Safety
/// `to` is null or points to room for a `T`.
unsafe fn give<T>(to: *mut c_void, value: T) -> Done {
    // SAFETY: an attribute's room is that of its value, which nothing else uses during the call.
    unsafe { OutPtr::new(to.cast()) }.put(value)
}

/// Writes the value of a `CUpointer_attribute`.
///
/// # Safety
/// `to` is null or points to room for the attribute's type.
unsafe fn give_attribute(to: *mut c_void, number: c_int, at: u64) -> Done {
    let (side, range) =
        with_runtime(|runtime| Ok((runtime.device.side(at), runtime.device.allocation(at))))?;
    let (start, bytes) = range.unwrap_or((at, 0));
    if side == Side::Host {
        let unknown = Fault::silent(CudaError::INVALID_VALUE);
        return Err(unknown);
    }
    let none = || Err(Fault::silent(CudaError::INVALID_VALUE));
    // SAFETY: `to` is null, or the program has room there for the attribute of that number, whose type is that of the value.
    unsafe {
        match number {
            pointer::CONTEXT => give(to, current()?),
            // Host, or device: managed memory is the latter.
            pointer::MEMORY_TYPE => give(to, if side == Side::Pinned { 1u32 } else { 2 }),
            pointer::DEVICE_POINTER => give(to, at),
            pointer::HOST_POINTER if side == Side::Device => none(),
            pointer::HOST_POINTER => give(to, at),
            pointer::SYNC_MEMOPS => give(to, 1u32),
            pointer::BUFFER_ID => give(to, start),
            pointer::IS_MANAGED => give(to, u32::from(side == Side::Managed)),
            pointer::DEVICE_ORDINAL => give(to, 0i32),
            pointer::IS_LEGACY_CUDA_IPC_CAPABLE | pointer::IS_GPU_DIRECT_RDMA_CAPABLE => {
                give(to, 0u32)
            }
            pointer::RANGE_START => give(to, start),
            pointer::RANGE_SIZE => give(to, bytes),
            pointer::MAPPED => give(to, 1u32),
            pointer::ALLOWED_HANDLE_TYPES => give(to, 0u64),
            // Reading and writing.
            pointer::ACCESS_FLAGS => give(to, 3u32),
            pointer::MEMPOOL => give(to, 0u64),
            _ => none(),
        }
    }
}

/// Fills `rows` rows of `width` elements.
fn set(
    to: *mut c_void,
    pitch: usize,
    element: &[u8],
    (width, rows): (usize, usize),
    stream: *mut c_void,
) -> Done {
    if !address(to).is_multiple_of(element.len() as u64) {
        return Err(Fault::invalid(format!(
            "{to:p} is no multiple of the element, {} bytes",
            element.len()
        )));
    }
    let width_bytes = (width as u64)
        .checked_mul(element.len() as u64)
        .ok_or_else(null)?;
    let extent = Extent {
        width_bytes,
        rows: rows as u64,
        slices: 1,
    };
    let span = Span {
        address: address(to),
        pitch_bytes: pitch as u64,
        slice_bytes: 0,
    };
    let stream = StreamId(address(stream));
    let work = Work::Fill(span, extent, element.to_vec());
    // SAFETY: this is no copy: a fill reaches only memory that the runtime knows.
    with_runtime(|runtime| unsafe { submit(runtime, stream, work, Wait::No) })
}

const LEGACY: *mut c_void = std::ptr::null_mut();

driver! { Context:
    fn cuMemGetAddressRange_v2(start: OutPtr<u64>, bytes: OutPtr<usize>, at: u64) {
        let found = with_runtime(|runtime| Ok(runtime.device.allocation(at)))?;
        let found = found.ok_or_else(|| Fault::new(CudaError::NOT_FOUND, format!("{at:#x} is in no allocation")))?;
        start.put_if_wanted(found.0);
        bytes.put_if_wanted(found.1 as usize);
        Ok(())
    }

    fn cuMemAllocPitch_v2(to: OutPtr<*mut c_void>, pitch: OutPtr<usize>, width: usize, rows: usize, _element: c_uint) {
        // SAFETY: the program passes `to` as null or room for a handle; `pitch` as null or room for a size.
        of_runtime(|| unsafe { memory::cudaMallocPitch(to, pitch, width, rows) })
    }

    fn cuPointerGetAttribute(to: *mut c_void, number: c_int, at: u64) {
        // SAFETY: the program passes `to` as null or room for the attribute of that number.
        unsafe { give_attribute(to, number, at) }
    }

    fn cuPointerGetAttributes(count: c_uint, numbers: *const c_int, to: *mut *mut c_void, at: u64) {
        if numbers.is_null() || to.is_null() {
            return Err(null());
        }
        for index in 0..count as usize {
            // SAFETY: the program passes `to` as null or room for a handle; `numbers` as null or a pointer to an int.
            unsafe {
                let (number, room) = (numbers.add(index).read_unaligned(), to.add(index).read_unaligned());
                // What is not known of a pointer is zero.
                if give_attribute(room, number, at).is_err() && !room.is_null() {
                    match number {
                        pointer::DEVICE_ORDINAL => give(room, -2i32)?,
                        pointer::MEMORY_TYPE | pointer::IS_MANAGED => give(room, 0u32)?,
                        pointer::CONTEXT | pointer::DEVICE_POINTER | pointer::HOST_POINTER => give(room, 0u64)?,
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(_value: *const c_void, number: c_int, at: u64) {
        let side = with_runtime(|runtime| Ok(runtime.device.side(at)))?;
        if number == pointer::SYNC_MEMOPS && side != Side::Host {
            return Ok(());
        }
        Err(Fault::silent(CudaError::INVALID_VALUE))
    }

    fn cuMemsetD8_v2(to: *mut c_void, value: u8, count: usize) {
        set(to, count, &[value], (count, 1), LEGACY)
    }

    fn cuMemsetD16_v2(to: *mut c_void, value: u16, count: usize) {
        set(to, count, &value.to_le_bytes(), (count, 1), LEGACY)
    }

    fn cuMemsetD32_v2(to: *mut c_void, value: u32, count: usize) {
        set(to, count, &value.to_le_bytes(), (count, 1), LEGACY)
    }

    fn cuMemsetD8Async(to: *mut c_void, value: u8, count: usize, stream: *mut c_void) {
        set(to, count, &[value], (count, 1), stream)
    }

    fn cuMemsetD16Async(to: *mut c_void, value: u16, count: usize, stream: *mut c_void) {
        set(to, count, &value.to_le_bytes(), (count, 1), stream)
    }

    fn cuMemsetD32Async(to: *mut c_void, value: u32, count: usize, stream: *mut c_void) {
        set(to, count, &value.to_le_bytes(), (count, 1), stream)
    }

    fn cuMemsetD2D8_v2(to: *mut c_void, pitch: usize, value: u8, width: usize, rows: usize) {
        set(to, pitch, &[value], (width, rows), LEGACY)
    }

    fn cuMemsetD2D16_v2(to: *mut c_void, pitch: usize, value: u16, width: usize, rows: usize) {
        set(to, pitch, &value.to_le_bytes(), (width, rows), LEGACY)
    }

    fn cuMemsetD2D32_v2(to: *mut c_void, pitch: usize, value: u32, width: usize, rows: usize) {
        set(to, pitch, &value.to_le_bytes(), (width, rows), LEGACY)
    }

    fn cuMemsetD2D8Async(to: *mut c_void, pitch: usize, value: u8, width: usize, rows: usize, stream: *mut c_void) {
        set(to, pitch, &[value], (width, rows), stream)
    }

    fn cuMemsetD2D32Async(to: *mut c_void, pitch: usize, value: u32, width: usize, rows: usize, stream: *mut c_void) {
        set(to, pitch, &value.to_le_bytes(), (width, rows), stream)
    }
}
