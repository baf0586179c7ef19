use std::ffi::{c_char, c_int, c_void};

use super::abi::errno::{FI_EAGAIN, FI_ENODATA};
use super::abi::*;
use super::domain;
use super::objects::{Table, UNSUPPORTED, closing, give};

static OPS: Table<fi_ops> = Table(closing::<fid_fabric>());
static FABRIC_OPS: Table<fi_ops_fabric> = Table(fi_ops_fabric {
    size: size_of::<fi_ops_fabric>(),
    domain: open_domain,
    passive_ep: UNSUPPORTED,
    eq_open: open_event_queue,
    wait_open: UNSUPPORTED,
    trywait: UNSUPPORTED,
    domain2: None,
});

/// A fabric, which is nothing but a name.
pub fn open(context: *mut c_void) -> *mut fid_fabric {
    give(fid_fabric {
        fid: fid {
            fclass: FI_CLASS_FABRIC,
            context,
            ops: &OPS.0,
        },
        ops: &FABRIC_OPS.0,
        api_version: version(1, 17),
    })
}

unsafe extern "C" fn open_domain(
    _: *mut fid_fabric,
    info: *mut fi_info,
    domain: *mut *mut fid_domain,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller hands what it got from `fi_getinfo`, and a place for the result.
    unsafe { domain::open(info, domain, context) }
}

static EQ_OPS: Table<fi_ops> = Table(closing::<fid_eq>());
static EVENT_OPS: Table<fi_ops_eq> = Table(fi_ops_eq {
    size: size_of::<fi_ops_eq>(),
    read: no_event,
    readerr: no_error,
    write: UNSUPPORTED,
    sread: no_event_in_time,
    strerror: no_text,
});

/// An event queue. Nothing of this provider happens in the background, so it stays empty.
unsafe extern "C" fn open_event_queue(
    _: *mut fid_fabric,
    _: *mut c_void,
    queue: *mut *mut fid_eq,
    context: *mut c_void,
) -> c_int {
    let made = give(fid_eq {
        fid: fid {
            fclass: FI_CLASS_EQ,
            context,
            ops: &EQ_OPS.0,
        },
        ops: &EVENT_OPS.0,
    });
    // SAFETY: the caller hands a place for the result.
    unsafe { *queue = made };
    0
}

unsafe extern "C" fn no_event(
    _: *mut fid_eq,
    _: *mut u32,
    _: *mut c_void,
    _: usize,
    _: u64,
) -> isize {
    super::code(FI_EAGAIN)
}

unsafe extern "C" fn no_event_in_time(
    _: *mut fid_eq,
    _: *mut u32,
    _: *mut c_void,
    _: usize,
    _: c_int,
    _: u64,
) -> isize {
    super::code(FI_EAGAIN)
}

unsafe extern "C" fn no_error(_: *mut fid_eq, _: *mut fi_eq_err_entry, _: u64) -> isize {
    super::code(FI_ENODATA)
}

unsafe extern "C" fn no_text(
    _: *mut fid_eq,
    _: c_int,
    _: *const c_void,
    _: *mut c_char,
    _: usize,
) -> *const c_char {
    c"".as_ptr()
}
