//! `cuGetProcAddress`: functions by name and version.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use super::driver;
use crate::api::{DRIVER_LIBRARY, driver_functions};
use crate::error::{CudaError, Fault};
use crate::ffi::device::DRIVER_VERSION;
use crate::ffi::shim::{in_shim, open_shim};
use crate::ffi::{Done, InText, OutPtr, api};

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// `CUdriverProcAddressQueryResult`.
const FOUND: c_int = 0;
const NO_SUCH_NAME: c_int = 1;
const TOO_OLD: c_int = 2;

/// The symbol of function `name` as programs of CUDA `version` (such as 12090) mean it.
fn symbol(name: &str, version: c_int, per_thread: bool) -> Result<&'static str, c_int> {
    let is_variant = |symbol: &str| symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
    let of_name = || driver_functions().filter(|function| function.base == name);
    let newest = |variant: bool| {
        of_name()
            .filter(|function| is_variant(function.symbol) == variant)
            .filter(|function| function.since <= version)
            .max_by_key(|function| function.since)
    };
    let found = newest(per_thread).or_else(|| newest(false));
    match found {
        Some(function) => Ok(function.symbol),
        None if of_name().next().is_some() => Err(TOO_OLD),
        None => Err(NO_SUCH_NAME),
    }
}

/// A function of the driver's library.
fn address_of(symbol: &str) -> Option<*mut c_void> {
    static SHIM: OnceLock<Option<usize>> = OnceLock::new();
    let shim = SHIM.get_or_init(|| open_shim(DRIVER_LIBRARY).map(|handle| handle as usize));
    in_shim((*shim)? as *mut c_void, symbol)
}

fn find(
    name: InText,
    to: OutPtr<*mut c_void>,
    version: c_int,
    flags: u64,
    status: OutPtr<c_int>,
) -> Done {
    to.needed()?;
    let name = name.get()?;
    let found = symbol(name, version, flags & PER_THREAD != 0);
    let found = found.and_then(|symbol| address_of(symbol).ok_or(NO_SUCH_NAME));
    let (address, verdict) = match found {
        Ok(address) => (address, FOUND),
        Err(verdict) => (std::ptr::null_mut(), verdict),
    };
    to.put(address)?;
    status.put_if_wanted(verdict);
    match verdict {
        FOUND => Ok(()),
        _ => Err(Fault::silent(CudaError::NOT_FOUND)),
    }
}

driver! { Nothing:
    fn cuGetProcAddress(name: InText, to: OutPtr<*mut c_void>, version: c_int, flags: u64) {
        find(name, to, version, flags, OutPtr::NULL)
    }

    fn cuGetProcAddress_v2(name: InText, to: OutPtr<*mut c_void>, version: c_int, flags: u64, status: OutPtr<c_int>) {
        find(name, to, version, flags, status)
    }
}

/// As the runtime has it: what is not found is a null pointer and a verdict.
fn entry_point(
    name: InText,
    to: OutPtr<*mut c_void>,
    version: c_int,
    flags: c_ulonglong,
    status: OutPtr<c_int>,
) -> Done {
    let is_verdict_wanted = !status.is_null();
    match find(name, to, version, flags, status) {
        Err(fault) if fault.code == CudaError::NOT_FOUND && is_verdict_wanted => Ok(()),
        done => done,
    }
}

api! {
    fn cudaGetDriverEntryPoint(name: InText, to: OutPtr<*mut c_void>, flags: c_ulonglong, status: OutPtr<c_int>) {
        entry_point(name, to, DRIVER_VERSION, flags, status)
    }

    fn cudaGetDriverEntryPointByVersion(name: InText, to: OutPtr<*mut c_void>, version: c_uint, flags: c_ulonglong, status: OutPtr<c_int>) {
        entry_point(name, to, version as c_int, flags, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides() {
        assert_eq!(symbol("cuMemAlloc", 2000, false), Ok("cuMemAlloc"));
        assert_eq!(symbol("cuMemAlloc", 12_000, false), Ok("cuMemAlloc_v2"));
        assert_eq!(symbol("cuCtxCreate", 11_040, false), Ok("cuCtxCreate_v3"));
        assert_eq!(symbol("cuCtxCreate", 13_000, false), Ok("cuCtxCreate_v4"));
        assert_eq!(
            symbol("cuLaunchKernel", 12_000, true),
            Ok("cuLaunchKernel_ptsz")
        );
        assert_eq!(symbol("cuInit", 12_000, true), Ok("cuInit"));
        assert_eq!(symbol("cuLibraryLoadData", 11_000, false), Err(TOO_OLD));
        assert_eq!(symbol("cuNothing", 13_000, false), Err(NO_SUCH_NAME));
    }
}
