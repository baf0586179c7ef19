//! Tagged messages: what Open MPI's matching transport layer sends and receives.

use std::ffi::c_void;

use super::abi::errno::*;
use super::abi::*;
use super::code;
use super::endpoint::{Endpoint, Side, buffer_of, one_piece};
use super::info::INJECT_BYTES;
use super::objects::Table;
use crate::memory::Buffer;
use crate::process::{Match, USER_TAG};

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

/// A send, of whatever form.
pub struct Sending {
    pub buffer: Buffer,
    pub number: u64,
    pub tag: Option<u64>,
    pub data: Option<u64>,
    pub flags: u64,
    pub context: *mut c_void,
}

/// A receive, of whatever form.
pub struct Receiving {
    pub buffer: Buffer,
    pub number: u64,
    pub tag: Option<u64>,
    pub ignore: u64,
    pub flags: u64,
    pub context: *mut c_void,
}

/// Sends, tagged or not.
pub fn post_send(endpoint: &Endpoint, sending: Sending) -> isize {
    post(endpoint, sending, true)
}

fn post(endpoint: &Endpoint, sending: Sending, may_tell_success: bool) -> isize {
    let Some(dest) = endpoint.find(sending.number) else {
        return code(FI_EINVAL);
    };
    if sending.tag.is_some_and(|tag| tag & !USER_TAG != 0) {
        return code(FI_EINVAL);
    }
    endpoint.with(|process| {
        let mut notify = endpoint.notify(process, Side::Transmit, sending.flags, sending.context);
        notify.of_success &= may_tell_success;
        let to = Match {
            port: dest.port,
            tag: sending.tag,
            ignore: 0,
        };
        if may_tell_success && sending.flags & FI_INJECT == 0 {
            process.send(dest.station, to, sending.data, &sending.buffer, notify);
        } else {
            process.inject(dest.station, to, sending.data, &sending.buffer, notify);
        }
        0
    })
}

/// A send whose buffer may be used again at once and of whose success nobody hears.
pub fn post_inject(endpoint: &Endpoint, sending: Sending) -> isize {
    match sending.buffer.bytes() > INJECT_BYTES {
        true => code(FI_EMSGSIZE),
        false => post(endpoint, sending, false),
    }
}

/// Receives, tagged or not; looks, claims and fetches.
pub fn post_receive(endpoint: &Endpoint, receiving: Receiving) -> isize {
    let source = match receiving.number {
        FI_ADDR_UNSPEC => None,
        number => match endpoint.find(number) {
            Some(address) => Some(address.station),
            None => return code(FI_EINVAL),
        },
    };
    let from = Match {
        port: endpoint.port(),
        tag: receiving.tag,
        ignore: receiving.ignore,
    };
    let flags = receiving.flags;
    endpoint.with(|process| {
        let notify = endpoint.notify(process, Side::Receive, flags, receiving.context);
        if flags & FI_DISCARD != 0 {
            return code(FI_EOPNOTSUPP);
        }
        if flags & FI_PEEK != 0 {
            process.peek(source, from, flags & FI_CLAIM != 0, notify);
        } else if flags & FI_CLAIM != 0 {
            if !process.fetch(receiving.buffer, notify) {
                return code(FI_EINVAL);
            }
        } else {
            process.receive(source, from, receiving.buffer, notify);
        }
        0
    })
}

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
    let receiving = Receiving {
        buffer: one_piece(buffer, bytes),
        number,
        tag: Some(tag),
        ignore,
        flags: endpoint.default_flags(Side::Receive),
        context,
    };
    post_receive(endpoint, receiving)
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
    let receiving = Receiving {
        buffer,
        number,
        tag: Some(tag),
        ignore,
        flags: endpoint.default_flags(Side::Receive),
        context,
    };
    post_receive(endpoint, receiving)
}

unsafe extern "C" fn recvmsg(
    endpoint: *mut fid_ep,
    message: *const fi_msg_tagged,
    flags: u64,
) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let message = &*message;
        let receiving = Receiving {
            buffer: buffer_of(message.msg_iov, message.iov_count),
            number: message.addr,
            tag: Some(message.tag),
            ignore: message.ignore,
            flags,
            context: message.context,
        };
        post_receive(Endpoint::of(endpoint), receiving)
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
    let sending = Sending {
        buffer: one_piece(buffer, bytes),
        number,
        tag: Some(tag),
        data: None,
        flags: endpoint.default_flags(Side::Transmit),
        context,
    };
    post_send(endpoint, sending)
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
    let sending = Sending {
        buffer,
        number,
        tag: Some(tag),
        data: None,
        flags: endpoint.default_flags(Side::Transmit),
        context,
    };
    post_send(endpoint, sending)
}

unsafe extern "C" fn sendmsg(
    endpoint: *mut fid_ep,
    message: *const fi_msg_tagged,
    flags: u64,
) -> isize {
    // SAFETY: a handle of ours, and a valid message.
    unsafe {
        let message = &*message;
        let sending = Sending {
            buffer: buffer_of(message.msg_iov, message.iov_count),
            number: message.addr,
            tag: Some(message.tag),
            data: (flags & FI_REMOTE_CQ_DATA != 0).then_some(message.data),
            flags,
            context: message.context,
        };
        post_send(Endpoint::of(endpoint), sending)
    }
}

unsafe extern "C" fn inject(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    number: u64,
    tag: u64,
) -> isize {
    let sending = injected(buffer, bytes, number, Some(tag), None);
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
    let sending = Sending {
        buffer: one_piece(buffer, bytes),
        number,
        tag: Some(tag),
        data: Some(data),
        flags: endpoint.default_flags(Side::Transmit),
        context,
    };
    post_send(endpoint, sending)
}

unsafe extern "C" fn injectdata(
    endpoint: *mut fid_ep,
    buffer: *const c_void,
    bytes: usize,
    data: u64,
    number: u64,
    tag: u64,
) -> isize {
    let sending = injected(buffer, bytes, number, Some(tag), Some(data));
    // SAFETY: a handle of ours.
    post_inject(unsafe { Endpoint::of(endpoint) }, sending)
}

/// A send without a context.
pub fn injected(
    buffer: *const c_void,
    bytes: usize,
    number: u64,
    tag: Option<u64>,
    data: Option<u64>,
) -> Sending {
    Sending {
        buffer: one_piece(buffer, bytes),
        number,
        tag,
        data,
        flags: 0,
        context: std::ptr::null_mut(),
    }
}
