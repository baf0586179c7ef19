use std::ffi::{CString, c_void};

use cudarc::driver::{DriverError, result, sys};

use super::call::{Checked, code};
use crate::gpu::Launch;
use crate::kernel::for_any_driver;
use crate::{GpuError, Kernel, THREADS_PER_BLOCK};

/// What the driver's compiler may say about a kernel.
const LOG_BYTES: usize = 4096;

/// A kernel in the memory of the GPU.
pub(super) struct Loaded {
    pub module: sys::CUmodule,
    pub function: sys::CUfunction,
}

/// Has the driver compile a kernel for the current GPU.
pub(super) fn load(kernel: Kernel, gpu: &str) -> Result<Loaded, GpuError> {
    let text = CString::new(for_any_driver(kernel.ptx())).map_err(|_| GpuError::Kernels {
        gpu: gpu.to_owned(),
        log: format!("the PTX of {} holds a zero", kernel.entry()),
    })?;
    let module = compile(&text).map_err(|(error, log)| GpuError::Kernels {
        gpu: gpu.to_owned(),
        log: format!("{} of {}: {log}", code(error), kernel.entry()),
    })?;
    let finding = || format!("looking for {}", kernel.entry());
    let entry = CString::new(kernel.entry()).unwrap_or_default();
    // SAFETY: `module` has just been loaded.
    let function = unsafe { result::module::get_function(module, entry) }
        .checked("cuModuleGetFunction", finding)?;
    Ok(Loaded { module, function })
}

fn compile(text: &CString) -> Result<sys::CUmodule, (DriverError, String)> {
    use sys::CUjit_option as Is;
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = [
        Is::CU_JIT_ERROR_LOG_BUFFER,
        Is::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    // The driver takes small numbers in the place of pointers.
    let mut values = [
        log.as_mut_ptr().cast::<c_void>(),
        std::ptr::without_provenance_mut(LOG_BYTES),
    ];
    let mut module = std::ptr::null_mut();
    // SAFETY: the text ends with a zero; options and values are as many as said; the log is as long as said, and all
    // of them outlive the call.
    let compiled = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            text.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    compiled
        .result()
        .map(|()| module)
        .map_err(|error| (error, shown(&log)))
}

fn shown(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim().replace('\n', "; ")
}

/// What a kernel is called with: 8 bytes each.
pub(super) struct Arguments {
    values: Vec<u64>,
}

impl Arguments {
    /// Those of `launch`: the data, then the others.
    ///
    /// # Panics
    /// If the kernel takes another number of arguments: no caller launches such a thing.
    pub fn of(launch: &Launch) -> Self {
        assert_eq!(
            launch.scalars.len(),
            launch.kernel.scalar_count(),
            "arguments of {}",
            launch.kernel.entry()
        );
        let mut values = vec![launch.buffer.address];
        values.extend(&launch.scalars);
        Self { values }
    }
}

/// Starts a kernel on the default stream.
pub(super) fn launch(
    function: sys::CUfunction,
    blocks: u32,
    mut arguments: Arguments,
) -> Result<(), DriverError> {
    let mut pointers: Vec<*mut c_void> = arguments
        .values
        .iter_mut()
        .map(|value| std::ptr::from_mut(value).cast())
        .collect();
    // SAFETY: the function belongs to a loaded module; the pointers are as many as it has parameters, each to 8 bytes that
    // the driver copies before it returns; the kernels stay inside the buffer that the benchmark names.
    unsafe {
        result::launch_kernel(
            function,
            (blocks, 1, 1),
            (THREADS_PER_BLOCK, 1, 1),
            0,
            std::ptr::null_mut(),
            &mut pointers,
        )
    }
}
