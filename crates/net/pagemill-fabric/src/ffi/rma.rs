//! Reads and writes of memory that others have registered. Addresses count from the start of a registration.

use std::ffi::c_void;

use super::abi::errno::*;
use super::abi::*;
use super::code;
use super::endpoint::{Endpoint, Side, buffer_of, one_piece};
use super::info::INJECT_BYTES;
use super::objects::Table;
use crate::memory::Buffer;
use crate::station::{Kind, RemoteKey};

pub static OPS: Table<fi_ops_rma> = Table(fi_ops_rma {
    size: size_of::<fi_ops_rma>(),
    read,
    readv,
    readmsg,
    write,
    writev,
    writemsg,
    inject,
    writedata,
    injectdata,
});

/// An access, of whatever form.
struct Access {
    kind: Kind,
    buffer: Buffer,
    number: u64,
    offset: u64,
    key: u64,
    flags: u64,
    context: *mut c_void,
    tells_success: bool,
}

fn post(endpoint: &Endpoint, access: Access) -> isize {
    if !access.buffer.is_plausible() {
        return code(FI_EFAULT);
    }
    let Some(dest) = endpoint.find(access.number) else {
        return code(FI_EINVAL);
    };
    endpoint.with(|process| {
        let mut notify = endpoint.notify(process, Side::Transmit, access.flags, access.context);
        notify.of_success &= access.tells_success;
        process.access(
            access.kind,
            (dest.station, dest.port),
            access.offset,
            RemoteKey(access.key),
            access.buffer,
            notify,
        );
        0
    })
}

fn plain(
    endpoint: &Endpoint,
    kind: Kind,
    buffer: Buffer,
    number: u64,
    (offset, key): (u64, u64),
    context: *mut c_void,
) -> isize {
    let access = Access {
        kind,
        buffer,
        number,
        offset,
        key,
        flags: endpoint.default_flags(Side::Transmit),
        context,
        tells_success: true,
    };
    post(endpoint, access)
}

unsafe fn of_message(
    endpoint: *mut fid_ep,
    kind: Kind,
    message: *const fi_msg_rma,
    flags: u64,
) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let message = &*message;
        if message.rma_iov_count != 1 || flags & FI_REMOTE_CQ_DATA != 0 {
            return code(FI_EOPNOTSUPP);
        }
        let remote = &*message.rma_iov;
        let access = Access {
            kind,
            buffer: buffer_of(message.msg_iov, message.iov_count),
            number: message.addr,
            offset: remote.addr,
            key: remote.key,
            flags,
            context: message.context,
            tells_success: true,
        };
        post(Endpoint::of(endpoint), access)
    }
}

unsafe extern "C" fn read(
    endpoint: *mut fid_ep,
    buffer: *mut c_void,
    bytes: usize,
    _: *mut c_void,
    number: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    plain(
        endpoint,
        Kind::Read,
        one_piece(buffer, bytes),
        number,
        (offset, key),
        context,
    )
}

unsafe extern "C" fn readv(
    endpoint: *mut fid_ep,
    pieces: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    number: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours, and `count` pieces.
    let (endpoint, buffer) = unsafe { (Endpoint::of(endpoint), buffer_of(pieces, count)) };
    plain(endpoint, Kind::Read, buffer, number, (offset, key), context)
}

unsafe extern "C" fn readmsg(
    endpoint: *mut fid_ep,
    message: *const fi_msg_rma,
    flags: u64,
) -> isize {
    // SAFETY: the same contract.
    unsafe { of_message(endpoint, Kind::Read, message, flags) }
}

unsafe extern "C" fn write(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    _: *mut c_void,
    number: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    plain(
        endpoint,
        Kind::Write,
        one_piece(buffer, bytes),
        number,
        (offset, key),
        context,
    )
}

unsafe extern "C" fn writev(
    endpoint: *mut fid_ep,
    pieces: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    number: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours, and `count` pieces.
    let (endpoint, buffer) = unsafe { (Endpoint::of(endpoint), buffer_of(pieces, count)) };
    plain(
        endpoint,
        Kind::Write,
        buffer,
        number,
        (offset, key),
        context,
    )
}

unsafe extern "C" fn writemsg(
    endpoint: *mut fid_ep,
    message: *const fi_msg_rma,
    flags: u64,
) -> isize {
    // SAFETY: the same contract.
    unsafe { of_message(endpoint, Kind::Write, message, flags) }
}

unsafe extern "C" fn inject(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    number: u64,
    offset: u64,
    key: u64,
) -> isize {
    if bytes > INJECT_BYTES {
        return code(FI_EMSGSIZE);
    }
    let access = Access {
        kind: Kind::Write,
        buffer: one_piece(buffer, bytes),
        number,
        offset,
        key,
        flags: 0,
        context: std::ptr::null_mut(),
        tells_success: false,
    };
    // SAFETY: a handle of ours.
    post(unsafe { Endpoint::of(endpoint) }, access)
}

unsafe extern "C" fn writedata(
    _: *mut fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: *mut c_void,
) -> isize {
    code(FI_EOPNOTSUPP)
}

unsafe extern "C" fn injectdata(
    _: *mut fid_ep,
    _: *const c_void,
    _: usize,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) -> isize {
    code(FI_EOPNOTSUPP)
}
