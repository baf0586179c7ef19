//! Endpoints: ports of this process' interface.

use std::ffi::{c_int, c_void};

use super::abi::errno::*;
use super::abi::*;
use super::objects::{Table, UNSUPPORTED, free, give, no_ops};
use super::queue::Queue;
use super::vector::{Address, Vector, give_address};
use super::{code, memory, message, rma, tagged};
use crate::job;
use crate::memory::Buffer;
use crate::process::{self, Notify, Process};

/// A queue that an endpoint reports to.
#[derive(Clone, Copy)]
struct Binding {
    queue: *const Queue,
    is_selective: bool,
}

/// An endpoint.
#[repr(C)]
pub struct Endpoint {
    handle: fid_ep,
    port: u32,
    station: u32,
    is_enabled: bool,
    tx_op_flags: u64,
    rx_op_flags: u64,
    tx: Option<Binding>,
    rx: Option<Binding>,
    vector: *const Vector,
}

/// Which side of an endpoint.
#[derive(Clone, Copy)]
pub enum Side {
    /// Sends, reads and writes.
    Transmit,
    /// Receives.
    Receive,
}

impl Endpoint {
    /// The endpoint behind a handle.
    ///
    /// # Safety
    /// `handle` is one that [`open`] made and is not closed yet.
    pub unsafe fn of<'a>(handle: *mut fid_ep) -> &'a Self {
        // SAFETY: the handle is the first field of a value of this type that `open` made, and lives until it is closed.
        unsafe { &*handle.cast::<Self>() }
    }

    /// Its port number.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Where a message to `number` goes.
    pub fn find(&self, number: u64) -> Option<Address> {
        // SAFETY: libfabric does not let a vector be closed before the endpoint that it is bound to.
        unsafe { self.vector.as_ref() }.and_then(|vector| vector.find(number))
    }

    /// Flags of an operation that was posted without any.
    pub fn default_flags(&self, side: Side) -> u64 {
        match side {
            Side::Transmit => self.tx_op_flags,
            Side::Receive => self.rx_op_flags,
        }
    }

    /// Who hears of an operation.
    pub fn notify(
        &self,
        process: &mut Process,
        side: Side,
        flags: u64,
        context: *mut c_void,
    ) -> Notify {
        let binding = match side {
            Side::Transmit => self.tx,
            Side::Receive => self.rx,
        };
        // SAFETY: libfabric does not let a queue be closed before the endpoint that it is bound to.
        let queue = binding.map(|binding| unsafe { (*binding.queue).id(process) });
        let of_success =
            binding.is_some_and(|binding| !binding.is_selective || flags & FI_COMPLETION != 0);
        Notify {
            queue,
            of_success,
            context: context.expose_provenance(),
        }
    }

    /// Runs `act` with this process' part of the job, if the endpoint is ready.
    pub fn with(&self, act: impl FnOnce(&mut Process) -> isize) -> isize {
        if !self.is_enabled {
            return code(FI_EOPBADSTATE);
        }
        match process::lock().as_mut() {
            Some(process) => act(process),
            None => code(FI_EOPBADSTATE),
        }
    }
}

/// The pieces of a buffer.
///
/// # Safety
/// `pieces` points to `count` valid structures.
pub unsafe fn buffer_of(pieces: *const libc::iovec, count: usize) -> Buffer {
    if count == 0 || pieces.is_null() {
        return Buffer::new(0, 0);
    }
    // SAFETY: the caller of libfabric has `count` pieces at `pieces` for the time of the call.
    let pieces = unsafe { std::slice::from_raw_parts(pieces, count) };
    Buffer::of(
        pieces
            .iter()
            .map(|piece| (piece.iov_base.expose_provenance() as u64, piece.iov_len)),
    )
}

/// A buffer in one piece.
pub fn one_piece(address: *const c_void, bytes: usize) -> Buffer {
    Buffer::new(address.expose_provenance() as u64, bytes)
}

static OPS: Table<fi_ops> = Table(fi_ops {
    size: size_of::<fi_ops>(),
    close,
    bind,
    control,
    ops_open: no_ops,
    tostr: None,
    ops_set: None,
});

static ENDPOINT_OPS: Table<fi_ops_ep> = Table(fi_ops_ep {
    size: size_of::<fi_ops_ep>(),
    cancel,
    getopt,
    setopt,
    tx_ctx: UNSUPPORTED,
    rx_ctx: UNSUPPORTED,
    rx_size_left: UNSUPPORTED,
    tx_size_left: UNSUPPORTED,
});

static CONNECTION_OPS: Table<fi_ops_cm> = Table(fi_ops_cm {
    size: size_of::<fi_ops_cm>(),
    setname: UNSUPPORTED,
    getname,
    getpeer: UNSUPPORTED,
    connect: UNSUPPORTED,
    listen: UNSUPPORTED,
    accept: UNSUPPORTED,
    reject: UNSUPPORTED,
    shutdown: UNSUPPORTED,
    join: UNSUPPORTED,
});

/// # Safety
/// As libfabric calls it.
pub unsafe extern "C" fn open(
    _: *mut fid_domain,
    info: *mut fi_info,
    endpoint: *mut *mut fid_ep,
    context: *mut c_void,
) -> c_int {
    if let Err(error) = job::enter(memory::own_memory, crate::preload::is_starting()) {
        eprintln!("pagemill: {error}");
        return -FI_ENODATA;
    }
    let mut process = process::lock();
    let Some(process) = process.as_mut() else {
        return -FI_ENODATA;
    };
    let Some(port) = process.open_port() else {
        return -FI_EBUSY;
    };
    // SAFETY: `info` is what `fi_getinfo` gave, with all its parts, or null; `endpoint` is a place for the result.
    unsafe {
        let flags = |of: Option<u64>| of.unwrap_or(0);
        let info = info.as_ref();
        let made = give(Endpoint {
            handle: fid_ep {
                fid: fid {
                    fclass: FI_CLASS_EP,
                    context,
                    ops: &OPS.0,
                },
                ops: &ENDPOINT_OPS.0,
                cm: &CONNECTION_OPS.0,
                msg: &message::OPS.0,
                rma: &rma::OPS.0,
                tagged: &tagged::OPS.0,
                atomic: std::ptr::null(),
                collective: std::ptr::null(),
            },
            port,
            station: process.station.index(),
            is_enabled: false,
            tx_op_flags: flags(
                info.and_then(|info| info.tx_attr.as_ref())
                    .map(|tx| tx.op_flags),
            ),
            rx_op_flags: flags(
                info.and_then(|info| info.rx_attr.as_ref())
                    .map(|rx| rx.op_flags),
            ),
            tx: None,
            rx: None,
            vector: std::ptr::null(),
        });
        *endpoint = made.cast();
    }
    0
}

unsafe extern "C" fn close(handle: *mut fid) -> c_int {
    // SAFETY: our own handle, closed once.
    unsafe {
        let port = (*handle.cast::<Endpoint>()).port;
        let mut process = process::lock();
        if let Some(process) = process.as_mut()
            && process.close_port(port)
            && let Err(error) = process.leave()
        {
            eprintln!("pagemill: cannot write down what was recorded: {error}");
        }
        free::<Endpoint>(handle);
    }
    0
}

unsafe extern "C" fn bind(handle: *mut fid, other: *mut fid, flags: u64) -> c_int {
    // SAFETY: both are handles of ours, and binding is not done from two threads at once.
    unsafe {
        let endpoint = &mut *handle.cast::<Endpoint>();
        match (*other).fclass {
            FI_CLASS_AV => endpoint.vector = other.cast::<Vector>(),
            FI_CLASS_CQ => {
                let binding = Binding {
                    queue: other.cast::<Queue>(),
                    is_selective: flags & FI_SELECTIVE_COMPLETION != 0,
                };
                if flags & FI_SEND != 0 {
                    endpoint.tx = Some(binding);
                }
                if flags & FI_RECV != 0 {
                    endpoint.rx = Some(binding);
                }
            }
            // Nothing ever happens on an event queue.
            FI_CLASS_EQ => {}
            _ => return -FI_ENOSYS,
        }
        0
    }
}

unsafe extern "C" fn control(handle: *mut fid, command: c_int, _: *mut c_void) -> c_int {
    if command != FI_ENABLE {
        return -FI_ENOSYS;
    }
    // SAFETY: our own handle; enabling is not done from two threads at once.
    let endpoint = unsafe { &mut *handle.cast::<Endpoint>() };
    if endpoint.vector.is_null() {
        return -FI_ENOAV;
    }
    if endpoint.tx.is_none() && endpoint.rx.is_none() {
        return -FI_ENOCQ;
    }
    if let Some(rx) = endpoint.rx {
        // SAFETY: bound queues outlive the endpoint.
        unsafe { (*rx.queue).set_vector(endpoint.vector) };
    }
    endpoint.is_enabled = true;
    0
}

unsafe extern "C" fn getname(handle: *mut fid, address: *mut c_void, bytes: *mut usize) -> c_int {
    // SAFETY: our own handle; `bytes` says how much room `address` has.
    unsafe {
        let endpoint = &*handle.cast::<Endpoint>();
        give_address(
            Address::new(endpoint.station, endpoint.port),
            address,
            bytes,
        )
    }
}

unsafe extern "C" fn cancel(handle: *mut fid, context: *mut c_void) -> isize {
    // SAFETY: our own handle.
    let endpoint = unsafe { &*handle.cast::<Endpoint>() };
    endpoint.with(|process| match process.cancel(context.addr()) {
        true => 0,
        false => code(FI_ENOENT),
    })
}

unsafe extern "C" fn getopt(
    _: *mut fid,
    _: c_int,
    _: c_int,
    _: *mut c_void,
    _: *mut usize,
) -> c_int {
    -FI_ENOSYS
}

unsafe extern "C" fn setopt(_: *mut fid, _: c_int, _: c_int, _: *const c_void, _: usize) -> c_int {
    -FI_ENOSYS
}
