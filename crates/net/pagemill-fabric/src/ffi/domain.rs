use std::ffi::{c_int, c_void};

use super::abi::*;
use super::objects::{Table, UNSUPPORTED, closing, give};
use super::{endpoint, queue, region, vector};

static OPS: Table<fi_ops> = Table(closing::<Domain>());
static DOMAIN_OPS: Table<fi_ops_domain> = Table(fi_ops_domain {
    size: size_of::<fi_ops_domain>(),
    av_open: vector::open,
    cq_open: queue::open,
    endpoint: endpoint::open,
    scalable_ep: UNSUPPORTED,
    cntr_open: UNSUPPORTED,
    poll_open: UNSUPPORTED,
    stx_ctx: UNSUPPORTED,
    srx_ctx: UNSUPPORTED,
    query_atomic: UNSUPPORTED,
    query_collective: UNSUPPORTED,
    endpoint2: None,
});

/// A domain: the interface of this process.
#[repr(C)]
pub struct Domain {
    handle: fid_domain,
}

/// # Safety
/// `domain` is a place for the result.
pub unsafe fn open(_: *mut fi_info, domain: *mut *mut fid_domain, context: *mut c_void) -> c_int {
    let made = give(Domain {
        handle: fid_domain {
            fid: fid {
                fclass: FI_CLASS_DOMAIN,
                context,
                ops: &OPS.0,
            },
            ops: &DOMAIN_OPS.0,
            mr: &region::OPS.0,
        },
    });
    // SAFETY: libfabric's caller has room for the handle at `domain`.
    unsafe { *domain = made.cast() };
    0
}
