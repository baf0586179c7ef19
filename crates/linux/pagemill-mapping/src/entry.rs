//! The C library's functions, in terms of [`MemoryCalls`]. [`crate::replace_memory_calls`] exports them.

use std::ffi::{c_int, c_long, c_void};
use std::mem::transmute;

use crate::call::Call;
use crate::kernel::{self, for_c};
use crate::memory_calls::MemoryCalls;
use crate::next::Next;
use crate::own::{self, Own};
use crate::references;

/// What a child may need of its stack before its faults are answered.
const STACK_BYTES: usize = 256 << 10;

/// `clone` with memory of its own counts as a fork.
const SHARES_MEMORY: c_int = libc::CLONE_VM;

/// `mmap`, `munmap` and their like, with `errno`.
///
/// # Safety
/// As the call itself.
pub unsafe fn answer(calls: &dyn MemoryCalls, call: &Call) -> isize {
    let _own = Own::calls();
    // SAFETY: the program may make this call, as its arguments are.
    for_c(unsafe { calls.answer(call) })
}

/// `process_madvise`.
///
/// # Safety
/// As the call itself.
pub unsafe fn process_madvise(calls: &dyn MemoryCalls, call: &Call) -> isize {
    let _own = Own::calls();
    // SAFETY: the program may make this call, as its arguments are.
    for_c(unsafe { advise_process(calls, call) })
}

/// On this process itself it is an `madvise` a range.
unsafe fn advise_process(calls: &dyn MemoryCalls, call: &Call) -> isize {
    let [process, ranges, count, advice, flags, _] = call.arguments;
    const RANGES_MAX: usize = 1024;
    // With no ranges, the kernel only says whether it would take the advice.
    let probe = Call::new(call.number, [process, 0, 0, advice, flags]);
    // SAFETY: it concerns no memory.
    let would_take = unsafe { probe.perform() } == 0;
    if !would_take || count > RANGES_MAX || !is_this_process(process as c_int) {
        // SAFETY: the program may make this call, as its arguments are.
        return unsafe { call.perform() };
    }
    let ranges: *const libc::iovec = std::ptr::with_exposed_provenance(ranges);
    let mut advised = 0;
    for index in 0..count {
        // SAFETY: `index` is below the number of ranges that the program says it has there.
        let range = unsafe { ranges.add(index).read() };
        let call = Call::new(
            libc::SYS_madvise,
            [range.iov_base.expose_provenance(), range.iov_len, advice],
        );
        // SAFETY: the program may make this call, as its arguments are.
        let result = unsafe { calls.answer(&call) };
        if result != 0 {
            return if advised > 0 { advised } else { result };
        }
        advised += range.iov_len as isize;
    }
    advised
}

/// Whether a process descriptor is of this process.
fn is_this_process(descriptor: c_int) -> bool {
    // `PIDFD_SELF_THREAD` and `PIDFD_SELF_THREAD_GROUP` of linux/pidfd.h.
    if (-10001..=-10000).contains(&descriptor) {
        return true;
    }
    let Ok(text) = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")) else {
        return false;
    };
    let process = text.lines().find_map(|line| line.strip_prefix("Pid:"));
    process.is_some_and(|process| process.trim().parse() == Ok(std::process::id()))
}

/// `fork`.
///
/// # Safety
/// As the function itself.
pub unsafe fn fork(calls: &'static dyn MemoryCalls) -> libc::pid_t {
    type Fork = unsafe extern "C" fn() -> libc::pid_t;
    static NEXT: Next = Next::in_c_library(c"fork");
    let own = Own::calls();
    let prepared = calls.prepare_fork();
    drop(own);
    if let Err(error) = prepared {
        return for_c(-(error as isize)) as libc::pid_t;
    }
    // The handlers of `register` do the rest.
    // SAFETY: the C library has a function of this type by this name, which calls the handlers.
    unsafe { transmute::<*mut c_void, Fork>(NEXT.get())() }
}

/// `_Fork`, which calls no handlers.
///
/// # Safety
/// As the function itself.
pub unsafe fn bare_fork(calls: &'static dyn MemoryCalls) -> libc::pid_t {
    type Fork = unsafe extern "C" fn() -> libc::pid_t;
    static NEXT: Next = Next::in_c_library(c"_Fork");
    if let Err(error) = before_fork(calls) {
        return for_c(-(error as isize)) as libc::pid_t;
    }
    // SAFETY: the C library has a function of this type by this name, or this one was not called.
    let child = unsafe { transmute::<*mut c_void, Fork>(NEXT.get())() };
    after_fork(calls, child == 0);
    child
}

struct Start {
    calls: &'static dyn MemoryCalls,
    function: extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
}

/// `clone`.
///
/// # Safety
/// As the function itself.
#[expect(clippy::too_many_arguments, reason = "as many as the function has")]
pub unsafe fn clone(
    calls: &'static dyn MemoryCalls,
    function: extern "C" fn(*mut c_void) -> c_int,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut libc::pid_t,
    thread_area: *mut c_void,
    child_id: *mut libc::pid_t,
) -> c_int {
    type Function = extern "C" fn(*mut c_void) -> c_int;
    type Clone = unsafe extern "C" fn(
        Function,
        *mut c_void,
        c_int,
        *mut c_void,
        *mut libc::pid_t,
        *mut c_void,
        *mut libc::pid_t,
    ) -> c_int;
    static NEXT: Next = Next::in_c_library(c"clone");
    // SAFETY: the C library has a function of this type by this name.
    let next = unsafe { transmute::<*mut c_void, Clone>(NEXT.get()) };
    let (parent, area, child) = (parent_id, thread_area, child_id);
    let ids = Call::new(libc::SYS_clone, [0, 0, parent.addr(), child.addr()]);
    if let Err(error) = keep_ids(calls, &ids) {
        return for_c(-(error as isize)) as c_int;
    }
    if flags & SHARES_MEMORY != 0 {
        // SAFETY: the arguments are those that the program gave, passed on in their order.
        return unsafe { next(function, stack, flags, argument, parent, area, child) };
    }
    // The C library writes to the stack, and the child runs on it, before faults are answered. It may be small.
    let top = stack.addr();
    if let Err(error) = calls.make_plain(top.saturating_sub(STACK_BYTES)..top) {
        return for_c(-(error as isize)) as c_int;
    }
    if let Err(error) = before_fork(calls) {
        return for_c(-(error as isize)) as c_int;
    }
    let mut start = Start {
        calls,
        function,
        argument,
    };
    let argument = (&raw mut start).cast();
    // SAFETY: only the start is another one: the child has its own copy of `start`, at this address.
    let result = unsafe { next(start_child, stack, flags, argument, parent, area, child) };
    after_fork(calls, false);
    result
}

extern "C" fn start_child(start: *mut c_void) -> c_int {
    // SAFETY: the child's copy of what `clone` put there.
    let start = unsafe { start.cast::<Start>().read() };
    after_fork(start.calls, true);
    let code = (start.function)(start.argument);
    start.calls.before_end(code);
    code
}

/// `syscall` with one of the numbers of [`crate::export::IS_MEMORY_CALL`], and no stack of its own.
///
/// # Safety
/// As the system call itself.
pub unsafe fn syscall(
    calls: &'static dyn MemoryCalls,
    number: c_long,
    arguments: [usize; 6],
) -> c_long {
    let call = Call { number, arguments };
    // SAFETY: the program makes this call with these six words, of which the kernel reads what it has.
    let answer = unsafe { answer_by_number(calls, &call) };
    // SAFETY: none of ours to answer: the kernel gets what the program gave it.
    for_c(answer.unwrap_or_else(|| unsafe { call.perform() })) as c_long
}

/// The answer to a call with one of these numbers; none to one that the kernel is to be asked for, which may wait.
///
/// # Safety
/// As the system call itself.
pub unsafe fn answer_by_number(calls: &'static dyn MemoryCalls, call: &Call) -> Option<isize> {
    // SAFETY: the program makes this call, so that what its arguments name can be read.
    if let Err(error) = unsafe { references::prepare(calls, call) } {
        return Some(-(error as isize));
    }
    let _own = Own::calls();
    // SAFETY: the program makes this call, of memory that it has; each function takes its words as the kernel would.
    Some(unsafe {
        match call.number {
            libc::SYS_clone | libc::SYS_clone3 => fork_by(calls, call),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_fork => fork_by(calls, call),
            libc::SYS_process_madvise => advise_process(calls, call),
            libc::SYS_close | libc::SYS_close_range | libc::SYS_dup3 => calls.answer_process(call),
            libc::SYS_setrlimit | libc::SYS_prlimit64 => calls.answer_process(call),
            libc::SYS_unshare | libc::SYS_setns | libc::SYS_seccomp | libc::SYS_prctl => {
                calls.answer_process(call)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_dup2 => calls.answer_process(call),
            number if references::is_known(number) => return None,
            _ => calls.answer(call),
        }
    })
}

/// Makes what the kernel reads and writes while it copies a process plain: no handler answers a fault then.
fn keep_ids(calls: &dyn MemoryCalls, call: &Call) -> Result<(), i32> {
    let [first, bytes, parent, child, ..] = call.arguments;
    // In the structure: its descriptor, its number twice, and the numbers that it is to have.
    let places = match call.number {
        libc::SYS_clone3 => {
            references::one(calls, first, bytes)?;
            let words = references::read::<[usize; 9]>(first).unwrap_or_default();
            [words[1], words[2], words[3], words[8]]
        }
        _ => [parent, child, 0, 0],
    };
    let mut places = places.into_iter();
    places.try_for_each(|place| references::one(calls, place, 64 * size_of::<libc::pid_t>()))
}

/// Right before a fork.
///
/// # Errors
/// As [`MemoryCalls::before_fork`].
pub fn before_fork(calls: &dyn MemoryCalls) -> Result<(), i32> {
    let own = Own::calls();
    calls.before_fork()?;
    std::mem::forget(own);
    Ok(())
}

/// Right after one: what an instruction calls is seen again.
pub fn after_fork(calls: &dyn MemoryCalls, is_child: bool) {
    calls.after_fork(is_child);
    own::after_fork(is_child);
}

unsafe fn fork_by(calls: &'static dyn MemoryCalls, call: &Call) -> isize {
    let prepared = keep_ids(calls, call).and_then(|()| before_fork(calls));
    if let Err(error) = prepared {
        return -(error as isize);
    }
    // SAFETY: the program forks here; the child goes on with a copy of this stack.
    let child = unsafe { kernel::perform(call.number, call.arguments) };
    after_fork(calls, child == 0);
    child
}
