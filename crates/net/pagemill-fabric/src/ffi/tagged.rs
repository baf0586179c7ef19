//! Tagged messages: what Open MPI's matching transport layer sends and receives.

use std::ffi::c_void;

use super::abi::*;
use super::endpoint::{Endpoint, buffer_of, one_piece};
use super::objects::Table;
use super::posting::{Receiving, Sending, post_inject, post_receive, post_send};

pub static OPS: Table<fi_ops_tagged> = Table(fi_ops_tagged {
    size: size_of::<fi_ops_tagged>(),
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

unsafe extern "C" fn recv(
    endpoint: *mut fid_ep,
    buffer: *mut c_void,
    bytes: usize,
    _: *mut c_void,
    number: u64,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    let receiving = Receiving::new(endpoint, one_piece(buffer, bytes), number, context);
    post_receive(endpoint, receiving.tagged(tag, ignore))
}

unsafe extern "C" fn recvv(
    endpoint: *mut fid_ep,
    pieces: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    number: u64,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours, and `count` pieces.
    let (endpoint, buffer) = unsafe { (Endpoint::of(endpoint), buffer_of(pieces, count)) };
    let receiving = Receiving::new(endpoint, buffer, number, context);
    post_receive(endpoint, receiving.tagged(tag, ignore))
}

unsafe extern "C" fn recvmsg(
    endpoint: *mut fid_ep,
    message: *const fi_msg_tagged,
    flags: u64,
) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let (endpoint, message) = (Endpoint::of(endpoint), &*message);
        let buffer = buffer_of(message.msg_iov, message.iov_count);
        let receiving = Receiving::new(endpoint, buffer, message.addr, message.context)
            .tagged(message.tag, message.ignore);
        post_receive(endpoint, receiving.with_flags(flags))
    }
}

unsafe extern "C" fn send(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    _: *mut c_void,
    number: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    let sending = Sending::new(endpoint, one_piece(buffer, bytes), number, context);
    post_send(endpoint, sending.tagged(tag))
}

unsafe extern "C" fn sendv(
    endpoint: *mut fid_ep,
    pieces: *const libc::iovec,
    _: *mut *mut c_void,
    count: usize,
    number: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours, and `count` pieces.
    let (endpoint, buffer) = unsafe { (Endpoint::of(endpoint), buffer_of(pieces, count)) };
    let sending = Sending::new(endpoint, buffer, number, context);
    post_send(endpoint, sending.tagged(tag))
}

unsafe extern "C" fn sendmsg(
    endpoint: *mut fid_ep,
    message: *const fi_msg_tagged,
    flags: u64,
) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let (endpoint, message) = (Endpoint::of(endpoint), &*message);
        let buffer = buffer_of(message.msg_iov, message.iov_count);
        let sending =
            Sending::new(endpoint, buffer, message.addr, message.context).tagged(message.tag);
        post_send(endpoint, sending.with_flags(flags, message.data))
    }
}

unsafe extern "C" fn inject(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    number: u64,
    tag: u64,
) -> isize {
    let sending = Sending::injected(one_piece(buffer, bytes), number).tagged(tag);
    // SAFETY: a handle of ours.
    post_inject(unsafe { Endpoint::of(endpoint) }, sending)
}

unsafe extern "C" fn senddata(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    _: *mut c_void,
    data: u64,
    number: u64,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: a handle of ours.
    let endpoint = unsafe { Endpoint::of(endpoint) };
    let sending = Sending::new(endpoint, one_piece(buffer, bytes), number, context);
    post_send(endpoint, sending.tagged(tag).with_data(data))
}

unsafe extern "C" fn injectdata(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    data: u64,
    number: u64,
    tag: u64,
) -> isize {
    let sending = Sending::injected(one_piece(buffer, bytes), number).tagged(tag);
    // SAFETY: a handle of ours.
    post_inject(unsafe { Endpoint::of(endpoint) }, sending.with_data(data))
}
