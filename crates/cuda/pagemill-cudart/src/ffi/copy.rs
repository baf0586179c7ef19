//! Copies and fills.

use std::ffi::{c_int, c_void};

use super::memory::{CudaExtent, Location, PitchedPtr, in_force, list};
use super::work::{Wait, submit, turn_of};
use super::{Done, InPtr, OutPtr, address, api, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{Copy3d, Extent, Runtime, Side, Span, StreamId, Work};
use pagemill_ptx::Defect;

/// `cudaMemcpyKind`: which side each pointer has to be on.
#[derive(Clone, Copy)]
struct Kind(c_int);

impl Kind {
    const DEFAULT: Self = Self(4);
    const TO_GPU: [c_int; 2] = [1, 3];
    const FROM_GPU: [c_int; 2] = [2, 3];

    fn check(self, runtime: &Runtime, copy: &Copy3d, to: Side, from: Side) -> Done {
        if !(0..=4).contains(&self.0) {
            let message = format!("there is no copy kind {}", self.0);
            return Err(Fault::new(CudaError::INVALID_MEMCPY_DIRECTION, message));
        }
        let wrong = |what: &str, address: u64| {
            let message = format!(
                "the {what} {address:#x} is no memory of the GPU, as the copy kind says it is"
            );
            runtime.device.outside(address, message)
        };
        if Self::TO_GPU.contains(&self.0) && to == Side::Host {
            return Err(wrong("destination", copy.to.address));
        }
        if Self::FROM_GPU.contains(&self.0) && from == Side::Host {
            return Err(wrong("source", copy.from.address));
        }
        Ok(())
    }
}

/// Does a copy and takes its time.
///
/// # Safety
/// What the runtime does not know of both spans is memory of the program.
pub(super) unsafe fn copy(
    runtime: &mut Runtime,
    copy: &Copy3d,
    kind: c_int,
    stream: StreamId,
) -> Done {
    if copy.extent.bytes() == Some(0) {
        return Ok(());
    }
    if copy.to.address == 0 || copy.from.address == 0 {
        return Err(null());
    }
    let (from_side, from) = runtime.device.locate_source(&copy.from, &copy.extent)?;
    let from = from.map_or(copy.from.address as *const u8, |bytes| bytes.as_ptr());
    let mut unset = runtime.device.unset_rows(copy);
    unset.extend(runtime.device.unset_gaps(&copy.to, &copy.extent));
    let (to_side, to) = runtime.device.locate(&copy.to, &copy.extent)?;
    let to = to.map_or(copy.to.address as *mut u8, <[u8]>::as_mut_ptr);
    Kind(kind).check(runtime, copy, to_side, from_side)?;
    for slice in 0..copy.extent.slices {
        for row in 0..copy.extent.rows {
            let (to_offset, from_offset) =
                (copy.to.offset(row, slice), copy.from.offset(row, slice));
            // SAFETY: `locate` has checked the bytes of known memory, the rest is the program's; the two may overlap.
            unsafe {
                std::ptr::copy(
                    from.add(from_offset as usize),
                    to.add(to_offset as usize),
                    copy.extent.width_bytes as usize,
                );
            }
        }
    }
    runtime.device.leave_unset(&unset);
    runtime.charge_copy(copy, to_side, from_side, stream)
}

/// Fills memory that the runtime knows with an element, again and again, and takes the time of it.
pub(super) fn fill(
    runtime: &mut Runtime,
    span: &Span,
    extent: &Extent,
    element: &[u8],
    stream: StreamId,
) -> Done {
    if extent.bytes() == Some(0) {
        return Ok(());
    }
    let unset = runtime.device.unset_gaps(span, extent);
    let (side, bytes) = runtime.device.locate(span, extent)?;
    let Some(bytes) = bytes else {
        let message = format!("{:#x} is no memory of the GPU", span.address);
        return Err(runtime.device.outside(span.address, message));
    };
    for slice in 0..extent.slices {
        for row in 0..extent.rows {
            let start = span.offset(row, slice) as usize;
            let row = &mut bytes[start..start + extent.width_bytes as usize];
            for (byte, value) in row.iter_mut().zip(element.iter().cycle()) {
                *byte = *value;
            }
        }
    }
    runtime.device.leave_unset(&unset);
    runtime.charge_fill(span, extent, side, stream)
}

/// A copy of consecutive bytes.
pub(super) fn linear_plan(to: u64, from: u64, bytes: usize) -> Copy3d {
    let bytes = bytes as u64;
    Copy3d {
        to: Span::linear(to, bytes),
        from: Span::linear(from, bytes),
        extent: Extent::linear(bytes),
    }
}

/// # Safety
/// As [`copy`].
pub(super) unsafe fn linear(
    to: u64,
    from: u64,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
    wait: Wait,
) -> Done {
    let plan = linear_plan(to, from, bytes);
    let stream = turn_of(stream, wait)?;
    // SAFETY: both ends are memory that the runtime knows, or that the program has until the copy is done.
    with_runtime(|runtime| unsafe { submit(runtime, stream, Work::Copy(plan, kind), wait) })
}

/// `cudaMemcpyAttributes`.
#[repr(C)]
pub(super) struct CopyAttributes {
    /// When sources are read: in the order of the stream, during the call, or at any time.
    order: c_int,
    /// Where the operands are likely to be.
    hints: [Location; 2],
    flags: u32,
}

/// A batch does its copies one after the other, in the order of the stream, which every order of reading allows.
/// A failure names the copy; the largest number stands for the whole batch.
///
/// # Safety
/// As [`copy`], for each of the `count` entries of the lists; `attributes` and `firsts` have `attribute_count`.
unsafe fn batch(
    (to, from): (*const *mut c_void, *const *const c_void),
    (sizes, count): (*const usize, usize),
    (attributes, firsts, attribute_count): (*const CopyAttributes, *const usize, usize),
    stream: *mut c_void,
) -> Result<(), (usize, Fault)> {
    let whole = |fault| (usize::MAX, fault);
    // SAFETY: the caller vouches for the lengths of all five lists; `list` refuses null.
    let (to, from, sizes, attributes, firsts) = unsafe {
        (
            list(to, count).map_err(whole)?,
            list(from, count).map_err(whole)?,
            list(sizes, count).map_err(whole)?,
            list(attributes, attribute_count).map_err(whole)?,
            list(firsts, attribute_count).map_err(whole)?,
        )
    };
    for at in 0..count {
        let here = |fault| (at, fault);
        let order = attributes[in_force(firsts, at, count).map_err(whole)?].order;
        if !(1..=3).contains(&order) {
            let message = format!("{order} is no order of reading: they are 1 to 3");
            return Err(here(Fault::invalid(message)));
        }
        let (to, from) = (address(to[at]), address(from[at]));
        // SAFETY: both ranges are memory of the program, or the runtime knows them and checks their ends.
        unsafe { linear(to, from, sizes[at], Kind::DEFAULT.0, stream, Wait::No).map_err(here)? };
    }
    Ok(())
}

/// Pointer and pitch of one side of a copy of rows.
pub(super) type Rows = (*const c_void, usize);

pub(super) fn span((pointer, pitch): Rows) -> Span {
    Span {
        address: address(pointer),
        pitch_bytes: pitch as u64,
        slice_bytes: 0,
    }
}

/// # Safety
/// As [`copy`].
unsafe fn rows(
    to: Rows,
    from: Rows,
    (width, height): (usize, usize),
    kind: c_int,
    stream: *mut c_void,
    wait: Wait,
) -> Done {
    let pitch = to.1.min(from.1);
    // Also of one row, which would need no pitch.
    if height > 0 && width > pitch {
        let message = format!("a pitch of {pitch} bytes is less than a row of {width}");
        return Err(Fault::invalid(message));
    }
    let plan = Copy3d {
        to: span(to),
        from: span(from),
        extent: Extent {
            width_bytes: width as u64,
            rows: height as u64,
            slices: 1,
        },
    };
    let stream = turn_of(stream, wait)?;
    // SAFETY: both ends are memory that the runtime knows, or that the program has until the copy is done.
    with_runtime(|runtime| unsafe { submit(runtime, stream, Work::Copy(plan, kind), wait) })
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Position {
    x: usize,
    y: usize,
    z: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Memcpy3d {
    from_array: *mut c_void,
    from_position: Position,
    from: PitchedPtr,
    to_array: *mut c_void,
    to_position: Position,
    to: PitchedPtr,
    extent: CudaExtent,
    kind: c_int,
}

impl Memcpy3d {
    /// The copy as work of a stream.
    pub(super) fn work(&self, runtime: &Runtime) -> Result<Work, Fault> {
        Ok(Work::Copy(self.plan(runtime)?, self.kind))
    }

    /// What is copied: with an array on either side, the extent and the position in that array count texels.
    fn plan(&self, runtime: &Runtime) -> Result<Copy3d, Fault> {
        let texel_bytes = |array: *mut c_void| match array.is_null() {
            true => Ok(None),
            false => runtime
                .arrays
                .array(address(array))
                .map(|array| Some(array.image.texel.bytes())),
        };
        let (to_texel, from_texel) = (texel_bytes(self.to_array)?, texel_bytes(self.from_array)?);
        let mut extent = self.extent.in_bytes();
        let scale = to_texel.or(from_texel).unwrap_or(1);
        extent.width_bytes = extent.width_bytes.checked_mul(scale).ok_or_else(null)?;
        let side = |array: *mut c_void, texel: Option<u64>, memory: PitchedPtr, at: Position| {
            let Some(texel) = texel else {
                return pitched(memory, at).ok_or_else(|| Fault::silent(CudaError::INVALID_VALUE));
            };
            let x_bytes = (at.x as u64).saturating_mul(texel);
            runtime
                .arrays
                .array_span(address(array), [x_bytes, at.y as u64, at.z as u64], &extent)
        };
        Ok(Copy3d {
            to: side(self.to_array, to_texel, self.to, self.to_position)?,
            from: side(self.from_array, from_texel, self.from, self.from_position)?,
            extent,
        })
    }
}

fn pitched(memory: PitchedPtr, position: Position) -> Option<Span> {
    let slice = memory.pitch.checked_mul(memory.rows)?;
    let offset = position
        .z
        .checked_mul(slice)?
        .checked_add(position.y.checked_mul(memory.pitch)?)?
        .checked_add(position.x)?;
    Some(Span {
        address: address(memory.pointer).checked_add(offset as u64)?,
        pitch_bytes: memory.pitch as u64,
        slice_bytes: slice as u64,
    })
}

/// # Safety
/// As [`copy`], of what `parameters` name.
unsafe fn copy_3d(parameters: InPtr<Memcpy3d>, stream: *mut c_void, wait: Wait) -> Done {
    let parameters = parameters.read()?;
    let stream = turn_of(stream, wait)?;
    with_runtime(|runtime| {
        let work = parameters.work(runtime)?;
        // SAFETY: the boxes are in arrays or memory that the runtime knows, or that the program has until the copy is done.
        unsafe { submit(runtime, stream, work, wait) }
    })
}

/// A symbol and where in it a copy begins.
struct Symbol {
    shadow: *const c_void,
    offset: usize,
}

/// Where `bytes` of a symbol begin that are `offset` bytes in it.
pub(super) fn symbol_place(
    runtime: &mut Runtime,
    shadow: *const c_void,
    offset: usize,
    bytes: usize,
) -> Result<u64, Fault> {
    let (at, whole) = runtime.kernels().symbol(address(shadow))?;
    let end = offset.checked_add(bytes).map(|end| end as u64);
    if end.is_none_or(|end| end > whole) {
        let message = format!(
            "bytes {offset}..{} are not within a variable of {whole} bytes",
            offset.saturating_add(bytes)
        );
        let fault = Fault::invalid(message);
        return Err(fault.as_defect(Defect::OutOfBounds));
    }
    Ok(at + offset as u64)
}

/// # Safety
/// As [`copy`].
unsafe fn symbol(
    symbol: &Symbol,
    host: u64,
    bytes: usize,
    to_symbol: bool,
    stream: *mut c_void,
    wait: Wait,
) -> Done {
    let device =
        with_runtime(|runtime| symbol_place(runtime, symbol.shadow, symbol.offset, bytes))?;
    let (to, from) = if to_symbol {
        (device, host)
    } else {
        (host, device)
    };
    // SAFETY: `symbol_place` has found the bytes in a variable; `host` is memory that the program has until the copy is done.
    unsafe { linear(to, from, bytes, Kind::DEFAULT.0, stream, wait) }
}

fn set(span: Span, extent: Extent, value: c_int, stream: *mut c_void, wait: Wait) -> Done {
    let stream = turn_of(stream, wait)?;
    let work = Work::Fill(span, extent, vec![value as u8]);
    // SAFETY: this is no copy: a fill reaches only memory that the runtime knows.
    with_runtime(|runtime| unsafe { submit(runtime, stream, work, wait) })
}

fn set_rows(pointer: *mut c_void, pitch: usize, width: usize, height: usize) -> (Span, Extent) {
    let extent = Extent {
        width_bytes: width as u64,
        rows: height as u64,
        slices: 1,
    };
    (span((pointer, pitch)), extent)
}

const LEGACY: *mut c_void = std::ptr::null_mut();

api! {
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { linear(address(to), address(from), bytes, kind, LEGACY, Wait::Yes) }
    }

    fn cudaMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { linear(address(to), address(from), bytes, kind, stream, Wait::No) }
    }

    fn cudaMemcpyBatchAsync(to: *const *mut c_void, from: *const *const c_void, sizes: *const usize, count: usize, attributes: *const CopyAttributes, firsts: *const usize, attribute_count: usize, stream: *mut c_void) {
        // SAFETY: the program's lists have `count` copies and `attribute_count` settings, and its ranges are its own memory.
        unsafe { batch((to, from), (sizes, count), (attributes, firsts, attribute_count), stream).map_err(|(_, fault)| fault) }
    }

    fn cudaMemcpyBatchAsync_v1(to: *const *mut c_void, from: *const *const c_void, sizes: *const usize, count: usize, attributes: *const CopyAttributes, firsts: *const usize, attribute_count: usize, failed: OutPtr<usize>, stream: *mut c_void) {
        // SAFETY: the lists have the lengths beside them, and the ranges are the program's until they are copied.
        let done = unsafe { batch((to, from), (sizes, count), (attributes, firsts, attribute_count), stream) };
        done.map_err(|(at, fault)| {
            failed.put_if_wanted(at);
            fault
        })
    }

    fn cudaMemcpyPeer(to: *mut c_void, _to_device: c_int, from: *const c_void, _from_device: c_int, bytes: usize) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { linear(address(to), address(from), bytes, 4, LEGACY, Wait::Yes) }
    }

    fn cudaMemcpyPeerAsync(to: *mut c_void, _to_device: c_int, from: *const c_void, _from_device: c_int, bytes: usize, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { linear(address(to), address(from), bytes, 4, stream, Wait::No) }
    }

    fn cudaMemcpy2D(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows((to, to_pitch), (from, from_pitch), (width, height), kind, LEGACY, Wait::Yes) }
    }

    fn cudaMemcpy2DAsync(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { rows((to, to_pitch), (from, from_pitch), (width, height), kind, stream, Wait::No) }
    }

    fn cudaMemcpy3D(parameters: InPtr<Memcpy3d>) {
        // SAFETY: the program keeps what `parameters` name until the copy is done.
        unsafe { copy_3d(parameters, LEGACY, Wait::Yes) }
    }

    fn cudaMemcpy3DAsync(parameters: InPtr<Memcpy3d>, stream: *mut c_void) {
        // SAFETY: the program keeps what `parameters` name until the copy is done.
        unsafe { copy_3d(parameters, stream, Wait::No) }
    }

    fn cudaMemcpyToSymbol(shadow: *const c_void, from: *const c_void, bytes: usize, offset: usize, _kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { symbol(&Symbol { shadow, offset }, address(from), bytes, true, LEGACY, Wait::Yes) }
    }

    fn cudaMemcpyToSymbolAsync(shadow: *const c_void, from: *const c_void, bytes: usize, offset: usize, _kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { symbol(&Symbol { shadow, offset }, address(from), bytes, true, stream, Wait::No) }
    }

    fn cudaMemcpyFromSymbol(to: *mut c_void, shadow: *const c_void, bytes: usize, offset: usize, _kind: c_int) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { symbol(&Symbol { shadow, offset }, address(to), bytes, false, LEGACY, Wait::Yes) }
    }

    fn cudaMemcpyFromSymbolAsync(to: *mut c_void, shadow: *const c_void, bytes: usize, offset: usize, _kind: c_int, stream: *mut c_void) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { symbol(&Symbol { shadow, offset }, address(to), bytes, false, stream, Wait::No) }
    }

    fn cudaMemset(to: *mut c_void, value: c_int, bytes: usize) {
        let span = Span::linear(address(to), bytes as u64);
        set(span, Extent::linear(bytes as u64), value, LEGACY, Wait::Yes)
    }

    fn cudaMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: *mut c_void) {
        let span = Span::linear(address(to), bytes as u64);
        set(span, Extent::linear(bytes as u64), value, stream, Wait::No)
    }

    fn cudaMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        let (span, extent) = set_rows(to, pitch, width, height);
        set(span, extent, value, LEGACY, Wait::Yes)
    }

    fn cudaMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: *mut c_void) {
        let (span, extent) = set_rows(to, pitch, width, height);
        set(span, extent, value, stream, Wait::No)
    }

    fn cudaMemset3D(to: PitchedPtr, value: c_int, extent: CudaExtent) {
        let span = pitched(to, Position { x: 0, y: 0, z: 0 }).ok_or_else(null)?;
        set(span, extent.in_bytes(), value, LEGACY, Wait::Yes)
    }

    fn cudaMemset3DAsync(to: PitchedPtr, value: c_int, extent: CudaExtent, stream: *mut c_void) {
        let span = pitched(to, Position { x: 0, y: 0, z: 0 }).ok_or_else(null)?;
        set(span, extent.in_bytes(), value, stream, Wait::No)
    }
}
