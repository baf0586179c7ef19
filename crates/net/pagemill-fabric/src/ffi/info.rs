//! `fi_getinfo`: what the provider offers, and whether a program's hints match it.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::abi::errno::{FI_ENODATA, FI_ENOMEM};
use super::abi::*;

/// The provider's name, as libfabric and Open MPI select it.
pub const PROVIDER_NAME: &str = "pagemill";

/// The same for C.
pub struct Name(pub &'static CStr);
pub static NAME: Name = Name(c"pagemill");

/// Bytes that a send may take before it returns.
pub const INJECT_BYTES: usize = 256;

/// Bytes of a message, at most.
pub const MESSAGE_BYTES_MAX: usize = 1 << 40;

/// Pieces of one buffer, at most.
pub const PIECES_MAX: usize = 8;

const OFFERED: u64 = FI_MSG
    | FI_TAGGED
    | FI_RMA
    | FI_READ
    | FI_WRITE
    | FI_RECV
    | FI_SEND
    | FI_REMOTE_READ
    | FI_REMOTE_WRITE
    | FI_LOCAL_COMM
    | FI_REMOTE_COMM
    | FI_SOURCE
    | FI_DIRECTED_RECV;

/// Capabilities of the sending side, and of the receiving one.
const SENDING: u64 = FI_MSG | FI_TAGGED | FI_RMA | FI_READ | FI_WRITE | FI_SEND;
const RECEIVING: u64 = FI_MSG
    | FI_TAGGED
    | FI_RMA
    | FI_RECV
    | FI_REMOTE_READ
    | FI_REMOTE_WRITE
    | FI_SOURCE
    | FI_DIRECTED_RECV;

/// Ordering of messages is kept; any other is not promised.
const ORDER: u64 = FI_ORDER_SAS;

/// A tag's four top bits are the provider's.
const TAG_FORMAT: u64 = 0x0aaa_aaaa_aaaa_aaaa;

/// The provider makes the keys, of memory that is there. Remote addresses count from the start of a registration.
const OUR_MR_MODE: c_int = FI_MR_PROV_KEY | FI_MR_ALLOCATED;

/// What of the hints matters.
struct Wish {
    caps: u64,
    mr_mode: Option<c_int>,
    tx_op_flags: u64,
    rx_op_flags: u64,
    av_type: c_int,
    api_version: u32,
}

/// libfabric's question.
///
/// # Safety
/// As libfabric calls it: `hints` is null or a valid structure, `info` a place for the answer.
pub unsafe extern "C" fn getinfo(
    api_version: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const fi_info,
    info: *mut *mut fi_info,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(wish) = (unsafe { wish(api_version, hints.as_ref()) }) else {
        return -FI_ENODATA;
    };
    // SAFETY: `build` allocates as libfabric frees; `info` is the caller's place.
    match unsafe { build(&wish) } {
        Some(built) => {
            // SAFETY: the caller's place.
            unsafe { *info = built };
            0
        }
        None => -FI_ENOMEM,
    }
}

/// What is asked for; `None` if this provider is not it.
unsafe fn wish(api_version: u32, hints: Option<&fi_info>) -> Option<Wish> {
    let mut wish = Wish {
        caps: 0,
        mr_mode: None,
        tx_op_flags: 0,
        rx_op_flags: 0,
        av_type: FI_AV_MAP,
        api_version,
    };
    let Some(hints) = hints else {
        return Some(wish);
    };
    wish.caps = hints.caps;
    if hints.caps & !OFFERED != 0 || hints.addr_format != 0 {
        return None;
    }
    // SAFETY: pointers in hints are null or valid, by libfabric's contract.
    unsafe {
        if let Some(ep) = hints.ep_attr.as_ref() {
            let fits = (ep.r#type == FI_EP_UNSPEC || ep.r#type == FI_EP_RDM)
                && ep.max_msg_size <= MESSAGE_BYTES_MAX
                && ep.tx_ctx_cnt <= 1
                && ep.rx_ctx_cnt <= 1
                && ep.auth_key_size == 0;
            if !fits {
                return None;
            }
        }
        if let Some(tx) = hints.tx_attr.as_ref() {
            if tx.caps & !OFFERED != 0
                || tx.msg_order & !ORDER != 0
                || tx.inject_size > INJECT_BYTES
                || tx.iov_limit > PIECES_MAX
            {
                return None;
            }
            wish.tx_op_flags = tx.op_flags;
        }
        if let Some(rx) = hints.rx_attr.as_ref() {
            if rx.caps & !OFFERED != 0 || rx.msg_order & !ORDER != 0 || rx.iov_limit > PIECES_MAX {
                return None;
            }
            wish.rx_op_flags = rx.op_flags;
        }
        if let Some(domain) = hints.domain_attr.as_ref() {
            if domain.cq_data_size > 8
                || domain.data_progress == FI_PROGRESS_AUTO
                || !is_name(domain.name, c"pagemill0")
            {
                return None;
            }
            if domain.av_type != FI_AV_UNSPEC {
                wish.av_type = domain.av_type;
            }
            if hints.caps & FI_RMA != 0 && domain.mr_mode & OUR_MR_MODE != OUR_MR_MODE {
                return None;
            }
            wish.mr_mode = Some(domain.mr_mode);
        }
        if let Some(fabric) = hints.fabric_attr.as_ref()
            && !is_name(fabric.name, NAME.0)
        {
            return None;
        }
    }
    Some(wish)
}

/// Whether a wanted name is unset or `own`.
unsafe fn is_name(wanted: *const c_char, own: &CStr) -> bool {
    // SAFETY: null or a C string, by the caller's promise.
    wanted.is_null() || unsafe { CStr::from_ptr(wanted) } == own
}

/// Memory that libfabric gives back with `free`, all zero.
unsafe fn zeroed<T>() -> *mut T {
    // SAFETY: calloc has no preconditions.
    unsafe { libc::calloc(1, size_of::<T>()).cast() }
}

unsafe fn build(wish: &Wish) -> Option<*mut fi_info> {
    // SAFETY: fresh zeroed memory is valid for these structures (null pointers and numbers); each field is checked
    // before it is written through. Strings are copies, as `fi_freeinfo` frees them.
    unsafe {
        let info: *mut fi_info = zeroed();
        if info.is_null() {
            return None;
        }
        (*info).tx_attr = zeroed();
        (*info).rx_attr = zeroed();
        (*info).ep_attr = zeroed();
        (*info).domain_attr = zeroed();
        (*info).fabric_attr = zeroed();
        let parts: [*mut c_void; 5] = [
            (*info).tx_attr.cast(),
            (*info).rx_attr.cast(),
            (*info).ep_attr.cast(),
            (*info).domain_attr.cast(),
            (*info).fabric_attr.cast(),
        ];
        if parts.iter().any(|part| part.is_null()) {
            parts.iter().for_each(|part| libc::free(*part));
            libc::free(info.cast());
            return None;
        }
        let caps = if wish.caps == 0 {
            OFFERED
        } else {
            with_secondary(wish.caps)
        };
        (*info).caps = caps;
        fill_sides(&mut *info, wish, caps);
        fill_endpoint(&mut *(*info).ep_attr);
        fill_domain(&mut *(*info).domain_attr, wish);
        let fabric = &mut *(*info).fabric_attr;
        fabric.name = libc::strdup(NAME.0.as_ptr());
        fabric.prov_name = libc::strdup(NAME.0.as_ptr());
        fabric.prov_version = version(0, 1);
        fabric.api_version = wish.api_version;
        Some(info)
    }
}

/// A primary capability without its directions means all of them.
fn with_secondary(mut caps: u64) -> u64 {
    if caps & (FI_MSG | FI_TAGGED) != 0 && caps & (FI_SEND | FI_RECV) == 0 {
        caps |= FI_SEND | FI_RECV;
    }
    let rma = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    if caps & FI_RMA != 0 && caps & rma == 0 {
        caps |= rma;
    }
    caps | FI_LOCAL_COMM | FI_REMOTE_COMM
}

unsafe fn fill_sides(info: &mut fi_info, wish: &Wish, caps: u64) {
    // SAFETY: `build` has checked both pointers.
    let (tx, rx) = unsafe { (&mut *info.tx_attr, &mut *info.rx_attr) };
    tx.caps = caps & SENDING;
    tx.op_flags = wish.tx_op_flags;
    tx.msg_order = ORDER;
    tx.inject_size = INJECT_BYTES;
    tx.size = 1024;
    tx.iov_limit = PIECES_MAX;
    tx.rma_iov_limit = 1;
    rx.caps = caps & RECEIVING;
    rx.op_flags = wish.rx_op_flags;
    rx.msg_order = ORDER;
    rx.total_buffered_recv = usize::MAX;
    rx.size = 1024;
    rx.iov_limit = PIECES_MAX;
}

fn fill_endpoint(ep: &mut fi_ep_attr) {
    ep.r#type = FI_EP_RDM;
    // A protocol of our own: the top bit says so.
    ep.protocol = 1 << 31;
    ep.protocol_version = 1;
    ep.max_msg_size = MESSAGE_BYTES_MAX;
    ep.mem_tag_format = TAG_FORMAT;
    ep.tx_ctx_cnt = 1;
    ep.rx_ctx_cnt = 1;
}

unsafe fn fill_domain(domain: &mut fi_domain_attr, wish: &Wish) {
    // SAFETY: a C string.
    domain.name = unsafe { libc::strdup(c"pagemill0".as_ptr()) };
    domain.threading = FI_THREAD_SAFE;
    domain.control_progress = FI_PROGRESS_AUTO;
    domain.data_progress = FI_PROGRESS_MANUAL;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = wish.av_type;
    domain.mr_mode = match wish.mr_mode {
        None => OUR_MR_MODE,
        Some(mode) => mode & OUR_MR_MODE,
    };
    domain.mr_key_size = 8;
    domain.cq_data_size = 8;
    domain.cq_cnt = 64;
    domain.ep_cnt = crate::process::PORTS_MAX as usize;
    domain.tx_ctx_cnt = 1;
    domain.rx_ctx_cnt = 1;
    domain.max_ep_tx_ctx = 1;
    domain.max_ep_rx_ctx = 1;
    domain.mr_iov_limit = 1;
    domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
    domain.mr_cnt = crate::station::REGISTRATIONS_MAX;
}
