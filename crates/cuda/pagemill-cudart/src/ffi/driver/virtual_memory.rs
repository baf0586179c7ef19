//! Virtual memory management of the driver API.

use std::ffi::{c_int, c_ulonglong, c_void};

use super::driver;
use crate::error::{CudaError, Fault};
use crate::ffi::{Done, InPtr, OutPtr, null, with_runtime};
use crate::runtime::GRANULE_BYTES;

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    kind: c_int,
    id: c_int,
}

const ON_DEVICE: c_int = 1;

/// `CUmemAllocationProp`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Properties {
    kind: c_int,
    handle_types: c_int,
    location: Location,
    windows: *mut c_void,
    flags: [u8; 8],
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: c_int = 1;

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Access {
    location: Location,
    flags: c_int,
}

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const READ_WRITE: c_int = 3;

fn unsupported(what: &str) -> Fault {
    let message = format!("pagemill does not support {what}");
    Fault::new(CudaError::NOT_SUPPORTED, message)
}

fn check(properties: InPtr<Properties>) -> Done {
    let properties = properties.read()?;
    let Properties {
        kind,
        location,
        handle_types,
        ..
    } = properties;
    if kind != PINNED {
        let message = format!("there is no allocation type {kind} for cuMemCreate");
        return Err(Fault::invalid(message));
    }
    if location.kind != ON_DEVICE {
        return Err(unsupported("memory of the host in cuMemCreate"));
    }
    if handle_types != 0 {
        return Err(unsupported("memory that other processes can map"));
    }
    crate::ffi::device::only(location.id)
}

driver! { Context:
    fn cuMemGetAllocationGranularity(to: OutPtr<usize>, properties: InPtr<Properties>, _option: c_int) {
        check(properties)?;
        to.put(GRANULE_BYTES as usize)
    }

    fn cuMemAddressReserve(to: OutPtr<u64>, bytes: usize, align: usize, _wanted: u64, flags: c_ulonglong) {
        if to.is_null() || flags != 0 {
            return Err(null());
        }
        let address = with_runtime(|runtime| runtime.virtual_memory.reserve_addresses(&mut runtime.device, bytes as u64, align as u64))?;
        to.put(address)
    }

    fn cuMemAddressFree(address: u64, bytes: usize) {
        with_runtime(|runtime| runtime.virtual_memory.free_addresses(&runtime.device, address, bytes as u64))
    }

    fn cuMemCreate(to: OutPtr<u64>, bytes: usize, properties: InPtr<Properties>, flags: c_ulonglong) {
        if to.is_null() || flags != 0 {
            return Err(null());
        }
        check(properties)?;
        let handle = with_runtime(|runtime| runtime.create_physical(bytes as u64))?;
        to.put(handle)
    }

    fn cuMemRelease(handle: u64) {
        with_runtime(|runtime| runtime.release_physical(handle))
    }

    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: c_ulonglong) {
        if flags != 0 {
            return Err(null());
        }
        if offset != 0 {
            return Err(unsupported("mapping of a part of memory"));
        }
        with_runtime(|runtime| runtime.virtual_memory.map_physical(&mut runtime.device, address, bytes as u64, handle))
    }

    fn cuMemUnmap(address: u64, bytes: usize) {
        with_runtime(|runtime| runtime.unmap(address, bytes as u64))
    }

    fn cuMemSetAccess(address: u64, bytes: usize, access: *const Access, count: usize) {
        if access.is_null() || count == 0 {
            return Err(null());
        }
        if !with_runtime(|runtime| Ok(runtime.device.is_mapped(address, bytes as u64)))? {
            return Err(Fault::invalid(format!("{bytes:#x} bytes at {address:#x} are not all mapped")));
        }
        for index in 0..count {
            // SAFETY: the program passes `access` as null or a pointer to `Access`.
            let access = unsafe { access.add(index).read_unaligned() };
            if access.location.kind == ON_DEVICE {
                crate::ffi::device::only(access.location.id)?;
            }
            if access.flags != READ_WRITE {
                return Err(unsupported("mapped memory that kernels may not write"));
            }
        }
        Ok(())
    }

    fn cuMemGetAccess(to: OutPtr<c_ulonglong>, location: *const Location, address: u64) {
        if location.is_null() {
            return Err(null());
        }
        let is_mapped = with_runtime(|runtime| Ok(runtime.device.is_mapped(address, 1)))?;
        to.put(if is_mapped { READ_WRITE as c_ulonglong } else { 0 })
    }

    fn cuMemRetainAllocationHandle(to: OutPtr<u64>, at: *mut c_void) {
        to.needed()?;
        let handle = with_runtime(|runtime| runtime.virtual_memory.retain_mapped(&runtime.device, crate::ffi::address(at)))?;
        to.put(handle)
    }

    fn cuMemGetAllocationPropertiesFromHandle(to: OutPtr<Properties>, handle: u64) {
        with_runtime(|runtime| runtime.virtual_memory.physical_bytes(handle))?;
        let properties = Properties {
            kind: PINNED,
            handle_types: 0,
            location: Location { kind: ON_DEVICE, id: 0 },
            windows: std::ptr::null_mut(),
            flags: [0; 8],
        };
        to.put(properties)
    }
}
