//! Memory registrations.

use std::ffi::{c_int, c_void};

use super::abi::errno::*;
use super::abi::*;
use super::objects::{Table, free, give, no_bind, no_ops};
use crate::process;
use crate::station::RemoteKey;

/// The domain's table for registering.
pub static OPS: Table<fi_ops_mr> = Table(fi_ops_mr {
    size: size_of::<fi_ops_mr>(),
    reg: register,
    regv: register_pieces,
    regattr: register_by,
});

static REGION_OPS: Table<fi_ops> = Table(fi_ops {
    size: size_of::<fi_ops>(),
    close,
    bind: no_bind,
    control,
    ops_open: no_ops,
    tostr: None,
    ops_set: None,
});

fn add(
    address: *const c_void,
    bytes: usize,
    region: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    let mut process = process::lock();
    let Some(process) = process.as_mut() else {
        // There is no interface before the first endpoint.
        return -FI_EOPBADSTATE;
    };
    let Some(key) = process
        .station
        .register(address.expose_provenance() as u64, bytes as u64)
    else {
        return -FI_ENOMEM;
    };
    let made = give(fid_mr {
        fid: fid {
            fclass: FI_CLASS_MR,
            context,
            ops: &REGION_OPS.0,
        },
        mem_desc: std::ptr::null_mut(),
        key: key.0,
    });
    // SAFETY: libfabric hands a place for the result.
    unsafe { *region = made };
    0
}

unsafe extern "C" fn register(
    _: *mut fid,
    address: *const c_void,
    bytes: usize,
    _access: u64,
    _offset: u64,
    _key: u64,
    _flags: u64,
    region: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    add(address, bytes, region, context)
}

unsafe extern "C" fn register_pieces(
    _: *mut fid,
    pieces: *const libc::iovec,
    count: usize,
    _access: u64,
    _offset: u64,
    _key: u64,
    _flags: u64,
    region: *mut *mut fid_mr,
    context: *mut c_void,
) -> c_int {
    if count != 1 || pieces.is_null() {
        return -FI_EINVAL;
    }
    // SAFETY: one valid piece.
    let piece = unsafe { &*pieces };
    add(piece.iov_base, piece.iov_len, region, context)
}

unsafe extern "C" fn register_by(
    _: *mut fid,
    attr: *const fi_mr_attr,
    _flags: u64,
    region: *mut *mut fid_mr,
) -> c_int {
    // SAFETY: valid attributes, with as many pieces as they say.
    unsafe {
        let attr = &*attr;
        if attr.iov_count != 1 || attr.mr_iov.is_null() {
            return -FI_EINVAL;
        }
        let piece = &*attr.mr_iov;
        add(piece.iov_base, piece.iov_len, region, attr.context)
    }
}

unsafe extern "C" fn close(handle: *mut fid) -> c_int {
    // SAFETY: our own handle, closed once.
    unsafe {
        let key = RemoteKey((*handle.cast::<fid_mr>()).key);
        if let Some(process) = process::lock().as_mut() {
            process.station.deregister(key);
        }
        free::<fid_mr>(handle);
    }
    0
}

/// A registration is in force as soon as it is made.
unsafe extern "C" fn control(_: *mut fid, command: c_int, _: *mut c_void) -> c_int {
    if command == FI_ENABLE { 0 } else { -FI_ENOSYS }
}
