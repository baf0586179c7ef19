//! Contexts: which there are, and which is current in a thread. All of them share the one GPU and its memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::{Mutex, PoisonError};

use super::driver;
use crate::error::{CudaError, Fault};
use crate::ffi::{Done, OutPtr, address, device, with_runtime};
use crate::runtime::Turn;

/// Set in handles of contexts, and in no address.
const HANDLE_TAG: u64 = 0x70 << 56;

/// The primary context of device 0, which the runtime API uses.
const PRIMARY: u64 = HANDLE_TAG;

const API_VERSION: c_uint = 3020;

#[derive(Default)]
struct Contexts {
    /// Contexts of `cuCtxCreate` with their flags.
    created: BTreeMap<u64, c_uint>,
    made: u64,
    primary_uses: u64,
    primary_flags: c_uint,
}

static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts {
    created: BTreeMap::new(),
    made: 0,
    primary_uses: 0,
    primary_flags: 0,
});

thread_local! {
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn with_contexts<T>(work: impl FnOnce(&mut Contexts) -> T) -> T {
    work(&mut CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn invalid(context: u64) -> Fault {
    if context == 0 {
        // Frameworks try whether there is one.
        return Fault::silent(CudaError::INVALID_CONTEXT);
    }
    let message = format!("{context:#x} is no context");
    Fault::new(CudaError::INVALID_CONTEXT, message)
}

fn is_live(context: u64) -> bool {
    context == PRIMARY || with_contexts(|contexts| contexts.created.contains_key(&context))
}

fn top() -> Option<u64> {
    STACK.with_borrow(|stack| stack.last().copied())
}

/// The current context.
pub(super) fn current() -> Result<u64, Fault> {
    match top() {
        Some(context) if context == PRIMARY || is_live(context) => Ok(context),
        other => Err(invalid(other.unwrap_or(0))),
    }
}

/// Makes the primary context current where none is.
pub(super) fn use_primary() {
    STACK.with_borrow_mut(|stack| {
        if stack.is_empty() {
            stack.push(PRIMARY);
        }
    });
}

fn set_current(context: u64) -> Done {
    if context != 0 && !is_live(context) {
        return Err(invalid(context));
    }
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
    Ok(())
}

fn create(to: OutPtr<*mut c_void>, flags: c_uint, of: c_int) -> Done {
    device::only(of)?;
    let context = with_contexts(|contexts| {
        contexts.made += 1;
        let context = HANDLE_TAG | contexts.made;
        contexts.created.insert(context, flags);
        context
    });
    to.put(context as *mut c_void)?;
    STACK.with_borrow_mut(|stack| stack.push(context));
    Ok(())
}

fn flags_of(context: u64) -> c_uint {
    with_contexts(|contexts| match contexts.created.get(&context) {
        Some(&flags) => flags,
        None => contexts.primary_flags,
    })
}

/// Everything on the GPU ends with its context.
fn synchronize() -> Done {
    with_runtime(|runtime| {
        runtime.settle_alone(Turn::All)?;
        runtime.synchronize();
        Ok(())
    })
}

driver! { Init:
    fn cuCtxCreate_v2(to: OutPtr<*mut c_void>, flags: c_uint, of: c_int) {
        create(to, flags, of)
    }

    fn cuCtxCreate_v3(to: OutPtr<*mut c_void>, _affinity: *const c_void, _count: c_int, flags: c_uint, of: c_int) {
        create(to, flags, of)
    }

    fn cuCtxCreate_v4(to: OutPtr<*mut c_void>, _parameters: *const c_void, flags: c_uint, of: c_int) {
        create(to, flags, of)
    }

    fn cuCtxDestroy_v2(context: *mut c_void) {
        let context = address(context);
        synchronize()?;
        if with_contexts(|contexts| contexts.created.remove(&context)).is_none() {
            return Err(invalid(context));
        }
        STACK.with_borrow_mut(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: *mut c_void) {
        let context = address(context);
        if !is_live(context) {
            return Err(invalid(context));
        }
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(to: OutPtr<*mut c_void>) {
        let popped = STACK.with_borrow_mut(Vec::pop).ok_or_else(|| invalid(0))?;
        to.put_if_wanted(popped as *mut c_void);
        Ok(())
    }

    fn cuCtxSetCurrent(context: *mut c_void) {
        set_current(address(context))
    }

    fn cuCtxGetCurrent(to: OutPtr<*mut c_void>) {
        to.put(top().unwrap_or(0) as *mut c_void)
    }

    fn cuDevicePrimaryCtxRetain(to: OutPtr<*mut c_void>, of: c_int) {
        device::only(of)?;
        to.put(PRIMARY as *mut c_void)?;
        with_contexts(|contexts| contexts.primary_uses += 1);
        Ok(())
    }

    fn cuDevicePrimaryCtxRelease_v2(of: c_int) {
        device::only(of)?;
        with_contexts(|contexts| {
            contexts.primary_uses = contexts.primary_uses.checked_sub(1).ok_or_else(|| invalid(PRIMARY))?;
            Ok(())
        })
    }

    fn cuDevicePrimaryCtxReset_v2(of: c_int) {
        device::only(of)?;
        with_contexts(|contexts| contexts.primary_uses = 0);
        synchronize()
    }

    fn cuDevicePrimaryCtxSetFlags_v2(of: c_int, flags: c_uint) {
        device::only(of)?;
        with_contexts(|contexts| contexts.primary_flags = flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(of: c_int, flags: OutPtr<c_uint>, active: OutPtr<c_int>) {
        device::only(of)?;
        let (own, uses) = with_contexts(|contexts| (contexts.primary_flags, contexts.primary_uses));
        flags.put(own)?;
        active.put((uses > 0).into())
    }

    fn cuCtxGetApiVersion(context: *mut c_void, to: OutPtr<c_uint>) {
        let context = address(context);
        if context != 0 && !is_live(context) {
            return Err(invalid(context));
        }
        to.put(API_VERSION)
    }

    fn cuCtxGetId(context: *mut c_void, to: OutPtr<c_ulonglong>) {
        let context = if context.is_null() { current()? } else { address(context) };
        if !is_live(context) {
            return Err(invalid(context));
        }
        to.put((context ^ HANDLE_TAG) + 1)
    }
}

driver! { Context:
    fn cuCtxGetDevice(to: OutPtr<c_int>) {
        to.put(0)
    }

    fn cuCtxGetDevice_v2(to: OutPtr<c_int>, _context: *mut c_void) {
        to.put(0)
    }

    fn cuCtxGetFlags(to: OutPtr<c_uint>) {
        let flags = flags_of(current()?);
        to.put(flags)
    }

    fn cuCtxSetFlags(flags: c_uint) {
        let context = current()?;
        with_contexts(|contexts| match contexts.created.get_mut(&context) {
            Some(own) => *own = flags,
            None => contexts.primary_flags = flags,
        });
        Ok(())
    }

    fn cuStreamGetCtx(_stream: *mut c_void, to: OutPtr<*mut c_void>) {
        to.put(current()? as *mut c_void)
    }

    fn cuCtxSetSharedMemConfig(_config: c_int) {
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(to: OutPtr<c_int>) {
        to.put(1)
    }

    fn cuCtxEnablePeerAccess(peer: *mut c_void, _flags: c_uint) {
        if !is_live(address(peer)) {
            return Err(invalid(address(peer)));
        }
        let message = "contexts of one device share their memory: there is no other device";
        Err(Fault::new(CudaError::PEER_ACCESS_UNSUPPORTED, message))
    }
}
