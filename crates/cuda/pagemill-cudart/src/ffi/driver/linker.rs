//! `cuLink*`: PTX of several sources becomes one text, which modules are loaded from.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use super::driver;
use super::module::{JitOptions, ptx};
use crate::error::{CudaError, Fault};
use crate::fatbin::ptx_images;
use crate::ffi::library::limit_line;
use crate::ffi::{Done, InText, OutPtr, address, null};
use crate::linked_ptx::link;

/// Set in handles of links, and in no address.
const HANDLE_TAG: u64 = 0x71 << 56;

/// `CUjitInputType`.
pub(super) const CUBIN: c_int = 0;
pub(super) const PTX: c_int = 1;
pub(super) const FAT_BINARY: c_int = 2;
pub(super) const LIBRARY: c_int = 4;

/// The sources so far, and the linked text.
#[derive(Default)]
pub(super) struct Link {
    pub(super) sources: Vec<String>,
    pub(super) max_registers: Option<u32>,
    /// Ends with a NUL. It stays where it is until the link is destroyed.
    pub(super) linked: Option<Vec<u8>>,
}

impl Link {
    /// Takes a source; the library of the device runtime adds nothing.
    pub(super) fn add(&mut self, kind: c_int, bytes: &[u8]) -> Done {
        if !is_device_runtime(bytes) {
            self.sources.push(source(kind, bytes)?);
        }
        Ok(())
    }

    pub(super) fn complete(&mut self) -> &mut Vec<u8> {
        let mut text = link(&self.sources);
        text.extend(self.max_registers.map(limit_line));
        let mut text = text.into_bytes();
        text.push(0);
        self.linked.insert(text)
    }
}

static LINKS: Mutex<(u64, BTreeMap<u64, Link>)> = Mutex::new((0, BTreeMap::new()));

fn with_link<T>(
    handle: *mut c_void,
    work: impl FnOnce(&mut Link) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    let link = links.1.get_mut(&address(handle)).ok_or_else(|| {
        let message = format!("{handle:p} is no link");
        Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
    })?;
    work(link)
}

/// Whether that is the library of the device runtime, whose functions the executor has.
fn is_device_runtime(bytes: &[u8]) -> bool {
    let name = b"cuda_device_runtime.o";
    let is_archive = bytes.starts_with(b"!<arch>\n");
    is_archive && bytes.windows(name.len()).any(|window| window == name)
}

fn source(kind: c_int, bytes: &[u8]) -> Result<String, Fault> {
    match kind {
        // SAFETY: the slice is one.
        PTX => Ok(unsafe { ptx(bytes.as_ptr().cast(), bytes.len()) }?.to_owned()),
        FAT_BINARY => {
            let images = ptx_images(bytes)
                .map_err(|error| Fault::new(CudaError::NO_KERNEL_IMAGE, error.to_string()))?;
            images
                .into_iter()
                .next()
                .map(|image| image.text)
                .ok_or_else(null)
        }
        CUBIN => Err(Fault::new(
            CudaError::NO_KERNEL_IMAGE,
            "machine code (a cubin) cannot be linked, pagemill executes PTX: give the linker PTX",
        )),
        _ => Err(Fault::invalid(format!(
            "a linker input of type {kind} has no PTX: give it PTX or a fat binary with PTX"
        ))),
    }
}

fn add(handle: *mut c_void, kind: c_int, bytes: &[u8]) -> Done {
    with_link(handle, |link| link.add(kind, bytes))
}

driver! { Context:
    fn cuLinkCreate_v2(count: c_uint, names: *const c_int, values: *mut *mut c_void, to: OutPtr<*mut c_void>) {
        // SAFETY: the program passes `values` as null or room for a handle; `names` as null or with `count` values.
        let max_registers = unsafe { JitOptions { count, names, values }.max_registers() };
        let handle = {
            let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
            links.0 += 1;
            let handle = HANDLE_TAG | links.0;
            links.1.insert(handle, Link { max_registers, ..Link::default() });
            handle
        };
        to.put(handle as *mut c_void)
    }

    fn cuLinkAddData_v2(handle: *mut c_void, kind: c_int, data: *mut c_void, bytes: usize, _name: *const c_char, count: c_uint, names: *const c_int, values: *mut *mut c_void) {
        if data.is_null() {
            return Err(null());
        }
        // SAFETY: the program passes `values` as null or room for a handle; `names` as null or with `count` values.
        unsafe {
            let data = std::slice::from_raw_parts(data.cast::<u8>(), bytes);
            JitOptions { count, names, values }.log(add(handle, kind, data))
        }
    }

    fn cuLinkAddFile_v2(handle: *mut c_void, kind: c_int, path: InText, count: c_uint, names: *const c_int, values: *mut *mut c_void) {
        let path = path.get()?;
        let data = std::fs::read(path)
            .map_err(|error| Fault::new(CudaError::FILE_NOT_FOUND, format!("{path}: {error}")))?;
        // SAFETY: the program passes `values` as null or room for a handle; `names` as null or with `count` values.
        unsafe { JitOptions { count, names, values }.log(add(handle, kind, &data)) }
    }

    fn cuLinkComplete(handle: *mut c_void, to: OutPtr<*mut c_void>, bytes: OutPtr<usize>) {
        let (at, size) = with_link(handle, |own| {
            let text = own.complete();
            Ok((text.as_mut_ptr(), text.len()))
        })?;
        to.put(at.cast())?;
        bytes.put_if_wanted(size);
        Ok(())
    }

    fn cuLinkDestroy(handle: *mut c_void) {
        with_link(handle, |_| Ok(()))?;
        let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
        links.1.remove(&address(handle));
        Ok(())
    }
}
