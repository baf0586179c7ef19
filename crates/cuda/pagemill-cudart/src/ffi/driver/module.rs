//! Modules and libraries, which are one thing here, and what is in them.

use std::ffi::{CStr, c_int, c_uint, c_void};

use super::driver;
use crate::error::{CudaError, Fault};
use crate::ffi::launch::cluster_attribute;
use crate::ffi::library::{image, load, load_file, unload};
use crate::ffi::properties::compute_capability;
use crate::ffi::{Done, InText, OutPtr, address, null, with_runtime};
use crate::runtime::FunctionKey;

/// `CU_JIT_MAX_REGISTERS`.
const MAX_REGISTERS: c_int = 0;
/// `CU_JIT_ERROR_LOG_BUFFER` and the option that gives its size.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;

/// `CUjit_option` with their values.
pub(super) struct JitOptions {
    pub(super) count: c_uint,
    pub(super) names: *const c_int,
    pub(super) values: *mut *mut c_void,
}

impl JitOptions {
    /// # Safety
    /// Both arrays have `count` elements, unless they are null.
    unsafe fn value(&self, name: c_int) -> Option<*mut c_void> {
        if self.names.is_null() || self.values.is_null() {
            return None;
        }
        // SAFETY: neither list is null, and both have `count` elements, which stay during the call.
        (0..self.count as usize).find_map(|index| unsafe {
            (self.names.add(index).read_unaligned() == name)
                .then(|| self.values.add(index).read_unaligned())
        })
    }

    /// The most registers of a thread, if the program limits them.
    ///
    /// # Safety
    /// As [`JitOptions::value`].
    pub(super) unsafe fn max_registers(&self) -> Option<u32> {
        // SAFETY: the program's two lists of options are of one length, `count`.
        let value = unsafe { self.value(MAX_REGISTERS) }?;
        // The option is a number of 32 bits in the place of a pointer.
        Some(value as usize as u32).filter(|&most| most > 0)
    }

    /// Puts the message of a failure where the program wants to read it.
    ///
    /// # Safety
    /// As [`JitOptions::value`]; a log is as large as its option says.
    pub(super) unsafe fn log<T>(&self, outcome: Result<T, Fault>) -> Result<T, Fault> {
        let Err(Fault {
            message: Some(message),
            ..
        }) = &outcome
        else {
            return outcome;
        };
        // SAFETY: the program's two lists of options are of one length, `count`.
        let (log, room) = unsafe { (self.value(ERROR_LOG), self.value(ERROR_LOG_BYTES)) };
        let (Some(log), Some(room)) = (log, room) else {
            return outcome;
        };
        let room = room as usize;
        if log.is_null() || room == 0 {
            return outcome;
        }
        let bytes = &message.as_bytes()[..message.len().min(room - 1)];
        // SAFETY: the log is not null, and the program has the `room` bytes there that its option says: one is left for the NUL.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), log.cast::<u8>(), bytes.len());
            log.cast::<u8>().add(bytes.len()).write(0);
        }
        outcome
    }
}

/// # Safety
/// `code` is null or points to device code; the lists of `options` are as long as they say.
unsafe fn load_data(to: OutPtr<*mut c_void>, code: *const c_void, options: &JitOptions) -> Done {
    to.needed()?;
    // SAFETY: `code` is null or device code, which says how long it is; both lists of options are of one length.
    let (loaded, most) = unsafe { (options.log(load(code))?, options.max_registers()) };
    if let Some(most) = most {
        let number = image(loaded)?;
        with_runtime(|runtime| runtime.kernels().limit_registers(number, most))?;
    }
    to.put(loaded)
}

const NO_OPTIONS: JitOptions = JitOptions {
    count: 0,
    names: std::ptr::null(),
    values: std::ptr::null_mut(),
};

fn load_from(to: OutPtr<*mut c_void>, file: InText) -> Done {
    to.needed()?;
    to.put(load_file(file.get()?)?)
}

fn function(to: OutPtr<*mut c_void>, module: *mut c_void, name: InText) -> Done {
    to.needed()?;
    let image = image(module)?;
    let name = name.get()?;
    let key = with_runtime(|runtime| runtime.kernels().kernel_of_image(image, name)).map_err(
        |fault| match fault.code {
            CudaError::INVALID_DEVICE_FUNCTION => Fault {
                code: CudaError::NOT_FOUND,
                ..fault
            },
            _ => fault,
        },
    )?;
    to.put(key.0 as *mut c_void)
}

fn global(
    to: OutPtr<*mut c_void>,
    bytes: OutPtr<usize>,
    module: *mut c_void,
    name: InText,
) -> Done {
    let image = image(module)?;
    let name = name.get()?;
    let (at, size) = with_runtime(|runtime| runtime.kernels().global_of_image(image, name))?;
    bytes.put_if_wanted(size as usize);
    to.put_if_wanted(at as *mut c_void);
    Ok(())
}

/// # Safety
/// `to` points to room for `room` handles.
unsafe fn functions(to: *mut *mut c_void, room: c_uint, module: *mut c_void) -> Done {
    let image = image(module)?;
    let keys = with_runtime(|runtime| {
        let names = runtime.kernels().kernel_names(image)?;
        names
            .iter()
            .map(|name| runtime.kernels().kernel_of_image(image, name))
            .collect::<Result<Vec<_>, _>>()
    })?;
    if to.is_null() {
        return Err(null());
    }
    for (index, key) in keys.iter().enumerate().take(room as usize) {
        // SAFETY: `to` is not null, and the program has room for `room` handles there, of which this is one.
        unsafe { to.add(index).write_unaligned(key.0 as *mut c_void) };
    }
    Ok(())
}

fn function_count(module: *mut c_void) -> Result<usize, Fault> {
    let image = image(module)?;
    with_runtime(|runtime| Ok(runtime.kernels().kernel_names(image)?.len()))
}

/// The value of a `CUfunction_attribute`.
fn attribute(function: *const c_void, number: c_int) -> Result<c_int, Fault> {
    let key = FunctionKey(address(function));
    let (found, capability) = with_runtime(|runtime| {
        Ok((
            runtime.kernels().function_attributes(key)?,
            compute_capability(runtime),
        ))
    })?;
    Ok(match number {
        0 => found.max_threads_per_block as c_int,
        1 => found.shared_bytes as c_int,
        2 => found.constant_bytes as c_int,
        // Cache mode.
        7 => 0,
        10..=15 => cluster_attribute(&found, number),
        3 => found.local_bytes as c_int,
        4 => found.registers as c_int,
        5 | 6 => capability,
        8 => found.max_dynamic_shared_bytes as c_int,
        9 => -1,
        _ => {
            let message = format!("there is no function attribute {number}");
            return Err(Fault::invalid(message));
        }
    })
}

fn parameter(
    function: *const c_void,
    index: usize,
    offset: OutPtr<usize>,
    bytes: OutPtr<usize>,
) -> Done {
    let key = FunctionKey(address(function));
    let found = with_runtime(|runtime| {
        let parameter = runtime.kernels().parameters(key)?.get(index);
        Ok(parameter.map(|parameter| (parameter.offset as usize, parameter.bytes as usize)))
    })?;
    let found = found.ok_or_else(|| Fault::silent(CudaError::INVALID_VALUE))?;
    offset.put(found.0)?;
    bytes.put_if_wanted(found.1);
    Ok(())
}

/// How many parameters a kernel has.
fn count_parameters(function: *const c_void, to: OutPtr<usize>) -> Done {
    let key = FunctionKey(address(function));
    let count = with_runtime(|runtime| Ok(runtime.kernels().parameters(key)?.len()))?;
    to.put(count)
}

driver! { Context:
    fn cuModuleLoadData(to: OutPtr<*mut c_void>, code: *const c_void) {
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { load_data(to, code, &NO_OPTIONS) }
    }

    fn cuModuleLoadDataEx(to: OutPtr<*mut c_void>, code: *const c_void, count: c_uint, names: *const c_int, values: *mut *mut c_void) {
        // SAFETY: the program passes `to` and `values` as null or room for a handle; `names` as null or with `count`
        // values.
        unsafe { load_data(to, code, &JitOptions { count, names, values }) }
    }

    fn cuModuleLoadFatBinary(to: OutPtr<*mut c_void>, code: *const c_void) {
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { load_data(to, code, &NO_OPTIONS) }
    }

    fn cuModuleLoad(to: OutPtr<*mut c_void>, file: InText) {
        load_from(to, file)
    }

    fn cuModuleUnload(module: *mut c_void) {
        unload(module)
    }

    fn cuModuleGetFunction(to: OutPtr<*mut c_void>, module: *mut c_void, name: InText) {
        function(to, module, name)
    }

    fn cuModuleGetGlobal_v2(to: OutPtr<*mut c_void>, bytes: OutPtr<usize>, module: *mut c_void, name: InText) {
        global(to, bytes, module, name)
    }

    fn cuModuleGetFunctionCount(to: OutPtr<c_uint>, module: *mut c_void) {
        let count = function_count(module)?;
        to.put(count as c_uint)
    }

    fn cuModuleEnumerateFunctions(to: *mut *mut c_void, room: c_uint, module: *mut c_void) {
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { functions(to, room, module) }
    }

    fn cuFuncGetAttribute(to: OutPtr<c_int>, number: c_int, function: *const c_void) {
        let value = attribute(function, number)?;
        to.put(value)
    }

    fn cuFuncGetModule(to: OutPtr<*mut c_void>, function: *const c_void) {
        let image = with_runtime(|runtime| runtime.modules.image_of(FunctionKey(address(function))))?;
        to.put(crate::ffi::library::handle(image))
    }

    fn cuFuncGetParamInfo(function: *const c_void, index: usize, offset: OutPtr<usize>, bytes: OutPtr<usize>) {
        parameter(function, index, offset, bytes)
    }

    fn cuFuncGetParamCount(function: *const c_void, to: OutPtr<usize>) {
        count_parameters(function, to)
    }

    fn cuFuncIsLoaded(to: OutPtr<c_int>, function: *const c_void) {
        attribute(function, 0)?;
        to.put(1)
    }

    fn cuFuncLoad(function: *const c_void) {
        attribute(function, 0).map(|_| ())
    }

    fn cuFuncSetSharedMemConfig(function: *const c_void, _config: c_int) {
        attribute(function, 0).map(|_| ())
    }
}

driver! { Init:
    fn cuLibraryLoadData(to: OutPtr<*mut c_void>, code: *const c_void, names: *const c_int, values: *mut *mut c_void, count: c_uint, _options: *const c_void, _option_values: *const c_void, _option_count: c_uint) {
        // SAFETY: the program passes `to` and `values` as null or room for a handle; `names` as null or with `count`
        // values.
        unsafe { load_data(to, code, &JitOptions { count, names, values }) }
    }

    fn cuLibraryLoadFromFile(to: OutPtr<*mut c_void>, file: InText, _names: *const c_int, _values: *mut *mut c_void, _count: c_uint, _options: *const c_void, _option_values: *const c_void, _option_count: c_uint) {
        load_from(to, file)
    }

    fn cuLibraryUnload(library: *mut c_void) {
        unload(library)
    }

    fn cuLibraryGetModule(to: OutPtr<*mut c_void>, library: *mut c_void) {
        image(library)?;
        to.put(library)
    }

    fn cuLibraryGetKernel(to: OutPtr<*mut c_void>, library: *mut c_void, name: InText) {
        function(to, library, name)
    }

    fn cuLibraryGetGlobal(to: OutPtr<*mut c_void>, bytes: OutPtr<usize>, library: *mut c_void, name: InText) {
        global(to, bytes, library, name)
    }

    fn cuLibraryGetManaged(to: OutPtr<*mut c_void>, bytes: OutPtr<usize>, library: *mut c_void, name: InText) {
        global(to, bytes, library, name)
    }

    fn cuLibraryGetKernelCount(to: OutPtr<c_uint>, library: *mut c_void) {
        let count = function_count(library)?;
        to.put(count as c_uint)
    }

    fn cuLibraryEnumerateKernels(to: *mut *mut c_void, room: c_uint, library: *mut c_void) {
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { functions(to, room, library) }
    }

    fn cuKernelGetFunction(to: OutPtr<*mut c_void>, kernel: *mut c_void) {
        attribute(kernel, 0)?;
        to.put(kernel)
    }

    fn cuKernelGetLibrary(to: OutPtr<*mut c_void>, kernel: *const c_void) {
        let image = with_runtime(|runtime| runtime.modules.image_of(FunctionKey(address(kernel))))?;
        to.put(crate::ffi::library::handle(image))
    }

    fn cuKernelGetAttribute(to: OutPtr<c_int>, number: c_int, kernel: *const c_void, of: c_int) {
        crate::ffi::device::only(of)?;
        let value = attribute(kernel, number)?;
        to.put(value)
    }

    fn cuKernelSetAttribute(number: c_int, value: c_int, kernel: *const c_void, of: c_int) {
        crate::ffi::device::only(of)?;
        crate::ffi::launch::set_attribute(FunctionKey(address(kernel)), number, value)
    }

    fn cuKernelSetCacheConfig(kernel: *const c_void, _config: c_int, of: c_int) {
        crate::ffi::device::only(of)?;
        attribute(kernel, 0).map(|_| ())
    }

    fn cuKernelGetParamInfo(kernel: *const c_void, index: usize, offset: OutPtr<usize>, bytes: OutPtr<usize>) {
        parameter(kernel, index, offset, bytes)
    }

    fn cuKernelGetParamCount(kernel: *const c_void, to: OutPtr<usize>) {
        count_parameters(kernel, to)
    }
}

/// PTX text of the program.
///
/// # Safety
/// `text` is null or points to `bytes` bytes.
pub(super) unsafe fn ptx<'a>(text: *const c_void, bytes: usize) -> Result<&'a str, Fault> {
    if text.is_null() {
        return Err(null());
    }
    // SAFETY: it is not null, and has `bytes` bytes, which the program leaves as they are while the text is borrowed.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes) };
    let bytes = CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes);
    std::str::from_utf8(bytes)
        .map_err(|_| Fault::new(CudaError::INVALID_PTX, "the PTX is no UTF-8 text"))
}
