//! Tensor maps: descriptions of tensors that kernels copy boxes of.

use std::ffi::{c_uint, c_void};

use pagemill_ptx::{RANK_MAX, TENSOR_MAP_BYTES, TensorMap};

use super::driver;
use crate::error::{CudaError, Fault};
use crate::ffi::{Done, address, null, with_runtime};
use crate::tensor_map::{CAPABILITY_MIN, MAP_ALIGN, Tiled};

type Words = [u64; TENSOR_MAP_BYTES / 8];

/// A pointer to a map that may be read and written.
fn checked(map: *mut Words) -> Result<*mut Words, Fault> {
    if map.is_null() {
        return Err(null());
    }
    match map.addr().is_multiple_of(MAP_ALIGN) {
        true => Ok(map),
        false => Err(Fault::invalid(format!(
            "the tensor map at {map:p} is not aligned to {MAP_ALIGN} bytes"
        ))),
    }
}

/// Whether the GPU has tensor maps at all.
fn check_capability() -> Done {
    let capability = with_runtime(|runtime| Ok(runtime.device.compute_capability()))?;
    if capability >= CAPABILITY_MIN {
        return Ok(());
    }
    let message = format!(
        "tensor maps need compute capability 9.0, this GPU has {}.{}; choose another --machine, such as gh200",
        capability / 10,
        capability % 10
    );
    Err(Fault::new(CudaError::NOT_SUPPORTED, message))
}

/// `count` numbers of the program.
///
/// # Safety
/// `numbers` is null or points to `count` of them.
unsafe fn read<T: Copy>(numbers: *const T, count: usize) -> Result<Vec<T>, Fault> {
    if numbers.is_null() && count > 0 {
        return Err(null());
    }
    // SAFETY: the list is not null if anything is read; `at` is below `count`, and the program has so many numbers there.
    let read = |at| unsafe { numbers.add(at).read_unaligned() };
    Ok((0..count).map(read).collect())
}

driver! { Context:
    fn cuTensorMapEncodeTiled(
        map: *mut Words, element: c_uint, rank: c_uint, begin: *mut c_void, sizes: *const u64, strides: *const u64,
        boxes: *const u32, steps: *const u32, interleave: c_uint, swizzle: c_uint, l2_promotion: c_uint, fill: c_uint,
    ) {
        let map = checked(map)?;
        check_capability()?;
        let count = rank as usize;
        if count > RANK_MAX {
            return Err(Fault::invalid(format!("a tensor has 1 to {RANK_MAX} dimensions, not {rank}")));
        }
        // SAFETY: the program passes `sizes` as null or with `count` values; `strides` as null or with `count` values.
        let (sizes, strides) = unsafe { (read(sizes, count)?, read(strides, count.saturating_sub(1))?) };
        // SAFETY: the program passes `boxes` as null or a pointer to a number; `steps` as null or a pointer to a number.
        let (boxes, steps) = unsafe { (read(boxes, count)?, read(steps, count)?) };
        let tiled = Tiled {
            element,
            address: address(begin),
            dimensions: sizes.into_iter().zip(boxes).zip(steps).map(|((size, own), step)| (size, own, step)).collect(),
            strides,
            interleave,
            swizzle,
            l2_promotion,
            fill,
        };
        let words = tiled.map()?.to_words();
        // SAFETY: `checked` found `map` aligned and not null; the program has room for a tensor map there.
        unsafe { map.write(words) };
        Ok(())
    }

    fn cuTensorMapReplaceAddress(map: *mut Words, begin: *mut c_void) {
        let map = checked(map)?;
        let begin = address(begin);
        // SAFETY: `checked` found `map` aligned and not null; the program has filled it.
        let mut words = unsafe { map.read() };
        if !TensorMap::is_one(&words) || !begin.is_multiple_of(16) {
            return Err(Fault::invalid(format!("no tensor map that cuTensorMapEncodeTiled made, or {begin:#x} is no multiple of 16")));
        }
        TensorMap::move_to(&mut words, begin);
        // SAFETY: the program passes `map` as null or room for `Words`.
        unsafe { map.write(words) };
        Ok(())
    }
}
