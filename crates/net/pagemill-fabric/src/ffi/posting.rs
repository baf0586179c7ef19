//! What sends and receives of every form come down to.

use std::ffi::c_void;

use super::abi::errno::*;
use super::abi::*;
use super::code;
use super::endpoint::{Endpoint, Side};
use super::info::INJECT_BYTES;
use crate::memory::Buffer;
use crate::open_mpi;
use crate::process::{Fetch, Match, USER_TAG};

/// A send, of whatever form.
pub struct Sending {
    pub buffer: Buffer,
    pub number: u64,
    pub tag: Option<u64>,
    pub data: Option<u64>,
    pub flags: u64,
    pub context: *mut c_void,
}

impl Sending {
    /// Without a tag and without data, with the endpoint's own flags.
    pub fn new(endpoint: &Endpoint, buffer: Buffer, number: u64, context: *mut c_void) -> Self {
        Self {
            flags: endpoint.default_flags(Side::Transmit),
            context,
            ..Self::injected(buffer, number)
        }
    }

    /// The same without a context and without flags.
    pub fn injected(buffer: Buffer, number: u64) -> Self {
        Self {
            buffer,
            number,
            tag: None,
            data: None,
            flags: 0,
            context: std::ptr::null_mut(),
        }
    }

    pub fn tagged(self, tag: u64) -> Self {
        let tag = Some(tag);
        Self { tag, ..self }
    }

    pub fn with_data(self, data: u64) -> Self {
        let data = Some(data);
        Self { data, ..self }
    }

    /// With a message's own flags, which say whether it has data.
    pub fn with_flags(self, flags: u64, data: u64) -> Self {
        let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(data);
        Self {
            flags,
            data,
            ..self
        }
    }
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

impl Receiving {
    /// Of messages without a tag, with the endpoint's own flags.
    pub fn new(endpoint: &Endpoint, buffer: Buffer, number: u64, context: *mut c_void) -> Self {
        Self {
            buffer,
            number,
            tag: None,
            ignore: 0,
            flags: endpoint.default_flags(Side::Receive),
            context,
        }
    }

    pub fn tagged(self, tag: u64, ignore: u64) -> Self {
        let tag = Some(tag);
        Self {
            tag,
            ignore,
            ..self
        }
    }

    pub fn with_flags(self, flags: u64) -> Self {
        Self { flags, ..self }
    }
}

/// Sends, tagged or not.
pub fn post_send(endpoint: &Endpoint, sending: Sending) -> isize {
    post(endpoint, sending, true)
}

fn post(endpoint: &Endpoint, sending: Sending, may_tell_success: bool) -> isize {
    if !sending.buffer.is_plausible() {
        return code(FI_EFAULT);
    }
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

/// A send whose buffer may be used again at once and whose success is not reported.
pub fn post_inject(endpoint: &Endpoint, sending: Sending) -> isize {
    match sending.buffer.bytes() > INJECT_BYTES {
        true => code(FI_EMSGSIZE),
        false => post(endpoint, sending, false),
    }
}

/// Receives, tagged or not; looks, claims and fetches.
pub fn post_receive(endpoint: &Endpoint, receiving: Receiving) -> isize {
    if !receiving.buffer.is_plausible() {
        return code(FI_EFAULT);
    }
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
            let fetch = Fetch {
                buffer: receiving.buffer,
                unpack: open_mpi::take_unpack(),
                notify,
            };
            if !process.fetch(fetch) {
                return code(FI_EINVAL);
            }
        } else {
            process.receive(source, from, receiving.buffer, notify);
        }
        0
    })
}
