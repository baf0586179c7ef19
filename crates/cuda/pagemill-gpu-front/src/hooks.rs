//! The functions of the driver that have a front.
//!
//! Each is found by its symbol, which has one meaning for ever, or by the name and version of `cuGetProcAddress`: the versions are those of
//! NVIDIA's `cudaTypedefs.h`, and end with the newest that was looked at. The function behind a front is what the driver itself answered.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::calls::{CuResult, INVALID_VALUE, NO_DRIVER, SUCCESS, is_capturing};
use crate::linker::of_driver;
use crate::process;

/// The newest version whose typedefs were looked at.
const NEWEST: c_int = 13_020;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;
/// `CU_STREAM_PER_THREAD`.
const STREAM_PER_THREAD: *mut c_void = ptr::without_provenance_mut(2);
/// `CU_MEM_ATTACH_GLOBAL`.
const OF_ALL_STREAMS: c_uint = 1;
/// What each row of memory with a pitch begins at a multiple of, as on NVIDIA's GPUs.
const PITCH_BYTES: usize = 512;
/// Where `CUlaunchConfig` has its stream, behind seven numbers.
const STREAM_OF_CONFIG: usize = 32;

/// A function of the driver, and what stands in front of it.
pub struct Hook {
    symbol: &'static CStr,
    /// Its name for `cuGetProcAddress`.
    base: &'static str,
    /// The first and the last version that mean this form.
    versions: (c_int, c_int),
    per_thread: bool,
    front: *const c_void,
    real: AtomicPtr<c_void>,
}

// SAFETY: `front` is the address of code, which never changes.
unsafe impl Sync for Hook {}

impl Hook {
    /// The front, now that the function behind it is known.
    pub fn in_front_of(&self, real: *mut c_void) -> *mut c_void {
        // A driver that looks its own names up finds the front.
        if !ptr::addr_eq(real, self.front) {
            self.real.store(real, Ordering::Release);
        }
        self.front.cast_mut()
    }

    /// The function behind it; that of the driver's symbol for a program that is linked with the driver.
    fn behind(&self) -> Option<*mut c_void> {
        let known = self.real.load(Ordering::Acquire);
        if !known.is_null() {
            return Some(known);
        }
        let found = of_driver(self.symbol)?;
        self.real.store(found, Ordering::Release);
        Some(found)
    }
}

/// The hook of a symbol.
pub fn named(symbol: &CStr) -> Option<&'static Hook> {
    HOOKS.iter().find(|hook| hook.symbol == symbol).copied()
}

/// What the program gets for a function that the driver found as `real`.
fn front_of(real: *mut c_void, name: &str, version: c_int, flags: u64) -> *mut c_void {
    let is_it = |hook: &&&Hook| of_driver(hook.symbol) == Some(real);
    if let Some(hook) = HOOKS.iter().filter(|hook| hook.base == name).find(is_it) {
        return hook.in_front_of(real);
    }
    let per_thread = flags & PER_THREAD != 0;
    let forms = || HOOKS.iter().filter(|hook| hook.base == name);
    let has_both = forms().any(|hook| hook.per_thread);
    let meant = forms().find(|hook| {
        (hook.versions.0..=hook.versions.1).contains(&version)
            && (!has_both || hook.per_thread == per_thread)
    });
    match meant {
        Some(hook) => hook.in_front_of(real),
        None => {
            if forms().next().is_some() && version > NEWEST {
                process::unknown_form(name, version);
            }
            real
        }
    }
}

/// Functions with a front: symbol, name, versions, whether null streams are the thread's own, arguments, and what is done around the
/// function behind it.
macro_rules! fronts {
    ($($symbol:ident = $base:literal, $since:literal..=$until:expr, $per_thread:literal,
       ($($argument:ident: $type:ty),*), |$real:ident| $body:expr;)*) => {
        $(
            // SAFETY: replaces the driver's function of this name, and takes its arguments.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $symbol($($argument: $type),*) -> CuResult {
                type Real = unsafe extern "C" fn($($type),*) -> CuResult;
                let Some(behind) = of::$symbol.behind() else {
                    return NO_DRIVER;
                };
                // SAFETY: the driver answered with it for this name and version, which have this type.
                let $real = unsafe { transmute::<*mut c_void, Real>(behind) };
                $body
            }
        )*

        /// The hooks, by their symbols.
        #[allow(non_upper_case_globals, reason = "the driver's names")]
        mod of {
            use super::*;
            $(
                pub static $symbol: Hook = Hook {
                    symbol: cname(concat!(stringify!($symbol), "\0")),
                    base: $base,
                    versions: ($since, $until),
                    per_thread: $per_thread,
                    front: super::$symbol as *const c_void,
                    real: AtomicPtr::new(ptr::null_mut()),
                };
            )*
        }

        static HOOKS: &[&Hook] = &[$(&of::$symbol),*];
    };
}

const fn cname(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name that ends with its only zero byte"),
    }
}

/// A launch in `stream`, made by `call`.
fn launch(stream: *mut c_void, call: impl FnOnce() -> CuResult) -> CuResult {
    process::launching(stream);
    let answer = call();
    if answer == SUCCESS {
        process::launched();
    }
    process::ended();
    answer
}

/// A call that may wait for the GPU.
fn wait(call: impl FnOnce() -> CuResult) -> CuResult {
    let answer = call();
    process::ended();
    answer
}

/// A null stream of the functions whose null stream is the thread's own.
fn own(stream: *mut c_void) -> *mut c_void {
    match stream.is_null() {
        true => STREAM_PER_THREAD,
        false => stream,
    }
}

/// The stream of a `CUlaunchConfig`.
///
/// # Safety
/// It is null, or points to one.
unsafe fn stream_of(config: *const c_void) -> *mut c_void {
    if config.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: it is not null, and every version has the stream there.
    unsafe {
        config
            .byte_add(STREAM_OF_CONFIG)
            .cast::<*mut c_void>()
            .read()
    }
}

/// Puts the front of function `name` where the driver has put the function.
///
/// # Safety
/// As `cuGetProcAddress`, which has succeeded: `name` ends with a zero byte, and `to` has room for an address, or is null.
unsafe fn exchange(name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64) {
    if name.is_null() || to.is_null() {
        return;
    }
    // SAFETY: the name is not null, and the driver has read it as a text that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    // SAFETY: the driver has just written an address there.
    let real = unsafe { to.read() };
    if !real.is_null() {
        // SAFETY: there is room for an address, as the driver has used it.
        unsafe { to.write(front_of(real, name, version, flags)) };
    }
}

/// Memory that the driver has put at `*to`.
///
/// # Safety
/// `to` is null or has an address.
unsafe fn note_memory(answer: CuResult, to: *const u64, bytes: usize) {
    if answer == SUCCESS && !to.is_null() {
        // SAFETY: the driver has just written the address of the memory there.
        process::allocated(unsafe { to.read() }, bytes);
    }
}

/// Whether what is asked for in the order of `stream` is managed memory. Memory of a graph stays the driver's.
fn is_managed_in(stream: *mut c_void) -> bool {
    process::is_managed() && !is_capturing(stream)
}

/// Managed rows at `*to`, each at a multiple of `*pitch`.
///
/// # Safety
/// Both are null or have room for an address and a size.
unsafe fn managed_rows(to: *mut u64, pitch: *mut usize, width: usize, height: usize) -> CuResult {
    let row_bytes = width.checked_next_multiple_of(PITCH_BYTES);
    let Some(row_bytes) = row_bytes.filter(|_| !pitch.is_null()) else {
        return INVALID_VALUE;
    };
    // SAFETY: there is room for a size, and for an address if `to` is not null, which the driver refuses.
    unsafe {
        pitch.write(row_bytes);
        cuMemAllocManaged(to, row_bytes.saturating_mul(height), OF_ALL_STREAMS)
    }
}

/// Frees memory of a pool, or that was given as such, once `stream` has come to this call.
///
/// # Safety
/// The memory and the stream are the program's.
unsafe fn free_in_stream(address: u64, stream: *mut c_void) -> CuResult {
    // SAFETY: as the caller says.
    match unsafe { cuStreamSynchronize(stream) } {
        // SAFETY: as the caller says, and nothing in the stream uses the memory any more.
        SUCCESS => unsafe { cuMemFree_v2(address) },
        error => error,
    }
}

fronts! {
    cuInit = "cuInit", 2000..=NEWEST, false, (flags: c_uint), |real| {
        // SAFETY: the caller's arguments go on as they are.
        let answer = unsafe { real(flags) };
        if answer == SUCCESS {
            process::started();
        }
        answer
    };
    cuGetProcAddress = "cuGetProcAddress", 11_030..=11_080, false,
    (name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64), |real| {
        // SAFETY: the caller's arguments go on as they are.
        let answer = unsafe { real(name, to, version, flags) };
        if answer == SUCCESS {
            // SAFETY: the driver has read `name` and written to `to`, as it has succeeded.
            unsafe { exchange(name, to, version, flags) };
        }
        answer
    };
    cuGetProcAddress_v2 = "cuGetProcAddress", 12_000..=NEWEST, false,
    (name: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int), |real| {
        // SAFETY: the caller's arguments go on as they are.
        let answer = unsafe { real(name, to, version, flags, status) };
        if answer == SUCCESS {
            // SAFETY: the driver has read `name` and written to `to`, as it has succeeded.
            unsafe { exchange(name, to, version, flags) };
        }
        answer
    };
    cuMemAllocManaged = "cuMemAllocManaged", 6000..=NEWEST, false, (to: *mut u64, bytes: usize, flags: c_uint), |real| {
        // SAFETY: the caller's arguments go on as they are.
        let answer = unsafe { real(to, bytes, flags) };
        // SAFETY: `to` is null, or the driver has written there if it has succeeded.
        unsafe { note_memory(answer, to, bytes) };
        answer
    };
    cuMemAlloc_v2 = "cuMemAlloc", 3020..=NEWEST, false, (to: *mut u64, bytes: usize), |real| match process::is_managed() {
        // SAFETY: `to` is the program's, and null or has room for an address.
        true => unsafe { cuMemAllocManaged(to, bytes, OF_ALL_STREAMS) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(to, bytes) },
    };
    cuMemAllocPitch_v2 = "cuMemAllocPitch", 3020..=NEWEST, false,
    (to: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint), |real| match process::is_managed() {
        // SAFETY: both are the program's, and null or have room.
        true => unsafe { managed_rows(to, pitch, width, height) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(to, pitch, width, height, element) },
    };
    cuMemAllocAsync = "cuMemAllocAsync", 11_020..=NEWEST, false,
    (to: *mut u64, bytes: usize, stream: *mut c_void), |real| match is_managed_in(stream) {
        // SAFETY: `to` is the program's, and null or has room for an address.
        true => unsafe { cuMemAllocManaged(to, bytes, OF_ALL_STREAMS) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(to, bytes, stream) },
    };
    cuMemAllocFromPoolAsync = "cuMemAllocFromPoolAsync", 11_020..=NEWEST, false,
    (to: *mut u64, bytes: usize, pool: *mut c_void, stream: *mut c_void), |real| match is_managed_in(stream) {
        // SAFETY: `to` is the program's, and null or has room for an address.
        true => unsafe { cuMemAllocManaged(to, bytes, OF_ALL_STREAMS) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(to, bytes, pool, stream) },
    };
    cuMemFreeAsync = "cuMemFreeAsync", 11_020..=NEWEST, false,
    (address: u64, stream: *mut c_void), |real| match is_managed_in(stream) {
        // SAFETY: the memory and the stream are the program's.
        true => unsafe { free_in_stream(address, stream) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(address, stream) },
    };
    cuMemAllocAsync_ptsz = "cuMemAllocAsync", 11_020..=NEWEST, true,
    (to: *mut u64, bytes: usize, stream: *mut c_void), |real| match is_managed_in(own(stream)) {
        // SAFETY: `to` is the program's, and null or has room for an address.
        true => unsafe { cuMemAllocManaged(to, bytes, OF_ALL_STREAMS) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(to, bytes, stream) },
    };
    cuMemAllocFromPoolAsync_ptsz = "cuMemAllocFromPoolAsync", 11_020..=NEWEST, true,
    (to: *mut u64, bytes: usize, pool: *mut c_void, stream: *mut c_void), |real| match is_managed_in(own(stream)) {
        // SAFETY: `to` is the program's, and null or has room for an address.
        true => unsafe { cuMemAllocManaged(to, bytes, OF_ALL_STREAMS) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(to, bytes, pool, stream) },
    };
    cuMemFreeAsync_ptsz = "cuMemFreeAsync", 11_020..=NEWEST, true,
    (address: u64, stream: *mut c_void), |real| match is_managed_in(own(stream)) {
        // SAFETY: the memory and the stream are the program's.
        true => unsafe { free_in_stream(address, own(stream)) },
        // SAFETY: the caller's arguments go on as they are.
        false => unsafe { real(address, stream) },
    };
    cuMemFree_v2 = "cuMemFree", 3020..=NEWEST, false, (address: u64), |real| {
        process::freeing(address);
        // SAFETY: the caller's argument goes on as it is.
        wait(|| unsafe { real(address) })
    };
    cuLaunchKernel = "cuLaunchKernel", 4000..=NEWEST, false,
    (kernel: *mut c_void, x: c_uint, y: c_uint, z: c_uint, i: c_uint, j: c_uint, k: c_uint, shared: c_uint, stream: *mut c_void,
     values: *mut *mut c_void, extra: *mut *mut c_void), |real| {
        // SAFETY: the caller's arguments go on as they are.
        launch(stream, || unsafe { real(kernel, x, y, z, i, j, k, shared, stream, values, extra) })
    };
    cuLaunchKernel_ptsz = "cuLaunchKernel", 7000..=NEWEST, true,
    (kernel: *mut c_void, x: c_uint, y: c_uint, z: c_uint, i: c_uint, j: c_uint, k: c_uint, shared: c_uint, stream: *mut c_void,
     values: *mut *mut c_void, extra: *mut *mut c_void), |real| {
        // SAFETY: the caller's arguments go on as they are.
        launch(own(stream), || unsafe { real(kernel, x, y, z, i, j, k, shared, stream, values, extra) })
    };
    cuLaunchKernelEx = "cuLaunchKernelEx", 11_060..=NEWEST, false,
    (config: *const c_void, kernel: *mut c_void, values: *mut *mut c_void, extra: *mut *mut c_void), |real| {
        // SAFETY: the program passes null or a configuration, which the driver reads as well.
        let stream = unsafe { stream_of(config) };
        // SAFETY: the caller's arguments go on as they are.
        launch(stream, || unsafe { real(config, kernel, values, extra) })
    };
    cuLaunchKernelEx_ptsz = "cuLaunchKernelEx", 11_060..=NEWEST, true,
    (config: *const c_void, kernel: *mut c_void, values: *mut *mut c_void, extra: *mut *mut c_void), |real| {
        // SAFETY: the program passes null or a configuration, which the driver reads as well.
        let stream = unsafe { stream_of(config) };
        // SAFETY: the caller's arguments go on as they are.
        launch(own(stream), || unsafe { real(config, kernel, values, extra) })
    };
    cuLaunchCooperativeKernel = "cuLaunchCooperativeKernel", 9000..=NEWEST, false,
    (kernel: *mut c_void, x: c_uint, y: c_uint, z: c_uint, i: c_uint, j: c_uint, k: c_uint, shared: c_uint, stream: *mut c_void,
     values: *mut *mut c_void), |real| {
        // SAFETY: the caller's arguments go on as they are.
        launch(stream, || unsafe { real(kernel, x, y, z, i, j, k, shared, stream, values) })
    };
    cuLaunchCooperativeKernel_ptsz = "cuLaunchCooperativeKernel", 9000..=NEWEST, true,
    (kernel: *mut c_void, x: c_uint, y: c_uint, z: c_uint, i: c_uint, j: c_uint, k: c_uint, shared: c_uint, stream: *mut c_void,
     values: *mut *mut c_void), |real| {
        // SAFETY: the caller's arguments go on as they are.
        launch(own(stream), || unsafe { real(kernel, x, y, z, i, j, k, shared, stream, values) })
    };
    cuGraphLaunch = "cuGraphLaunch", 10_000..=NEWEST, false, (graph: *mut c_void, stream: *mut c_void), |real| {
        process::launching_graph();
        // SAFETY: the caller's arguments go on as they are.
        wait(|| unsafe { real(graph, stream) })
    };
    cuGraphLaunch_ptsz = "cuGraphLaunch", 10_000..=NEWEST, true, (graph: *mut c_void, stream: *mut c_void), |real| {
        process::launching_graph();
        // SAFETY: the caller's arguments go on as they are.
        wait(|| unsafe { real(graph, stream) })
    };
    cuCtxSynchronize = "cuCtxSynchronize", 2000..=12_090, false, (), |real| {
        // SAFETY: the call has no arguments.
        wait(|| unsafe { real() })
    };
    cuStreamSynchronize = "cuStreamSynchronize", 2000..=NEWEST, false, (stream: *mut c_void), |real| {
        // SAFETY: the caller's argument goes on as it is.
        wait(|| unsafe { real(stream) })
    };
    cuStreamSynchronize_ptsz = "cuStreamSynchronize", 7000..=NEWEST, true, (stream: *mut c_void), |real| {
        // SAFETY: the caller's argument goes on as it is.
        wait(|| unsafe { real(stream) })
    };
    cuEventSynchronize = "cuEventSynchronize", 2000..=NEWEST, false, (event: *mut c_void), |real| {
        // SAFETY: the caller's argument goes on as it is.
        wait(|| unsafe { real(event) })
    };
}
