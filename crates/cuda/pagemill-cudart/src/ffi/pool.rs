//! Memory pools. All of them hand out the same memory, which goes back to the GPU when it is freed.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use super::{Done, OutPtr, address, api, null, with_runtime};
use crate::error::{CudaError, Fault};

/// Handles of pools are their numbers with this added. Number 0 is the default pool.
const HANDLE_BASE: u64 = 0x6f << 56;

/// `cudaMemPoolAttr`: whether freed memory may be used again by other streams, and how much the pool keeps.
const REUSE: std::ops::RangeInclusive<c_int> = 1..=3;
const RELEASE_THRESHOLD: c_int = 4;

/// What a program has set. Nothing of it changes what the simulated GPU does.
#[derive(Clone, Copy)]
struct Pool {
    reuse: [c_int; 3],
    threshold_bytes: u64,
    is_live: bool,
}

const FRESH: Pool = Pool {
    reuse: [1; 3],
    threshold_bytes: 0,
    is_live: true,
};

static POOLS: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

fn with_pools<T>(work: impl FnOnce(&mut Vec<Pool>) -> T) -> T {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if pools.is_empty() {
        pools.push(FRESH);
    }
    work(&mut pools)
}

fn with_pool<T>(handle: *mut c_void, work: impl FnOnce(&mut Pool) -> T) -> Result<T, Fault> {
    let number = address(handle).checked_sub(HANDLE_BASE);
    with_pools(|pools| {
        let pool = number.and_then(|number| pools.get_mut(number as usize));
        pool.filter(|pool| pool.is_live).map(work)
    })
    .ok_or_else(|| Fault::invalid(format!("{handle:p} is no memory pool")))
}

/// That `handle` is a pool.
pub(super) fn check(handle: *mut c_void) -> Done {
    with_pool(handle, |_| ())
}

fn unknown(attribute: c_int) -> Fault {
    let message = format!("pagemill does not keep attribute {attribute} of memory pools");
    Fault::new(CudaError::NOT_SUPPORTED, message)
}

/// `cudaMemAccessFlagsProtReadWrite`.
const READ_WRITE: c_int = 3;

api! {
    fn cudaMemPoolSetAccess(pool: *mut c_void, _access: *const c_void, _count: usize) {
        // There is one GPU, which always has it.
        check(pool)
    }

    fn cudaMemPoolGetAccess(to: OutPtr<c_int>, pool: *mut c_void, _location: *const c_void) {
        check(pool)?;
        to.put(READ_WRITE)
    }

    fn cudaDeviceGetDefaultMemPool(to: OutPtr<*mut c_void>, device: c_int) {
        super::device::only(device)?;
        to.put(HANDLE_BASE as *mut c_void)
    }

    fn cudaDeviceGetMemPool(to: OutPtr<*mut c_void>, device: c_int) {
        super::device::only(device)?;
        to.put(HANDLE_BASE as *mut c_void)
    }

    fn cudaDeviceSetMemPool(device: c_int, pool: *mut c_void) {
        super::device::only(device)?;
        check(pool)
    }

    fn cudaMemPoolCreate(to: OutPtr<*mut c_void>, properties: *const c_void) {
        if properties.is_null() {
            return Err(null());
        }
        // SAFETY: the program passes null or `cudaMemPoolProps`, whose second number names the handles that others get.
        let handles = unsafe { properties.cast::<[c_int; 2]>().read_unaligned() }[1];
        if handles != 0 && with_runtime(|runtime| Ok(runtime.device.setting.managed))? {
            let message = "a memory pool whose memory is handed to other processes cannot be managed: run the program without --managed";
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        let number = with_pools(|pools| {
            pools.push(FRESH);
            pools.len() as u64 - 1
        });
        to.put((HANDLE_BASE + number) as *mut c_void)
    }

    fn cudaMemPoolDestroy(pool: *mut c_void) {
        if address(pool) == HANDLE_BASE {
            return Err(Fault::invalid("the default memory pool cannot be destroyed"));
        }
        with_pool(pool, |pool| pool.is_live = false)
    }

    fn cudaMemPoolTrimTo(pool: *mut c_void, _bytes: usize) {
        check(pool)
    }

    fn cudaMemPoolSetAttribute(pool: *mut c_void, attribute: c_int, value: *const c_void) {
        if value.is_null() {
            return Err(null());
        }
        if REUSE.contains(&attribute) {
            // SAFETY: these attributes are integers.
            let value = unsafe { value.cast::<c_int>().read_unaligned() };
            return with_pool(pool, |pool| pool.reuse[attribute as usize - 1] = value);
        }
        if attribute == RELEASE_THRESHOLD {
            // SAFETY: this attribute is a number of bytes.
            let value = unsafe { value.cast::<u64>().read_unaligned() };
            return with_pool(pool, |pool| pool.threshold_bytes = value);
        }
        Err(unknown(attribute))
    }

    fn cudaMemPoolGetAttribute(pool: *mut c_void, attribute: c_int, to: *mut c_void) {
        if REUSE.contains(&attribute) {
            let value = with_pool(pool, |pool| pool.reuse[attribute as usize - 1])?;
            // SAFETY: the program has room for the type of the attribute at `to`: an integer.
            return unsafe { OutPtr::new(to.cast()) }.put(value);
        }
        if attribute == RELEASE_THRESHOLD {
            let value = with_pool(pool, |pool| pool.threshold_bytes)?;
            // SAFETY: the program has room for the type of the attribute at `to`: a number of 64 bits.
            return unsafe { OutPtr::new(to.cast()) }.put(value);
        }
        Err(unknown(attribute))
    }
}
