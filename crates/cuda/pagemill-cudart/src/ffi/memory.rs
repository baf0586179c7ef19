//! Allocations of every kind.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_int, c_void};

use super::waiter::settle;
use super::{Done, OutPtr, address, api, call_stack, captured_memory, driver, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{Extent, Runtime, Side, StreamId, Turn};
use pagemill_pages::hints::{self, Action, PageAdvice};

/// Rows of pitched memory start at multiples of this.
const PITCH_BYTES: usize = 512;
const PINNED_ALIGN_BYTES: usize = 4096;

/// `cudaMemAttachGlobal` and `cudaMemAttachHost`.
const ATTACH_FLAGS: [u32; 2] = [1, 2];

/// `cudaMemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Location {
    kind: c_int,
    id: c_int,
}

const LOCATION_DEVICE: c_int = 1;

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PitchedPtr {
    pub(super) pointer: *mut c_void,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) rows: usize,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CudaExtent {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

impl CudaExtent {
    pub(super) fn in_bytes(self) -> Extent {
        Extent {
            width_bytes: self.width as u64,
            rows: self.height as u64,
            slices: self.depth as u64,
        }
    }
}

/// `struct cudaPointerAttributes` of CUDA 12; later ones only add reserved fields.
#[repr(C)]
pub(super) struct PointerAttributes {
    kind: c_int,
    device: c_int,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
}

fn malloc(to: OutPtr<*mut c_void>, bytes: usize) -> Done {
    to.needed()?;
    let address = with_runtime(|runtime| {
        let address = runtime.malloc(bytes as u64)?;
        if let Some(managed) = address.filter(|_| runtime.device.setting.managed) {
            runtime.note_allocation(managed, call_stack::capture)?;
        }
        Ok(address)
    })?;
    to.put(address.unwrap_or(0) as *mut c_void)
}

/// In a stream: a captured one notes it.
fn malloc_in(to: OutPtr<*mut c_void>, bytes: usize, stream: *mut c_void) -> Done {
    match captured_memory::capture_malloc(StreamId(address(stream)), bytes)? {
        Some(at) => to.put(at as *mut c_void),
        None => malloc(to, bytes),
    }
}

fn free(pointer: *mut c_void) -> Done {
    if pointer.is_null() {
        return Ok(());
    }
    settle(Turn::All)?;
    with_runtime(|runtime| runtime.free(address(pointer)))
}

fn free_in(pointer: *mut c_void, stream: *mut c_void) -> Done {
    if pointer.is_null() {
        return Ok(());
    }
    settle(Turn::All)?;
    with_runtime(|runtime| runtime.free_in(address(pointer), StreamId(address(stream))))
}

fn malloc_host(to: OutPtr<*mut c_void>, bytes: usize) -> Done {
    to.needed()?;
    if bytes == 0 {
        return to.put(std::ptr::null_mut());
    }
    if let Some(watched) = with_runtime(|runtime| Ok(runtime.device.pin_watched(bytes as u64)))? {
        return to.put(watched as *mut c_void);
    }
    let layout = pinned_layout(bytes)?;
    // SAFETY: the layout has a size above zero.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        let message = format!("there is no room for {bytes} bytes of pinned memory");
        return Err(Fault::new(CudaError::MEMORY_ALLOCATION, message));
    }
    // SAFETY: the memory is new, zero, and stays until `free_host`, after the runtime has given the slice back. Between
    // calls the program uses it too; no Rust code holds a borrow of the bytes across calls.
    let slice = unsafe { std::slice::from_raw_parts_mut(memory, bytes) };
    let pinned = with_runtime(|runtime| runtime.device.pin(memory as u64, slice, true));
    if let Err(fault) = pinned {
        // SAFETY: it was allocated with this layout, and no reference to it is left.
        unsafe { dealloc(memory, layout) };
        return Err(fault);
    }
    to.put(memory.cast())
}

fn pinned_layout(bytes: usize) -> Result<Layout, Fault> {
    Layout::from_size_align(bytes, PINNED_ALIGN_BYTES)
        .map_err(|_| Fault::new(CudaError::MEMORY_ALLOCATION, "more than can be addressed"))
}

fn free_host(pointer: *mut c_void) -> Done {
    if pointer.is_null() {
        return Ok(());
    }
    let bytes = with_runtime(|runtime| runtime.unpin(address(pointer), true))?;
    if bytes == 0 {
        return Ok(());
    }
    let layout = pinned_layout(bytes as usize)?;
    // SAFETY: `malloc_host` allocated it with this layout; the runtime has forgotten it.
    unsafe { dealloc(pointer.cast(), layout) };
    Ok(())
}

/// # Safety
/// `pointer` points to `bytes` bytes that stay until they are unregistered.
unsafe fn register(pointer: *mut c_void, bytes: usize) -> Done {
    if pointer.is_null() || bytes == 0 {
        return Err(null());
    }
    // SAFETY: the program has these bytes until it unregisters them, when the runtime gives the slice back. It uses them
    // between calls; no Rust code holds a borrow of them across calls.
    let slice = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), bytes) };
    with_runtime(|runtime| runtime.device.pin(address(pointer), slice, false))
}

fn prefetch(pointer: *const c_void, bytes: usize, to_gpu: bool, stream: *mut c_void) -> Done {
    let stream = StreamId(address(stream));
    with_runtime(|runtime| runtime.prefetch(address(pointer), bytes as u64, to_gpu, stream))
}

/// # Safety
/// `first` is null or the first of `count` entries, which live as long as the call.
pub(super) unsafe fn list<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Fault> {
    if first.is_null() || count == 0 {
        let message = "a batch has at least one entry, and no list of it is null".to_owned();
        return Err(Fault::invalid(message));
    }
    // SAFETY: it is not null, and the caller vouches for `count` entries that live as long as the slice.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// The place in a list of settings that goes for entry `at`: `firsts` are the entries from which each is in force.
pub(super) fn in_force(firsts: &[usize], at: usize, count: usize) -> Result<usize, Fault> {
    let is_sound = firsts[0] == 0
        && firsts.is_sorted_by(|a, b| a < b)
        && firsts.last().is_some_and(|&last| last < count);
    if !is_sound {
        return Err(Fault::invalid(format!(
            "the first entries of a batch of {count} are {firsts:?}: they begin with 0 and rise"
        )));
    }
    Ok(firsts.partition_point(|&first| first <= at) - 1)
}

fn no_flags(flags: u64) -> Done {
    match flags {
        0 => Ok(()),
        _ => Err(Fault::invalid(format!(
            "flags are {flags}, and have to be 0"
        ))),
    }
}

fn prefetch_batch(
    (pointers, sizes): (&[*const c_void], &[usize]),
    (places, firsts): (&[Location], &[usize]),
    flags: u64,
    stream: *mut c_void,
) -> Done {
    no_flags(flags)?;
    for (at, (&pointer, &bytes)) in pointers.iter().zip(sizes).enumerate() {
        let place = places[in_force(firsts, at, pointers.len())?];
        prefetch(pointer, bytes, is_gpu(place), stream)?;
    }
    Ok(())
}

/// What is discarded may be read as it was: nothing is forgotten, and no copy is saved.
fn discard_batch(pointers: &[*const c_void], sizes: &[usize], flags: u64) -> Done {
    no_flags(flags)?;
    for (&pointer, &bytes) in pointers.iter().zip(sizes) {
        with_runtime(|runtime| check_managed(runtime, pointer, bytes))?;
    }
    Ok(())
}

/// Whether a location of `cudaMemAdvise` is the GPU.
fn is_gpu(location: Location) -> bool {
    location.kind == LOCATION_DEVICE
}

/// `cudaMemoryAdvise` by its number, for the GPU or the CPU.
fn advise(pointer: *const c_void, bytes: usize, advice: c_int, on_gpu: bool) -> Done {
    let side = match on_gpu {
        true => hints::Side::Gpu,
        false => hints::Side::Cpu,
    };
    let action = match advice {
        1 => Action::ReadMostly,
        2 => Action::NotReadMostly,
        3 => Action::PreferredLocation(side),
        4 => Action::NoPreferredLocation,
        5 if on_gpu => Action::AccessedByGpu,
        6 if on_gpu => Action::NotAccessedByGpu,
        // The CPU faults on what it has no mapping of: nothing is promised to it.
        5 | 6 => return with_runtime(|runtime| check_managed(runtime, pointer, bytes)),
        _ => {
            let message = format!("{advice} is no advice of cudaMemAdvise: they are 1 to 6");
            return Err(Fault::invalid(message));
        }
    };
    with_runtime(|runtime| runtime.advise(address(pointer), bytes as u64, action))
}

fn check_managed(runtime: &mut Runtime, pointer: *const c_void, bytes: usize) -> Done {
    let range = runtime.device.managed_range(address(pointer), bytes as u64);
    range.map(|_| ())
}

/// The value of `cudaMemRangeGetAttribute` for no device.
const INVALID_DEVICE: i32 = -2;

/// The value of a `cudaMemRangeAttribute` of managed memory: what was said of all of its pages.
fn range_attribute(attribute: c_int, pointer: *const c_void, bytes: usize) -> Result<i32, Fault> {
    let advice = with_runtime(|runtime| runtime.device.advice(address(pointer), bytes as u64))?;
    let device = |side: Option<hints::Side>| match side {
        Some(hints::Side::Gpu) => 0,
        Some(hints::Side::Cpu) => -1,
        None => INVALID_DEVICE,
    };
    let kind = |side: Option<hints::Side>| match side {
        Some(hints::Side::Gpu) => LOCATION_DEVICE,
        Some(hints::Side::Cpu) => 2,
        None => 0,
    };
    let of_page = |page: &PageAdvice| match attribute {
        1 => Ok(i32::from(page.read_mostly)),
        2 | 6 => Ok(device(page.preferred)),
        3 if page.accessed_by_gpu => Ok(0),
        3 => Ok(INVALID_DEVICE),
        4 | 8 => Ok(device(page.prefetched)),
        5 => Ok(kind(page.preferred)),
        7 => Ok(kind(page.prefetched)),
        _ => Err(Fault::invalid(format!(
            "{attribute} is no attribute of a range: they are 1 to 8"
        ))),
    };
    let values: Result<Vec<i32>, Fault> = advice.iter().map(of_page).collect();
    let values = values?;
    match values.split_first() {
        Some((first, rest)) if rest.iter().all(|value| value == first) => Ok(*first),
        _ => of_page(&PageAdvice::default()),
    }
}

/// # Safety
/// `to` is null or points to `size` bytes.
unsafe fn give_range_attribute(
    to: *mut c_void,
    size: usize,
    attribute: c_int,
    pointer: *const c_void,
    bytes: usize,
) -> Done {
    if to.is_null() || bytes == 0 {
        return Err(null());
    }
    let value = range_attribute(attribute, pointer, bytes)?;
    let words = size / 4;
    if words == 0 || (attribute != 3 && size != 4) {
        return Err(Fault::invalid(format!(
            "the value of attribute {attribute} does not fit {size} bytes: 4 are needed"
        )));
    }
    // A list of devices ends with invalid ones.
    // SAFETY: `to` is not null, and the program has room for `size` bytes there: as many whole words, none of them read.
    let words = unsafe { std::slice::from_raw_parts_mut(to.cast::<i32>(), words) };
    words.fill(INVALID_DEVICE);
    words[0] = value;
    Ok(())
}

fn malloc_pitch(to: OutPtr<*mut c_void>, pitch: OutPtr<usize>, width: usize, rows: usize) -> Done {
    let row = width
        .checked_next_multiple_of(PITCH_BYTES)
        .ok_or_else(null)?;
    let bytes = row
        .checked_mul(rows)
        .ok_or_else(|| Fault::new(CudaError::MEMORY_ALLOCATION, "more than can be addressed"))?;
    malloc(to, bytes)?;
    pitch.put(row)
}

api! {
    fn cudaMalloc(to: OutPtr<*mut c_void>, bytes: usize) {
        malloc(to, bytes)
    }

    fn cudaMallocAsync(to: OutPtr<*mut c_void>, bytes: usize, stream: *mut c_void) {
        malloc_in(to, bytes, stream)
    }

    fn cudaMallocFromPoolAsync(to: OutPtr<*mut c_void>, bytes: usize, pool: *mut c_void, stream: *mut c_void) {
        super::pool::check(pool)?;
        malloc_in(to, bytes, stream)
    }

    fn cudaFree(pointer: *mut c_void) {
        free(pointer)
    }

    fn cudaFreeAsync(pointer: *mut c_void, stream: *mut c_void) {
        if captured_memory::capture_free(StreamId(address(stream)), pointer)? {
            return Ok(());
        }
        free_in(pointer, stream)
    }

    fn cudaMallocManaged(to: OutPtr<*mut c_void>, bytes: usize, flags: u32) {
        to.needed()?;
        if !ATTACH_FLAGS.contains(&flags) {
            return Err(Fault::invalid(format!("managed memory is attached by flag 1 (global) or 2 (host), not {flags}")));
        }
        // The driver's function refuses what the runtime's gives null for.
        if bytes == 0 && driver::called_as().is_none() {
            with_runtime(|_| Ok(()))?;
            return to.put(std::ptr::null_mut());
        }
        let address = with_runtime(|runtime| {
            let address = runtime.device.malloc_managed(bytes as u64)?;
            runtime.note_allocation(address, call_stack::capture)?;
            Ok(address)
        })?;
        to.put(address as *mut c_void)
    }

    fn cudaMallocHost(to: OutPtr<*mut c_void>, bytes: usize) {
        malloc_host(to, bytes)
    }

    fn cudaHostAlloc(to: OutPtr<*mut c_void>, bytes: usize, _flags: u32) {
        malloc_host(to, bytes)
    }

    fn cudaFreeHost(pointer: *mut c_void) {
        free_host(pointer)
    }

    fn cudaHostRegister(pointer: *mut c_void, bytes: usize, _flags: u32) {
        // SAFETY: the program keeps what it registers until it unregisters it.
        unsafe { register(pointer, bytes) }
    }

    fn cudaHostUnregister(pointer: *mut c_void) {
        with_runtime(|runtime| runtime.unpin(address(pointer), false).map(|_| ()))
    }

    fn cudaHostGetDevicePointer(to: OutPtr<*mut c_void>, pointer: *mut c_void, _flags: u32) {
        if with_runtime(|runtime| Ok(runtime.device.side(address(pointer))))? != Side::Pinned {
            return Err(Fault::invalid(format!("{pointer:p} is not pinned memory")));
        }
        to.put(pointer)
    }

    fn cudaHostGetFlags(to: OutPtr<u32>, pointer: *mut c_void) {
        if with_runtime(|runtime| Ok(runtime.device.side(address(pointer))))? != Side::Pinned {
            return Err(Fault::invalid(format!("{pointer:p} is not pinned memory")));
        }
        to.put(2)
    }

    fn cudaMallocPitch(to: OutPtr<*mut c_void>, pitch: OutPtr<usize>, width: usize, rows: usize) {
        malloc_pitch(to, pitch, width, rows)
    }

    fn cudaMalloc3D(to: OutPtr<PitchedPtr>, extent: CudaExtent) {
        let rows = extent.height.checked_mul(extent.depth).ok_or_else(null)?;
        let (mut pointer, mut pitch) = (std::ptr::null_mut::<c_void>(), 0);
        malloc_pitch((&mut pointer).into(), (&mut pitch).into(), extent.width, rows)?;
        let pitched = PitchedPtr { pointer, pitch, width: extent.width, rows: extent.height };
        to.put(pitched)
    }

    fn cudaMemGetInfo(free: OutPtr<usize>, total: OutPtr<usize>) {
        let info = with_runtime(|runtime| Ok(runtime.device.memory_info()))?;
        free.put(info.0 as usize)?;
        total.put(info.1 as usize)
    }

    fn cudaPointerGetAttributes(to: OutPtr<PointerAttributes>, pointer: *const c_void) {
        let side = with_runtime(|runtime| Ok(runtime.device.side(address(pointer))))?;
        let own = pointer.cast_mut();
        let none = std::ptr::null_mut();
        let (kind, device, device_pointer, host_pointer) = match side {
            Side::Host => (0, -2, none, own),
            Side::Pinned => (1, 0, own, own),
            Side::Device => (2, 0, own, none),
            Side::Managed => (3, 0, own, own),
        };
        to.put(PointerAttributes { kind, device, device_pointer, host_pointer })
    }

    fn cudaMemPrefetchAsync(pointer: *const c_void, bytes: usize, location: Location, _flags: u32, stream: *mut c_void) {
        prefetch(pointer, bytes, location.kind == LOCATION_DEVICE, stream)
    }

    fn cudaMemPrefetchAsync_v1(pointer: *const c_void, bytes: usize, device: c_int, stream: *mut c_void) {
        prefetch(pointer, bytes, device >= 0, stream)
    }

    fn cudaMemAdvise(pointer: *const c_void, bytes: usize, advice: c_int, location: Location) {
        advise(pointer, bytes, advice, is_gpu(location))
    }

    fn cudaMemAdvise_v1(pointer: *const c_void, bytes: usize, advice: c_int, device: c_int) {
        advise(pointer, bytes, advice, device >= 0)
    }

    fn cudaMemRangeGetAttribute(to: *mut c_void, size: usize, attribute: c_int, pointer: *const c_void, bytes: usize) {
        // SAFETY: `size` says how many bytes of room the program has at `to`.
        unsafe { give_range_attribute(to, size, attribute, pointer, bytes) }
    }

    fn cudaMemRangeGetAttributes(to: *const *mut c_void, sizes: *const usize, attributes: *const c_int, count: usize, pointer: *const c_void, bytes: usize) {
        // SAFETY: the program's three lists have `count` entries, and each place has room for the size beside it.
        unsafe {
            let (places, sizes, attributes) = (list(to, count)?, list(sizes, count)?, list(attributes, count)?);
            for ((&to, &size), &attribute) in places.iter().zip(sizes).zip(attributes) {
                give_range_attribute(to, size, attribute, pointer, bytes)?;
            }
        }
        Ok(())
    }

    fn cudaMemPrefetchBatchAsync(pointers: *const *const c_void, sizes: *const usize, count: usize, places: *const Location, firsts: *const usize, place_count: usize, flags: u64, stream: *mut c_void) {
        // SAFETY: the program says how many entries its lists have: `count` ranges and `place_count` places.
        unsafe { prefetch_batch((list(pointers, count)?, list(sizes, count)?), (list(places, place_count)?, list(firsts, place_count)?), flags, stream) }
    }

    fn cudaMemDiscardBatchAsync(pointers: *const *const c_void, sizes: *const usize, count: usize, flags: u64, _stream: *mut c_void) {
        // SAFETY: `pointers` and `sizes` are lists of `count` entries, which this call only reads.
        unsafe { discard_batch(list(pointers, count)?, list(sizes, count)?, flags) }
    }

    fn cudaMemDiscardAndPrefetchBatchAsync(pointers: *const *const c_void, sizes: *const usize, count: usize, places: *const Location, firsts: *const usize, place_count: usize, flags: u64, stream: *mut c_void) {
        // SAFETY: the four lists are read during this call, in which the program may not change them.
        let (ranges, places) = unsafe { ((list(pointers, count)?, list(sizes, count)?), (list(places, place_count)?, list(firsts, place_count)?)) };
        discard_batch(ranges.0, ranges.1, flags)?;
        prefetch_batch(ranges, places, flags, stream)
    }

    fn cudaStreamAttachMemAsync(_stream: *mut c_void, pointer: *mut c_void, _bytes: usize, _flags: u32) {
        // Every stream sees all managed memory.
        with_runtime(|runtime| runtime.device.managed_range(address(pointer), 1).map(|_| ()))
    }
}
