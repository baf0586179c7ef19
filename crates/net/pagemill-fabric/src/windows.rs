//! Windows of one-sided communication: those that are shared memory are shared memory, all others go through the interface.
//!
//! Open MPI's component `osc sm` serves `MPI_Win_allocate_shared`. It would take `MPI_Win_allocate` as well, past the network, wherever no
//! process of the communicator is on another node. So none counts as near, but for windows that are to be shared.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::behind::{Behind, NO_MPI};
use crate::process;

thread_local! {
    static IS_SHARING: Cell<bool> = const { Cell::new(false) };
}

/// Windows that are shared memory.
static SHARED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn shared() -> MutexGuard<'static, Vec<usize>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks of shared windows are words in memory, which Open MPI looks at in a loop. So that neither the order of those who get one nor the
/// time until then depends on when ranks run, the station takes its turn before and during `call`.
fn in_turn(window: *mut c_void, is_lock: bool, call: impl FnOnce() -> c_int) -> c_int {
    if !shared().contains(&window.addr()) {
        return call();
    }
    if let Some(process) = process::lock().as_mut() {
        match is_lock {
            true => process.station.lock(),
            false => process.station.unlock(),
        }
    }
    let result = call();
    if let Some(process) = process::lock().as_mut().filter(|_| is_lock) {
        process.station.has_locked();
    }
    result
}

type AllocateShared = unsafe extern "C" fn(
    isize,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut *mut c_void,
) -> c_int;
type HaveRemotePeers = unsafe extern "C" fn(*mut c_void) -> bool;

macro_rules! allocators {
    ($($name:ident($behind:ident: $text:literal);)*) => {$(
        static $behind: Behind = Behind::new($text);

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            bytes: isize,
            unit: c_int,
            info: *mut c_void,
            communicator: *mut c_void,
            base: *mut c_void,
            window: *mut *mut c_void,
        ) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            let was_sharing = IS_SHARING.replace(true);
            // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
            let result = unsafe {
                std::mem::transmute::<*mut c_void, AllocateShared>(behind)(
                    bytes, unit, info, communicator, base, window,
                )
            };
            IS_SHARING.set(was_sharing);
            if result == 0 && !window.is_null() {
                // SAFETY: MPI has just written the window there.
                shared().push(unsafe { (*window).addr() });
            }
            result
        }
    )*};
}

allocators! {
    MPI_Win_allocate_shared(MPI_WIN_ALLOCATE_SHARED: c"MPI_Win_allocate_shared");
    PMPI_Win_allocate_shared(PMPI_WIN_ALLOCATE_SHARED: c"PMPI_Win_allocate_shared");
}

static HAVE_REMOTE_PEERS: Behind = Behind::new(c"ompi_group_have_remote_peers");

/// Open MPI's own question whether processes of a group are on other nodes, which its components for shared memory ask.
///
/// # Safety
/// As Open MPI calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_group_have_remote_peers(group: *mut c_void) -> bool {
    let behind = HAVE_REMOTE_PEERS.find();
    if behind.is_null() || !IS_SHARING.get() {
        return true;
    }
    // SAFETY: Open MPI's function of this name has this type; its caller's promises are passed on.
    unsafe { std::mem::transmute::<*mut c_void, HaveRemotePeers>(behind)(group) }
}

/// `MPI_MODE_NOCHECK` of Open MPI.
const NO_CHECK: c_int = 1;

type Lock = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void) -> c_int;
type LockAll = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;

// Open MPI 4's `osc pt2pt` takes the answer to a lock as the sign that it may send. Under `MPI_MODE_NOCHECK` it asks for none, and its first
// operation waits for ever. The assertion only allows to leave the lock out.
macro_rules! locks {
    ($($name:ident($behind:ident: $text:literal), $all:ident($all_behind:ident: $all_text:literal);)*) => {$(
        static $behind: Behind = Behind::new($text);
        static $all_behind: Behind = Behind::new($all_text);

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(kind: c_int, rank: c_int, assertion: c_int, window: *mut c_void) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
            let lock = unsafe { std::mem::transmute::<*mut c_void, Lock>(behind) };
            // SAFETY: the program passes the arguments of `MPI_Win_lock`; without a check is what MPI allows always.
            in_turn(window, true, || unsafe { lock(kind, rank, assertion & !NO_CHECK, window) })
        }

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $all(assertion: c_int, window: *mut c_void) -> c_int {
            let behind = $all_behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            // SAFETY: MPI's function of this name has this type, and was found.
            let lock = unsafe { std::mem::transmute::<*mut c_void, LockAll>(behind) };
            // SAFETY: the program passes the arguments of `MPI_Win_lock_all`.
            in_turn(window, true, || unsafe { lock(assertion & !NO_CHECK, window) })
        }
    )*};
}

locks! {
    MPI_Win_lock(MPI_WIN_LOCK: c"MPI_Win_lock"), MPI_Win_lock_all(MPI_WIN_LOCK_ALL: c"MPI_Win_lock_all");
    PMPI_Win_lock(PMPI_WIN_LOCK: c"PMPI_Win_lock"), PMPI_Win_lock_all(PMPI_WIN_LOCK_ALL: c"PMPI_Win_lock_all");
}

type Unlock = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;
type UnlockAll = unsafe extern "C" fn(*mut c_void) -> c_int;
type Free = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

macro_rules! unlocks {
    ($($name:ident($behind:ident: $text:literal), $all:ident($all_behind:ident: $all_text:literal);)*) => {$(
        static $behind: Behind = Behind::new($text);
        static $all_behind: Behind = Behind::new($all_text);

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(rank: c_int, window: *mut c_void) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
            let unlock = unsafe { std::mem::transmute::<*mut c_void, Unlock>(behind) };
            // SAFETY: the program passes the arguments of the call that it made.
            in_turn(window, false, || unsafe { unlock(rank, window) })
        }

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $all(window: *mut c_void) -> c_int {
            let behind = $all_behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            // SAFETY: MPI's function of this name has this type, and was found.
            let unlock = unsafe { std::mem::transmute::<*mut c_void, UnlockAll>(behind) };
            // SAFETY: the program passes the window that it locked.
            in_turn(window, false, || unsafe { unlock(window) })
        }
    )*};
}

unlocks! {
    MPI_Win_unlock(MPI_WIN_UNLOCK: c"MPI_Win_unlock"), MPI_Win_unlock_all(MPI_WIN_UNLOCK_ALL: c"MPI_Win_unlock_all");
    PMPI_Win_unlock(PMPI_WIN_UNLOCK: c"PMPI_Win_unlock"), PMPI_Win_unlock_all(PMPI_WIN_UNLOCK_ALL: c"PMPI_Win_unlock_all");
}

macro_rules! frees {
    ($($name:ident($behind:ident: $text:literal);)*) => {$(
        static $behind: Behind = Behind::new($text);

        /// MPI's function of this name. Another window may have the place of the one that it frees.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(window: *mut *mut c_void) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            if !window.is_null() {
                // SAFETY: a window of the caller.
                let freed = unsafe { (*window).addr() };
                shared().retain(|shared| *shared != freed);
            }
            // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
            unsafe { std::mem::transmute::<*mut c_void, Free>(behind)(window) }
        }
    )*};
}

frees! {
    MPI_Win_free(MPI_WIN_FREE: c"MPI_Win_free");
    PMPI_Win_free(PMPI_WIN_FREE: c"PMPI_Win_free");
}
