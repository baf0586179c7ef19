//! `libnvidia-ml`: as much as frameworks ask for before they start, about the one simulated GPU.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::{OutPtr, caught, complain, device, null, with_runtime};
use crate::error::{CudaError, Fault};

/// `nvmlReturn_t`.
const SUCCESS: i32 = 0;
const INVALID_ARGUMENT: i32 = 2;
const NOT_SUPPORTED: i32 = 3;
const INSUFFICIENT_SIZE: i32 = 7;
const UNKNOWN: i32 = 999;

/// What stands for device 0, which no program looks into.
const DEVICE: *mut c_void = (0x72u64 << 56) as *mut c_void;

/// The version of the driver that the simulated one stands for.
const DRIVER: &str = "580.65.06";

fn guard(function: &'static str, body: impl FnOnce() -> Result<i32, Fault>) -> i32 {
    let mut code = SUCCESS;
    let outcome = caught(|| {
        code = body()?;
        Ok(())
    });
    match outcome {
        Ok(()) => code,
        Err(fault) => {
            if let Some(message) = &fault.message {
                complain(function, message);
            }
            match fault.code {
                CudaError::INVALID_VALUE => INVALID_ARGUMENT,
                CudaError::NOT_SUPPORTED => NOT_SUPPORTED,
                _ => UNKNOWN,
            }
        }
    }
}

macro_rules! nvml {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[unsafe(export_name = concat!("pagemill_", stringify!($name)))]
            #[allow(non_snake_case, reason = "the names are those of the management library")]
            // SAFETY: called by a program that keeps NVML's contract for the pointers; no panic leaves it.
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                guard(stringify!($name), || $body)
            }
        )*
    };
}

fn give<T>(to: OutPtr<T>, value: T) -> Result<i32, Fault> {
    to.put(value).map(|()| SUCCESS)
}

/// # Safety
/// `to` points to room for `room` bytes.
unsafe fn give_text(to: *mut c_char, room: c_uint, text: &str) -> Result<i32, Fault> {
    if to.is_null() {
        return Err(null());
    }
    if text.len() >= room as usize {
        return Ok(INSUFFICIENT_SIZE);
    }
    // SAFETY: `to` is not null, and the program has `room` bytes there: more than the text has, so that its NUL fits too.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(SUCCESS)
}

fn only(own: *mut c_void) -> Result<(), Fault> {
    if own == DEVICE {
        return Ok(());
    }
    Err(Fault::silent(CudaError::INVALID_VALUE))
}

/// Total, free and used bytes.
fn memory() -> Result<[u64; 3], Fault> {
    let (free, total) = with_runtime(|runtime| Ok(runtime.device.memory_info()))?;
    Ok([total, free, total - free])
}

nvml! {
    fn nvmlInit_v2() {
        Ok(SUCCESS)
    }

    fn nvmlInitWithFlags(_flags: c_uint) {
        Ok(SUCCESS)
    }

    fn nvmlShutdown() {
        Ok(SUCCESS)
    }

    fn nvmlDeviceGetCount_v2(to: OutPtr<c_uint>) {
        give(to, 1)
    }

    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: OutPtr<*mut c_void>) {
        if index != 0 {
            return Ok(INVALID_ARGUMENT);
        }
        give(to, DEVICE)
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(_id: *const c_char, to: OutPtr<*mut c_void>) {
        give(to, DEVICE)
    }

    fn nvmlDeviceGetHandleByUUID(_id: *const c_char, to: OutPtr<*mut c_void>) {
        give(to, DEVICE)
    }

    fn nvmlDeviceGetIndex(own: *mut c_void, to: OutPtr<c_uint>) {
        only(own)?;
        give(to, 0)
    }

    fn nvmlDeviceGetName(own: *mut c_void, to: *mut c_char, room: c_uint) {
        only(own)?;
        let name = with_runtime(|runtime| Ok(runtime.device.setting.machine_title.clone()))?;
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { give_text(to, room, &name) }
    }

    fn nvmlDeviceGetUUID(own: *mut c_void, to: *mut c_char, room: c_uint) {
        only(own)?;
        let hex: String = device::UUID.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { give_text(to, room, &format!("GPU-{}", parts.join("-"))) }
    }

    fn nvmlDeviceGetMemoryInfo(own: *mut c_void, to: OutPtr<[u64; 3]>) {
        only(own)?;
        let memory = memory()?;
        give(to, memory)
    }

    fn nvmlDeviceGetMemoryInfo_v2(own: *mut c_void, to: *mut [u64; 5]) {
        only(own)?;
        if to.is_null() {
            return Err(null());
        }
        let [total, free, used] = memory()?;
        // SAFETY: `to` is not null, and the program has set its first field, the version, and has room for the rest.
        unsafe {
            let version = to.cast::<u64>().read_unaligned();
            to.write_unaligned([version, total, 0, free, used]);
        }
        Ok(SUCCESS)
    }

    fn nvmlDeviceGetCudaComputeCapability(own: *mut c_void, major: OutPtr<c_int>, minor: OutPtr<c_int>) {
        only(own)?;
        let capability = with_runtime(|runtime| Ok(super::properties::compute_capability(runtime)))?;
        give(major, capability / 10)?;
        give(minor, capability % 10)
    }

    fn nvmlSystemGetDriverVersion(to: *mut c_char, room: c_uint) {
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { give_text(to, room, DRIVER) }
    }

    fn nvmlSystemGetNVMLVersion(to: *mut c_char, room: c_uint) {
        // SAFETY: the program passes `to` as null or room for its text.
        unsafe { give_text(to, room, &format!("13.{DRIVER}")) }
    }

    fn nvmlSystemGetCudaDriverVersion(to: OutPtr<c_int>) {
        give(to, device::DRIVER_VERSION)
    }

    fn nvmlSystemGetCudaDriverVersion_v2(to: OutPtr<c_int>) {
        give(to, device::DRIVER_VERSION)
    }
}

#[unsafe(export_name = "pagemill_nvmlErrorString")]
extern "C" fn error_string(code: i32) -> *const c_char {
    let text = match code {
        SUCCESS => c"Success",
        INVALID_ARGUMENT => c"Invalid Argument",
        NOT_SUPPORTED => c"Not Supported",
        INSUFFICIENT_SIZE => c"Insufficient Size",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

/// What the shim calls for a function that pagemill does not have.
#[unsafe(no_mangle)]
extern "C" fn pagemill_unsupported_nvml(_name: *const c_char) -> i32 {
    NOT_SUPPORTED
}
