//! Copies of the driver API: plain ones, rows, and boxes.

use std::ffi::{c_int, c_uint, c_void};

use super::driver;
use crate::error::Fault;
use crate::ffi::copy::linear;
use crate::ffi::work::{Wait, submit, turn_of};
use crate::ffi::{Done, InPtr, address, with_runtime};
use crate::runtime::{Copy3d, Extent, Runtime, Span, Work};

/// `cudaMemcpyKind`.
const TO_GPU: c_int = 1;
const FROM_GPU: c_int = 2;
const ON_GPU: c_int = 3;
const ANY: c_int = 4;

/// `CUmemorytype`.
const HOST: c_uint = 1;
const ARRAY: c_uint = 3;

/// One side of a `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side2d {
    x_bytes: usize,
    row: usize,
    kind: c_uint,
    host: *const c_void,
    device: u64,
    array: *mut c_void,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Memcpy2d {
    from: Side2d,
    to: Side2d,
    width: usize,
    rows: usize,
}

/// One side of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    x_bytes: usize,
    row: usize,
    slice: usize,
    level: usize,
    kind: c_uint,
    host: *const c_void,
    device: u64,
    array: *mut c_void,
    reserved: *mut c_void,
    pitch: usize,
    slice_rows: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Memcpy3d {
    from: Side3d,
    to: Side3d,
    width: usize,
    rows: usize,
    slices: usize,
}

impl Side2d {
    fn in_3d(self, rows: usize) -> Side3d {
        Side3d {
            x_bytes: self.x_bytes,
            row: self.row,
            slice: 0,
            level: 0,
            kind: self.kind,
            host: self.host,
            device: self.device,
            array: self.array,
            reserved: std::ptr::null_mut(),
            pitch: self.pitch,
            slice_rows: rows,
        }
    }
}

impl Side3d {
    fn span(&self, runtime: &Runtime, extent: &Extent) -> Result<Span, Fault> {
        if self.kind == ARRAY {
            let at = [self.x_bytes, self.row, self.slice].map(|at| at as u64);
            return runtime.arrays.array_span(address(self.array), at, extent);
        }
        let start = if self.kind == HOST {
            address(self.host)
        } else {
            self.device
        };
        let pitch = match self.pitch {
            0 => extent.width_bytes,
            pitch => pitch as u64,
        };
        let rows = match self.slice_rows {
            0 => extent.rows,
            rows => rows as u64,
        };
        let place = || {
            let slice_bytes = pitch.checked_mul(rows)?;
            let offset = (self.slice as u64)
                .checked_mul(slice_bytes)?
                .checked_add((self.row as u64).checked_mul(pitch)?)?
                .checked_add(self.x_bytes as u64)?;
            Some(Span {
                address: start.checked_add(offset)?,
                pitch_bytes: pitch,
                slice_bytes,
            })
        };
        place().ok_or_else(|| Fault::invalid("the copy is larger than any memory"))
    }
}

impl From<Memcpy2d> for Memcpy3d {
    fn from(plan: Memcpy2d) -> Self {
        Self {
            from: plan.from.in_3d(plan.rows),
            to: plan.to.in_3d(plan.rows),
            width: plan.width,
            rows: plan.rows,
            slices: 1,
        }
    }
}

impl Memcpy3d {
    pub(super) fn work(&self, runtime: &Runtime) -> Result<Work, Fault> {
        let extent = Extent {
            width_bytes: self.width as u64,
            rows: self.rows as u64,
            slices: self.slices as u64,
        };
        let copy = Copy3d {
            to: self.to.span(runtime, &extent)?,
            from: self.from.span(runtime, &extent)?,
            extent,
        };
        Ok(Work::Copy(copy, ANY))
    }
}

/// # Safety
/// What `plan` names is there until the copy is done.
unsafe fn copy_box<T: Copy + Into<Memcpy3d>>(
    plan: InPtr<T>,
    stream: *mut c_void,
    wait: Wait,
) -> Done {
    let plan: Memcpy3d = plan.read()?.into();
    let stream = turn_of(stream, wait)?;
    with_runtime(|runtime| {
        let work = plan.work(runtime)?;
        // SAFETY: the boxes are in arrays or memory that the runtime knows, or that the program has until the copy is done.
        unsafe { submit(runtime, stream, work, wait) }
    })
}

const LEGACY: *mut c_void = std::ptr::null_mut();

/// Exports plain copies: their name, their kind.
macro_rules! copies {
    ($($now:ident $later:ident = $kind:expr;)*) => {
        driver! { Context: $(
            fn $now(to: *mut c_void, from: *const c_void, bytes: usize) {
                // SAFETY: the program has both ends until the copy is done, where they are not memory that the runtime checks.
                unsafe { linear(address(to), address(from), bytes, $kind, LEGACY, Wait::Yes) }
            }

            fn $later(to: *mut c_void, from: *const c_void, bytes: usize, stream: *mut c_void) {
                // SAFETY: the program has both ends until the copy is done, where they are not memory that the runtime checks.
                unsafe { linear(address(to), address(from), bytes, $kind, stream, Wait::No) }
            }
        )* }
    };
}

copies! {
    cuMemcpy cuMemcpyAsync = ANY;
    cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 = TO_GPU;
    cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 = FROM_GPU;
    cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2 = ON_GPU;
}

driver! { Context:
    fn cuMemcpy2D_v2(plan: InPtr<Memcpy2d>) {
        // SAFETY: the program keeps what `plan` names until the copy is done.
        unsafe { copy_box(plan, LEGACY, Wait::Yes) }
    }

    fn cuMemcpy2DUnaligned_v2(plan: InPtr<Memcpy2d>) {
        // SAFETY: the program keeps what `plan` names until the copy is done.
        unsafe { copy_box(plan, LEGACY, Wait::Yes) }
    }

    fn cuMemcpy2DAsync_v2(plan: InPtr<Memcpy2d>, stream: *mut c_void) {
        // SAFETY: the program keeps what `plan` names until the copy is done.
        unsafe { copy_box(plan, stream, Wait::No) }
    }

    fn cuMemcpy3D_v2(plan: InPtr<Memcpy3d>) {
        // SAFETY: the program keeps what `plan` names until the copy is done.
        unsafe { copy_box(plan, LEGACY, Wait::Yes) }
    }

    fn cuMemcpy3DAsync_v2(plan: InPtr<Memcpy3d>, stream: *mut c_void) {
        // SAFETY: the program keeps what `plan` names until the copy is done.
        unsafe { copy_box(plan, stream, Wait::No) }
    }
}
