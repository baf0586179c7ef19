//! Real GPUs, through the CUDA driver API. The only unsafe code of this crate.
//!
//! The driver's library is loaded at run time by `cudarc`, so pagemill builds and starts where there is none. The
//! bindings are those of CUDA 12.9: they hold the calls in the form that every driver since CUDA 8 exports, CUDA 13's
//! too, and every error code that those calls are documented to return. Kernels are PTX, which the driver compiles by itself; NVRTC, a library that comes with the toolkit and not with the
//! driver, is not needed.

mod call;
mod host_writer;
mod kernels;
mod library;

use std::collections::BTreeMap;
use std::ops::Range;

use cudarc::driver::{result, sys};
use pagemill_policy::residency::{Action, Call, Side};

use crate::gpu::{Buffer, Gpu, GpuFacts, Launch};
use crate::{GpuError, Kernel, THREADS_PER_BLOCK, cpu_writer};
use call::Checked;

pub use host_writer::{ClearError, HostWriter};
pub use library::probe;

/// The driver's number of the CPU, as opposed to a GPU.
const CPU: sys::CUdevice = -1;

/// A GPU of this machine.
pub struct CudaGpu {
    facts: GpuFacts,
    device: sys::CUdevice,
    functions: BTreeMap<Kernel, sys::CUfunction>,
    modules: Vec<sys::CUmodule>,
    start: sys::CUevent,
    end: sys::CUevent,
}

impl CudaGpu {
    /// Opens GPU `index` and compiles the kernels for it.
    ///
    /// # Errors
    /// If there is no driver or no such GPU, if it cannot fault on managed memory, or if the driver refuses the kernels.
    pub fn open(index: u32) -> Result<Self, GpuError> {
        let gpus = probe()?;
        let count = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
        let facts =
            gpus.into_iter()
                .find(|facts| facts.index == index)
                .ok_or(GpuError::NoSuchGpu {
                    asked: index,
                    count,
                })?;
        if !facts.has_faults {
            return Err(GpuError::NoFaults { gpu: facts.name });
        }
        let device = library::device(index)?;
        // SAFETY: the driver is loaded and initialized, and `device` is one of its devices.
        let context = unsafe { result::primary_ctx::retain(device) }
            .checked("cuDevicePrimaryCtxRetain", || {
                format!("opening {}", facts.name)
            })?;
        let mut gpu = Self {
            facts,
            device,
            functions: BTreeMap::new(),
            modules: Vec::new(),
            start: std::ptr::null_mut(),
            end: std::ptr::null_mut(),
        };
        // SAFETY: `context` was retained above and is released when `gpu` is dropped.
        unsafe { result::ctx::set_current(context) }
            .checked("cuCtxSetCurrent", || format!("opening {}", gpu.facts.name))?;
        gpu.prepare()?;
        Ok(gpu)
    }

    fn prepare(&mut self) -> Result<(), GpuError> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let creating = || "creating a timer".to_owned();
        self.start = result::event::create(flags).checked("cuEventCreate", creating)?;
        self.end = result::event::create(flags).checked("cuEventCreate", creating)?;
        for kernel in Kernel::all() {
            let loaded = kernels::load(kernel, &self.facts.name)?;
            self.modules.push(loaded.module);
            self.functions.insert(kernel, loaded.function);
        }
        Ok(())
    }

    fn function(&self, kernel: Kernel) -> sys::CUfunction {
        // Every kernel was loaded when the GPU was opened.
        self.functions[&kernel]
    }

    fn number(&self, side: Side) -> sys::CUdevice {
        match side {
            Side::Cpu => CPU,
            Side::Gpu => self.device,
        }
    }
}

/// The part `range` of `buffer`, as the driver takes it.
///
/// # Panics
/// If the range leaves the buffer: no caller asks for that.
fn part(buffer: Buffer, range: &Range<u64>) -> (sys::CUdeviceptr, usize) {
    assert!(
        range.start <= range.end && range.end <= buffer.bytes,
        "{range:?} is no part of a buffer of {} bytes",
        buffer.bytes
    );
    (
        buffer.address + range.start,
        (range.end - range.start) as usize,
    )
}

impl Gpu for CudaGpu {
    fn facts(&self) -> &GpuFacts {
        &self.facts
    }

    fn free_bytes(&self) -> Result<u64, GpuError> {
        let (free, _total) = result::mem_get_info()
            .checked("cuMemGetInfo", || "asking for free memory".to_owned())?;
        Ok(free as u64)
    }

    fn resident_blocks(&self, kernel: Kernel) -> Result<u32, GpuError> {
        // SAFETY: the function belongs to a module that is loaded as long as `self` lives.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor(
                self.function(kernel),
                THREADS_PER_BLOCK.cast_signed(),
                0,
            )
        };
        let blocks = blocks.checked("cuOccupancyMaxActiveBlocksPerMultiprocessor", || {
            format!("asking for the occupancy of {}", kernel.entry())
        })?;
        Ok(blocks.max(0).cast_unsigned())
    }

    fn alloc_fixed(&mut self, bytes: u64) -> Result<Buffer, GpuError> {
        // SAFETY: the allocation is only ever named to the driver, never read.
        let address = unsafe { result::malloc_sync(bytes as usize) }
            .checked("cuMemAlloc", || {
                format!("allocating {bytes} bytes of GPU memory")
            })?;
        Ok(Buffer { address, bytes })
    }

    fn alloc_managed(&mut self, bytes: u64) -> Result<Buffer, GpuError> {
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
        // SAFETY: the allocation is written from the CPU before anything reads it.
        let address = unsafe { result::malloc_managed(bytes as usize, flags) }
            .checked("cuMemAllocManaged", || {
                format!("allocating {bytes} bytes of managed memory")
            })?;
        Ok(Buffer { address, bytes })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), GpuError> {
        // SAFETY: a buffer comes from one of the two calls above and is freed once by its owner; the driver waits for the GPU.
        unsafe { result::free_sync(buffer.address) }
            .checked("cuMemFree", || format!("freeing {} bytes", buffer.bytes))
    }

    fn write_from_cpu(&mut self, buffer: Buffer) -> Result<(), GpuError> {
        self.finish()?;
        // SAFETY: managed memory of this size is valid for the CPU at this address (unified addressing); the GPU has
        // finished, and nothing in this program holds a reference into it.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(
                std::ptr::with_exposed_provenance_mut::<std::mem::MaybeUninit<u8>>(
                    buffer.address as usize,
                ),
                buffer.bytes as usize,
            )
        };
        cpu_writer::fill(bytes, std::mem::MaybeUninit::new(0));
        Ok(())
    }

    fn call(&mut self, buffer: Buffer, call: &Call) -> Result<(), GpuError> {
        let (address, bytes) = part(buffer, &call.bytes);
        let doing = || format!("{:?} of bytes {:?}", call.action, call.bytes);
        let (advice, device) = match call.action {
            Action::Prefetch(side) => {
                let device = self.number(side);
                // SAFETY: `part` has checked that the range lies in the allocation; a null stream is the default one.
                return unsafe {
                    sys::cuMemPrefetchAsync(address, bytes, device, std::ptr::null_mut())
                }
                .result()
                .checked("cuMemPrefetchAsync", doing);
            }
            Action::PreferredLocation(side) => (
                sys::CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                self.number(side),
            ),
            Action::AccessedByGpu => (
                sys::CUmem_advise::CU_MEM_ADVISE_SET_ACCESSED_BY,
                self.device,
            ),
            Action::ReadMostly => (
                sys::CUmem_advise::CU_MEM_ADVISE_SET_READ_MOSTLY,
                self.device,
            ),
            Action::NoPreferredLocation => (
                sys::CUmem_advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
                self.device,
            ),
            Action::NotAccessedByGpu => (
                sys::CUmem_advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY,
                self.device,
            ),
            Action::NotReadMostly => (
                sys::CUmem_advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY,
                self.device,
            ),
            // No strategy of the benchmark discards anything, and drivers before 12.8 cannot.
            Action::Discard => return Ok(()),
        };
        // SAFETY: `part` has checked that the range lies in the allocation.
        unsafe { sys::cuMemAdvise(address, bytes, advice, device) }
            .result()
            .checked("cuMemAdvise", doing)
    }

    fn finish(&mut self) -> Result<(), GpuError> {
        result::ctx::synchronize().checked("cuCtxSynchronize", || "waiting for the GPU".to_owned())
    }

    fn time_ns(&mut self, launch: &Launch) -> Result<u64, GpuError> {
        let doing = || {
            format!(
                "running {} in {} blocks",
                launch.kernel.entry(),
                launch.blocks
            )
        };
        let arguments = kernels::Arguments::of(launch);
        // SAFETY: the events live as long as `self`; a null stream is the default one.
        unsafe { result::event::record(self.start, std::ptr::null_mut()) }
            .checked("cuEventRecord", doing)?;
        kernels::launch(self.function(launch.kernel), launch.blocks, arguments)
            .checked("cuLaunchKernel", doing)?;
        // SAFETY: `end` lives as long as `self`, and has been recorded before it is waited for.
        let waited = unsafe {
            result::event::record(self.end, std::ptr::null_mut())
                .and_then(|()| sys::cuEventSynchronize(self.end).result())
        };
        waited.checked("cuEventSynchronize", doing)?;
        // SAFETY: both events are recorded and over.
        let milliseconds = unsafe { result::event::elapsed(self.start, self.end) }
            .checked("cuEventElapsedTime", doing)?;
        Ok((f64::from(milliseconds) * 1e6).round() as u64)
    }
}

impl Drop for CudaGpu {
    fn drop(&mut self) {
        // No caller is left that could act on an error, and the driver frees everything when the process ends.
        for event in [self.start, self.end]
            .into_iter()
            .filter(|event| !event.is_null())
        {
            // SAFETY: created in `prepare`, destroyed only here.
            let _ = unsafe { result::event::destroy(event) };
        }
        for module in self.modules.drain(..) {
            // SAFETY: loaded in `prepare`, unloaded only here; its functions go with `self`.
            let _ = unsafe { result::module::unload(module) };
        }
        // SAFETY: retained once in `open`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}
