//! Finding the driver and its GPUs.

use std::ffi::c_int;

use cudarc::driver::{result, sys};

use super::call::{Checked, code, message};
use crate::{GpuError, GpuFacts};

/// Every call that finding and opening a GPU makes. A missing one would end the process when it is first made.
const OPENING: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
];

/// Those of the benchmark besides.
const BENCHMARK: &[&str] = &[
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemAllocManaged",
    "cuMemFree_v2",
    "cuMemAdvise",
    "cuMemPrefetchAsync",
    "cuLaunchKernel",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
];

/// The GPUs of this machine, in the driver's order.
///
/// # Errors
/// If there is no driver, an old one, or no GPU that it can use.
pub fn probe() -> Result<Vec<GpuFacts>, GpuError> {
    probe_for(BENCHMARK)
}

/// The same for a use that makes `calls` besides.
pub(super) fn probe_for(calls: &[&'static str]) -> Result<Vec<GpuFacts>, GpuError> {
    load(calls)?;
    let no_gpu = |error| GpuError::NoGpu {
        found: format!("{}: {}", code(error), message(error)),
    };
    result::init().map_err(no_gpu)?;
    let count = result::device::get_count().map_err(no_gpu)?;
    if count == 0 {
        let found = "it counts none".to_owned();
        return Err(GpuError::NoGpu { found });
    }
    let driver_cuda = driver_version()?;
    (0..count.cast_unsigned())
        .map(|index| facts(index, driver_cuda))
        .collect()
}

/// Loads the driver's library and makes sure that it has all that is needed, `calls` included.
fn load(calls: &[&'static str]) -> Result<(), GpuError> {
    // SAFETY: loading libcuda runs its initializers, which expect nothing of the process.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoLibrary);
    }
    // SAFETY: the library was found a moment ago, so that loading it does not end in a panic.
    let library = unsafe { sys::culib() };
    for &symbol in OPENING.iter().chain(calls) {
        // SAFETY: the symbol is looked up and not called.
        let found = unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) };
        if found.is_err() {
            return Err(GpuError::OldDriver { symbol });
        }
    }
    Ok(())
}

/// The driver's handle of GPU `index`.
pub(super) fn device(index: u32) -> Result<sys::CUdevice, GpuError> {
    let number = c_int::try_from(index).unwrap_or(c_int::MAX);
    result::device::get(number).checked("cuDeviceGet", || format!("asking for GPU {index}"))
}

fn driver_version() -> Result<(u32, u32), GpuError> {
    let mut version: c_int = 0;
    // SAFETY: the driver writes one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .checked("cuDriverGetVersion", || "asking for its version".to_owned())?;
    let version = version.max(0).cast_unsigned();
    Ok((version / 1000, version % 1000 / 10))
}

fn facts(index: u32, driver_cuda: (u32, u32)) -> Result<GpuFacts, GpuError> {
    use sys::CUdevice_attribute as Is;
    let device = device(index)?;
    let asking = || format!("asking what GPU {index} is");
    let attribute = |which| {
        // SAFETY: `device` is a device of the driver.
        let value = unsafe { result::device::get_attribute(device, which) }
            .checked("cuDeviceGetAttribute", asking)?;
        Ok::<u32, GpuError>(value.max(0).cast_unsigned())
    };
    // SAFETY: `device` is a device of the driver.
    let total_bytes = unsafe { result::device::total_mem(device) };
    Ok(GpuFacts {
        index,
        name: result::device::get_name(device).checked("cuDeviceGetName", asking)?,
        compute_capability: (
            attribute(Is::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Is::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sm_count: attribute(Is::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        total_bytes: total_bytes.checked("cuDeviceTotalMem", asking)? as u64,
        pci_address: format!(
            "{:04x}:{:02x}:{:02x}.0",
            attribute(Is::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            attribute(Is::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            attribute(Is::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
        ),
        driver_cuda,
        has_faults: attribute(Is::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)? != 0,
        uses_host_page_tables: attribute(
            Is::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
        )? != 0,
    })
}
