use std::ffi::{c_int, c_void};
use std::ptr;

use super::abi::{fi_context, fi_fabric_attr, fi_provider, fid_fabric, version};
use super::{fabric, info};

/// libfabric keeps notes of its own in `context`.
struct Provider(std::cell::UnsafeCell<fi_provider>);

// SAFETY: only libfabric touches it, under its own lock; we hand out the address.
unsafe impl Sync for Provider {}

static PROVIDER: Provider = Provider(std::cell::UnsafeCell::new(fi_provider {
    version: version(0, 1),
    fi_version: version(1, 17),
    context: fi_context {
        internal: [ptr::null_mut(); 4],
    },
    name: info::NAME.0.as_ptr(),
    getinfo: info::getinfo,
    fabric: open_fabric,
    cleanup,
}));

/// What libfabric calls after it has loaded the library.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut fi_provider {
    PROVIDER.0.get()
}

extern "C" fn cleanup() {}

unsafe extern "C" fn open_fabric(
    _: *mut fi_fabric_attr,
    fabric: *mut *mut fid_fabric,
    context: *mut c_void,
) -> c_int {
    // SAFETY: libfabric hands a place for the result.
    unsafe { *fabric = fabric::open(context) };
    0
}
