//! Messages without a tag.

use std::ffi::c_void;

use super::abi::*;
use super::endpoint::{Endpoint, Side, buffer_of, one_piece};
use super::objects::Table;
use super::tagged::{Receiving, Sending, injected, post_inject, post_receive, post_send};
use crate::memory::Buffer;

pub static OPS: Table<fi_ops_msg> = Table(fi_ops_msg {
    size: size_of::<fi_ops_msg>(),
    recv,
    recvv,
    recvmsg,
    send,
    sendv,
    sendmsg,
    inject,
    senddata,
    injectdata,
});

fn receiving(endpoint: &Endpoint, buffer: Buffer, number: u64, context: *mut c_void) -> Receiving {
    Receiving {
        buffer,
        number,
        tag: None,
        ignore: 0,
        flags: endpoint.default_flags(Side::Receive),
        context,
    }
}

fn sending(
    endpoint: &Endpoint,
    buffer: Buffer,
    number: u64,
    data: Option<u64>,
    context: *mut c_void,
) -> Sending {
    Sending {
        buffer,
        number,
        tag: None,
        data,
        flags: endpoint.default_flags(Side::Transmit),
        context,
    }
}

unsafe extern "C" fn recv(
    endpoint: *mut fid_ep,
    buffer: *mut c_void,
    bytes: usize,
    _: *mut c_void,
    number: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    post_receive(
        endpoint,
        receiving(endpoint, one_piece(buffer, bytes), number, context),
    )
}

unsafe extern "C" fn recvv(
    endpoint: *mut fid_ep,
    pieces: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    number: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours, and `count` pieces.
    let (endpoint, buffer) = unsafe { (Endpoint::of(endpoint), buffer_of(pieces, count)) };
    post_receive(endpoint, receiving(endpoint, buffer, number, context))
}

unsafe extern "C" fn recvmsg(endpoint: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let (endpoint, message) = (Endpoint::of(endpoint), &*message);
        let buffer = buffer_of(message.msg_iov, message.iov_count);
        let mut receiving = receiving(endpoint, buffer, message.addr, message.context);
        receiving.flags = flags;
        post_receive(endpoint, receiving)
    }
}

unsafe extern "C" fn send(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    _: *mut c_void,
    number: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    post_send(
        endpoint,
        sending(endpoint, one_piece(buffer, bytes), number, None, context),
    )
}

unsafe extern "C" fn sendv(
    endpoint: *mut fid_ep,
    pieces: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    number: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours, and `count` pieces.
    let (endpoint, buffer) = unsafe { (Endpoint::of(endpoint), buffer_of(pieces, count)) };
    post_send(endpoint, sending(endpoint, buffer, number, None, context))
}

unsafe extern "C" fn sendmsg(endpoint: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let (endpoint, message) = (Endpoint::of(endpoint), &*message);
        let buffer = buffer_of(message.msg_iov, message.iov_count);
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(message.data);
        let mut sending = sending(endpoint, buffer, message.addr, data, message.context);
        sending.flags = flags;
        post_send(endpoint, sending)
    }
}

unsafe extern "C" fn inject(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    number: u64,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    post_inject(endpoint, injected(buffer, bytes, number, None, None))
}

unsafe extern "C" fn senddata(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    _: *mut c_void,
    data: u64,
    number: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    post_send(
        endpoint,
        sending(
            endpoint,
            one_piece(buffer, bytes),
            number,
            Some(data),
            context,
        ),
    )
}

unsafe extern "C" fn injectdata(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    data: u64,
    number: u64,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    post_inject(endpoint, injected(buffer, bytes, number, None, Some(data)))
}
