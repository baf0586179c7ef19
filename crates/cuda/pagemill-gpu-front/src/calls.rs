//! The driver's functions that this library calls by itself.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ops::Range;
use std::sync::OnceLock;

use pagemill_gpu::{Deed, HintAction};

use crate::linker::of_driver;

/// `CUresult`.
pub type CuResult = c_int;
/// `CUDA_SUCCESS`.
pub const SUCCESS: CuResult = 0;
/// `CUDA_ERROR_INVALID_VALUE`.
pub const INVALID_VALUE: CuResult = 1;
/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`: there is no driver behind this library.
pub const NO_DRIVER: CuResult = 302;
/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: CuResult = 801;

/// `CU_DEVICE_CPU`.
const CPU: c_int = -1;
/// `CUmem_advise` of the hints that there are.
const SET_READ_MOSTLY: c_uint = 1;
const SET_PREFERRED_LOCATION: c_uint = 3;
const SET_ACCESSED_BY: c_uint = 5;
/// `CU_MEM_LOCATION_TYPE_DEVICE` and `CU_MEM_LOCATION_TYPE_HOST`.
const AT_DEVICE: c_int = 1;
const AT_HOST: c_int = 2;

type Advise = unsafe extern "C" fn(u64, usize, c_uint, c_int) -> CuResult;
type Prefetch = unsafe extern "C" fn(u64, usize, c_int, *mut c_void) -> CuResult;
type PrefetchBatch = unsafe extern "C" fn(
    *const u64,
    *const usize,
    usize,
    *const [c_int; 2],
    *const usize,
    usize,
    u64,
    *mut c_void,
) -> CuResult;
type CurrentDevice = unsafe extern "C" fn(*mut c_int) -> CuResult;
type IsCapturing = unsafe extern "C" fn(*mut c_void, *mut c_int) -> CuResult;
type ErrorName = unsafe extern "C" fn(CuResult, *mut *const c_char) -> CuResult;

/// Does what `deed` says, on `stream` if it is a copy.
///
/// # Errors
/// The driver lacks a function, or refuses; the program goes on as it would have.
pub fn make(deed: &Deed, stream: *mut c_void) -> Result<(), String> {
    let gpu = current_device()?;
    let advise = |advice, device| {
        deed.ranges
            .iter()
            .try_for_each(|range| give(range, advice, device))
    };
    match deed.action {
        HintAction::ReadMostly => advise(SET_READ_MOSTLY, gpu),
        HintAction::PreferGpu => advise(SET_PREFERRED_LOCATION, gpu),
        HintAction::PreferCpu => advise(SET_PREFERRED_LOCATION, CPU),
        HintAction::AccessedByGpu => advise(SET_ACCESSED_BY, gpu),
        HintAction::PrefetchGpu => copy(&deed.ranges, gpu, stream),
        HintAction::PrefetchCpu => copy(&deed.ranges, CPU, stream),
    }
}

/// Whether launches in `stream` go into a graph instead of to the GPU.
pub fn is_capturing(stream: *mut c_void) -> bool {
    static ASK: OnceLock<Option<IsCapturing>> = OnceLock::new();
    let ask = ASK.get_or_init(|| {
        let found = of_driver(c"cuStreamIsCapturing");
        // SAFETY: the driver's function of this name has this type.
        found.map(|found| unsafe { transmute::<*mut c_void, IsCapturing>(found) })
    });
    let Some(ask) = ask else {
        return false;
    };
    let mut status = 0;
    // SAFETY: the stream is the program's, and the answer has room.
    let answer = unsafe { ask(stream, &raw mut status) };
    answer == SUCCESS && status != 0
}

fn current_device() -> Result<c_int, String> {
    let ask = function(c"cuCtxGetDevice")?;
    let mut device = 0;
    // SAFETY: the driver's function of this name has this type, and the answer has room.
    let answer = unsafe { transmute::<*mut c_void, CurrentDevice>(ask)(&raw mut device) };
    checked("cuCtxGetDevice", answer)?;
    Ok(device)
}

fn give(range: &Range<u64>, advice: c_uint, device: c_int) -> Result<(), String> {
    let advise = function(c"cuMemAdvise")?;
    let bytes = (range.end - range.start) as usize;
    // SAFETY: the symbol without a version has this type in every driver.
    let advise = unsafe { transmute::<*mut c_void, Advise>(advise) };
    // SAFETY: the range is in memory that the program has.
    let answer = unsafe { advise(range.start, bytes, advice, device) };
    checked("cuMemAdvise", answer)
}

/// Copies ranges on `stream`, many of them by one call where the driver has it.
fn copy(ranges: &[Range<u64>], device: c_int, stream: *mut c_void) -> Result<(), String> {
    let batch = of_driver(c"cuMemPrefetchBatchAsync").filter(|_| ranges.len() > 1);
    if let Some(batch) = batch {
        match copy_at_once(batch, ranges, device, stream) {
            // A driver may have the name, and not the GPU for it.
            NOT_SUPPORTED => {}
            answer => return checked("cuMemPrefetchBatchAsync", answer),
        }
    }
    let prefetch = function(c"cuMemPrefetchAsync")?;
    // SAFETY: the symbol without a version has this type in every driver.
    let prefetch = unsafe { transmute::<*mut c_void, Prefetch>(prefetch) };
    ranges.iter().try_for_each(|range| {
        let bytes = (range.end - range.start) as usize;
        // SAFETY: the range is in memory that the program has, and the stream is the program's.
        let answer = unsafe { prefetch(range.start, bytes, device, stream) };
        checked("cuMemPrefetchAsync", answer)
    })
}

fn copy_at_once(
    batch: *mut c_void,
    ranges: &[Range<u64>],
    device: c_int,
    stream: *mut c_void,
) -> CuResult {
    let starts: Vec<u64> = ranges.iter().map(|range| range.start).collect();
    let bytes: Vec<usize> = ranges
        .iter()
        .map(|range| (range.end - range.start) as usize)
        .collect();
    let place = match device {
        CPU => [AT_HOST, 0],
        device => [AT_DEVICE, device],
    };
    // SAFETY: the driver's function of this name has this type.
    let prefetch = unsafe { transmute::<*mut c_void, PrefetchBatch>(batch) };
    // SAFETY: the lists have one element for each range, all of them have the one place from the first on, and both are read before the
    // call returns; the ranges are in memory that the program has.
    unsafe {
        prefetch(
            starts.as_ptr(),
            bytes.as_ptr(),
            starts.len(),
            &raw const place,
            &raw const FIRST_OF_PLACE,
            1,
            0,
            stream,
        )
    }
}

/// From which range on the one place of a batch holds.
static FIRST_OF_PLACE: usize = 0;

fn function(name: &CStr) -> Result<*mut c_void, String> {
    of_driver(name).ok_or_else(|| format!("this driver has no {}", name.to_string_lossy()))
}

fn checked(call: &str, answer: CuResult) -> Result<(), String> {
    match answer {
        SUCCESS => Ok(()),
        error => Err(format!("{call} answered {}", name_of(error))),
    }
}

fn name_of(error: CuResult) -> String {
    let mut name = std::ptr::null();
    if let Some(ask) = of_driver(c"cuGetErrorName") {
        // SAFETY: the driver's function of this name has this type, and the answer has room.
        unsafe { transmute::<*mut c_void, ErrorName>(ask)(error, &raw mut name) };
    }
    if name.is_null() {
        return format!("error {error}");
    }
    // SAFETY: the driver answers with a constant text that ends with a zero byte.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}
