//! CUDA arrays: making them, and copying rows to and from them.

use std::ffi::{c_int, c_uint, c_void};

use super::copy::{Rows, span};
use super::memory::CudaExtent;
use super::texture::ChannelFormat;
use super::work::{Wait, submit, turn_of};
use super::{Done, InPtr, OutPtr, address, api, with_runtime};
use crate::error::{CudaError, Fault};
use pagemill_ptx::Texel;

use crate::runtime::{Copy3d, Extent, Runtime, Span, Work};

const SPARSE: c_uint = 0x40;

pub(super) fn create(
    to: OutPtr<*mut c_void>,
    format: InPtr<ChannelFormat>,
    asked: [usize; 3],
    flags: c_uint,
) -> Done {
    to.needed()?;
    let (texel, asked) = checked(format, asked, flags)?;
    let handle = with_runtime(|runtime| runtime.create_array(texel, asked, flags))?;
    to.put(handle as *mut c_void)
}

/// The texel and the extent of a new array.
pub(super) fn checked(
    format: InPtr<ChannelFormat>,
    asked: [usize; 3],
    flags: c_uint,
) -> Result<(Texel, [u64; 3]), Fault> {
    let format = format.read()?;
    if flags & SPARSE != 0 {
        let message = "pagemill does not support sparse arrays";
        return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
    }
    Ok((format.texel()?, asked.map(|texels| texels as u64)))
}

/// One side of a copy that an array takes part in.
#[derive(Clone, Copy)]
enum End {
    /// Memory of the program or of the GPU.
    Memory(Rows),
    /// An array, from a byte of a row on.
    Array(*const c_void, usize, usize),
}

impl End {
    fn span(self, runtime: &Runtime, extent: &Extent) -> Result<Span, Fault> {
        match self {
            Self::Memory(rows) => Ok(span(rows)),
            Self::Array(array, x_bytes, row) => {
                runtime
                    .arrays
                    .array_span(address(array), [x_bytes as u64, row as u64, 0], extent)
            }
        }
    }
}

/// Where a copy happens, and whether the host waits for it.
#[derive(Clone, Copy)]
struct Order {
    kind: c_int,
    stream: *mut c_void,
    wait: Wait,
}

impl Order {
    fn now(kind: c_int) -> Self {
        Self {
            kind,
            stream: std::ptr::null_mut(),
            wait: Wait::Yes,
        }
    }

    fn queued(kind: c_int, stream: *mut c_void) -> Self {
        Self {
            kind,
            stream,
            wait: Wait::No,
        }
    }
}

/// # Safety
/// As [`submit`].
unsafe fn rows(to: End, from: End, (width, height): (usize, usize), order: Order) -> Done {
    let extent = Extent {
        width_bytes: width as u64,
        rows: height as u64,
        slices: 1,
    };
    let stream = turn_of(order.stream, order.wait)?;
    with_runtime(|runtime| {
        let plan = Copy3d {
            to: to.span(runtime, &extent)?,
            from: from.span(runtime, &extent)?,
            extent,
        };
        // SAFETY: an end is rows of an array, which the runtime has checked, or memory of the program until the copy is done.
        unsafe { submit(runtime, stream, Work::Copy(plan, order.kind), order.wait) }
    })
}

/// Copies bytes that run on from one row of an array to the next.
///
/// # Safety
/// As [`submit`].
unsafe fn run_on(
    (array, x_bytes, row): (*const c_void, usize, usize),
    memory: *const c_void,
    bytes: usize,
    to_array: bool,
    order: Order,
) -> Done {
    let image = with_runtime(|runtime| Ok(runtime.arrays.array(address(array))?.image))?;
    let row_bytes = (image.extent[0] * image.texel.bytes()) as usize;
    let (mut x_bytes, mut row, mut done) = (x_bytes, row, 0);
    while done < bytes {
        let width = (bytes - done).min(row_bytes.saturating_sub(x_bytes));
        if width == 0 {
            let message = format!("byte {x_bytes} is not in a row of {row_bytes}");
            return Err(Fault::invalid(message));
        }
        // Whole rows go together.
        let height = if x_bytes == 0 && width == row_bytes {
            (bytes - done) / row_bytes
        } else {
            1
        };
        let memory = End::Memory((memory.wrapping_byte_add(done), width));
        let array = End::Array(array, x_bytes, row);
        let (to, from) = if to_array {
            (array, memory)
        } else {
            (memory, array)
        };
        // SAFETY: these are `width * height` of the `bytes` that the program has at `memory` until the copy is done.
        unsafe { rows(to, from, (width, height), order)? };
        done += width * height;
        (x_bytes, row) = (0, row + height);
    }
    Ok(())
}

api! {
    fn cudaMallocArray(to: OutPtr<*mut c_void>, format: InPtr<ChannelFormat>, width: usize, height: usize, flags: c_uint) {
        create(to, format, [width, height, 0], flags)
    }

    fn cudaMalloc3DArray(to: OutPtr<*mut c_void>, format: InPtr<ChannelFormat>, extent: CudaExtent, flags: c_uint) {
        create(to, format, [extent.width, extent.height, extent.depth], flags)
    }

    fn cudaFreeArray(array: *mut c_void) {
        if array.is_null() {
            return Ok(());
        }
        with_runtime(|runtime| runtime.free_array(address(array)))
    }

    fn cudaArrayGetInfo(format: OutPtr<ChannelFormat>, extent: OutPtr<CudaExtent>, flags: OutPtr<c_uint>, array: *mut c_void) {
        let array = with_runtime(|runtime| runtime.arrays.array(address(array)).copied())?;
        let [width, height, depth] = array.asked.map(|texels| texels as usize);
        format.put_if_wanted(ChannelFormat::of(array.image.texel));
        extent.put_if_wanted(CudaExtent { width, height, depth });
        flags.put_if_wanted(array.flags);
        Ok(())
    }

    fn cudaGetChannelDesc(to: OutPtr<ChannelFormat>, array: *const c_void) {
        let texel = with_runtime(|runtime| Ok(runtime.arrays.array(address(array))?.image.texel))?;
        to.put(ChannelFormat::of(texel))
    }

    fn cudaMemcpy2DToArray(to: *mut c_void, x_bytes: usize, row: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows(End::Array(to, x_bytes, row), End::Memory((from, pitch)), (width, height), Order::now(kind)) }
    }

    fn cudaMemcpy2DToArrayAsync(to: *mut c_void, x_bytes: usize, row: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows(End::Array(to, x_bytes, row), End::Memory((from, pitch)), (width, height), Order::queued(kind, stream)) }
    }

    fn cudaMemcpy2DFromArray(to: *mut c_void, pitch: usize, from: *const c_void, x_bytes: usize, row: usize, width: usize, height: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows(End::Memory((to, pitch)), End::Array(from, x_bytes, row), (width, height), Order::now(kind)) }
    }

    fn cudaMemcpy2DFromArrayAsync(to: *mut c_void, pitch: usize, from: *const c_void, x_bytes: usize, row: usize, width: usize, height: usize, kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows(End::Memory((to, pitch)), End::Array(from, x_bytes, row), (width, height), Order::queued(kind, stream)) }
    }

    fn cudaMemcpy2DArrayToArray(to: *mut c_void, to_x: usize, to_row: usize, from: *const c_void, from_x: usize, from_row: usize, width: usize, height: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows(End::Array(to, to_x, to_row), End::Array(from, from_x, from_row), (width, height), Order::now(kind)) }
    }

    fn cudaMemcpyToArray(to: *mut c_void, x_bytes: usize, row: usize, from: *const c_void, bytes: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { run_on((to, x_bytes, row), from, bytes, true, Order::now(kind)) }
    }

    fn cudaMemcpyToArrayAsync(to: *mut c_void, x_bytes: usize, row: usize, from: *const c_void, bytes: usize, kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { run_on((to, x_bytes, row), from, bytes, true, Order::queued(kind, stream)) }
    }

    fn cudaMemcpyFromArray(to: *mut c_void, from: *const c_void, x_bytes: usize, row: usize, bytes: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { run_on((from, x_bytes, row), to, bytes, false, Order::now(kind)) }
    }

    fn cudaMemcpyFromArrayAsync(to: *mut c_void, from: *const c_void, x_bytes: usize, row: usize, bytes: usize, kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { run_on((from, x_bytes, row), to, bytes, false, Order::queued(kind, stream)) }
    }
}
