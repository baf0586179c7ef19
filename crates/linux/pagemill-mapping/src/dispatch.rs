//! Calls that a program makes by an instruction of its own, whatever stands before it. The kernel delivers them as signals (Syscall User
//! Dispatch): those from anywhere but the C library's code, in each thread that is armed. What they mean to memory is answered as if the
//! C library's `syscall` had been called.

use std::ffi::{c_int, c_void};
use std::mem::{transmute, zeroed};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{
    REG_R8, REG_R9, REG_R10, REG_RAX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP, sigaction,
    siginfo_t, sigset_t, ucontext_t,
};

use crate::call::{Call, has};
use crate::export::IS_MEMORY_CALL;
use crate::jumps::{self, Jump};
use crate::kernel::{self, Answer};
use crate::lock::{SYSTEM_CALL, SignalsBlocked};
use crate::memory_calls::MemoryCalls;
use crate::next::Next;
use crate::own;
use crate::references::read;
use crate::{entry, next};

/// What the handler needs to know.
struct Known {
    calls: &'static dyn MemoryCalls,
    /// Code whose calls mean nothing to the program's memory: this library's and the dynamic linker's.
    passing: [Range<usize>; 2],
}

static KNOWN: OnceLock<Known> = OnceLock::new();

/// From now on, calls of the first thread and those that it makes are seen, by function and by instruction.
///
/// # Errors
/// Why they cannot be.
pub fn begin(
    calls: &'static dyn MemoryCalls,
    lists: &[&'static [Jump]],
) -> Result<(), &'static str> {
    let getppid = jumps::of_c_library(c"getppid").unwrap_or(0);
    let library = jumps::code_around(getppid);
    let code: *const [u8; 16] = ptr::with_exposed_provenance(getppid);
    if library.is_empty() {
        return Err("its C library is not known");
    }
    // SAFETY: a function's code, behind which there is more.
    let mut code = unsafe { &*code }.windows(3);
    let call = code.position(|code| code == [0x0f, 0x05, 0xc3]);
    let call = getppid + call.ok_or("its C library is not known")?;
    let linker = jumps::of_c_library(c"__tls_get_addr").unwrap_or(0);
    let own = begin as *const () as usize;
    let known = Known {
        calls,
        passing: [own, linker].map(jumps::code_around),
    };
    if KNOWN.set(known).is_err() {
        return Ok(());
    }
    kernel::CALL.store(ptr::with_exposed_provenance_mut(call), Ordering::Relaxed);
    let jumped = jumps::install(lists.iter().copied().flatten(), &library);
    next::settle();
    if let Some(syscall) = jumps::of_c_library(c"syscall").map(jumps::original) {
        kernel::SYSCALL.store(ptr::with_exposed_provenance_mut(syscall), Ordering::Relaxed);
    }
    jumped.map_err(|_| "the code of its C library cannot be changed")?;
    // SAFETY: the handler has this form. Its own calls are the C library's.
    unsafe {
        let mut arrives: sigaction = zeroed();
        arrives.sa_sigaction = arrived as *const () as usize;
        arrives.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        act_on(libc::SIGSYS, &raw const arrives, ptr::null_mut());
    }
    own::set_library(&library);
    match own::arm() {
        true => Ok(()),
        false => {
            Err("the kernel does not deliver system calls (Syscall User Dispatch, Linux 5.11)")
        }
    }
}

/// What the program would have done at `SIGSYS`, handler and flags: the kernel has this library's handler.
static OF_PROGRAM: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

fn exchange(wanted: Option<[usize; 2]>) -> [usize; 2] {
    let wanted = wanted.map(|words| words.map(Some)).unwrap_or_default();
    std::array::from_fn(|at| match wanted[at] {
        Some(word) => OF_PROGRAM[at].swap(word, Ordering::Relaxed),
        None => OF_PROGRAM[at].load(Ordering::Relaxed),
    })
}

/// `sigaction`: handlers do not block `SIGSYS`, and this library's own stays.
///
/// # Safety
/// As the function itself.
pub unsafe fn act_on(signal: c_int, new: *const sigaction, old: *mut sigaction) -> c_int {
    static NEXT: Next = Next::in_c_library(c"sigaction");
    type Action = unsafe extern "C" fn(c_int, *const sigaction, *mut sigaction) -> c_int;
    // SAFETY: the C library's function of this name has this type; the caller's promise, of a copy of what it has.
    unsafe {
        let next = transmute::<*mut c_void, Action>(NEXT.get());
        let mut changed = new.as_ref().copied();
        if signal == libc::SIGSYS && own::is_armed() {
            let wanted = changed.map(|new| [new.sa_sigaction, new.sa_flags as usize]);
            let [handler, flags] = exchange(wanted);
            if let Some(old) = old.as_mut() {
                *old = zeroed();
                (old.sa_sigaction, old.sa_flags) = (handler, flags as c_int);
            }
            return 0;
        }
        let place = changed.as_mut().map_or(ptr::null(), |changed| {
            libc::sigdelset(&raw mut changed.sa_mask, libc::SIGSYS);
            changed
        });
        next(signal, place, old)
    }
}

/// `sigprocmask` and its like: `SIGSYS` stays unblocked.
///
/// # Safety
/// As the functions themselves, of which `next` is one.
pub unsafe fn set_mask(next: &Next, how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    type Mask = unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;
    // SAFETY: the C library's functions have this type; the caller's promise, of a copy of its set.
    unsafe {
        let next = transmute::<*mut c_void, Mask>(next.get());
        if new.is_null() || how == libc::SIG_UNBLOCK || !own::is_armed() {
            return next(how, new, old);
        }
        let mut changed = *new;
        libc::sigdelset(&raw mut changed, libc::SIGSYS);
        next(how, &raw const changed, old)
    }
}

/// `pthread_create`, with the address that it returns to: each thread of the program is armed.
///
/// Threads of this library are not: its calls are its own.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C" fn create(
    thread: usize,
    attributes: usize,
    routine: usize,
    argument: usize,
    caller: usize,
) -> c_int {
    type Create = unsafe extern "C" fn(usize, usize, usize, usize) -> c_int;
    static NEXT: Next = Next::in_c_library(c"pthread_create");
    // SAFETY: the C library's function of this name has this type; the caller's promise.
    unsafe {
        let next = transmute::<*mut c_void, Create>(NEXT.get());
        if KNOWN
            .get()
            .is_none_or(|known| known.passing[0].contains(&caller))
        {
            return next(thread, attributes, routine, argument);
        }
        let start = Box::into_raw(Box::new([routine, argument]));
        let made = next(
            thread,
            attributes,
            started as *const () as usize,
            start.expose_provenance(),
        );
        if made != 0 {
            drop(Box::from_raw(start));
        }
        made
    }
}

/// Leaves no frame of its own, which an end of the thread would go through.
#[unsafe(naked)]
unsafe extern "C" fn started() {
    std::arch::naked_asm!(
        "sub rsp, 24; mov rsi, rsp; call {enter}; mov rax, [rsp]; mov rdi, [rsp + 8]; add rsp, 24; jmp rax",
        enter = sym enter,
    )
}

unsafe extern "C" fn enter(start: *mut [usize; 2], then: *mut [usize; 2]) {
    // SAFETY: what `create` made, and room for it.
    unsafe { then.write(*Box::from_raw(start)) };
    own::arm();
}

/// A call has arrived.
unsafe extern "C" fn arrived(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    const USER_DISPATCH: c_int = 2;
    // SAFETY: what the kernel gives a handler.
    let (about, context) = unsafe { (&*info, &mut *context.cast::<ucontext_t>()) };
    if about.si_code != USER_DISPATCH {
        // SAFETY: the three arguments are the kernel's own for this signal, and stay until the handler returns.
        return unsafe { give_to_program(signal, info, context) };
    }
    // SAFETY: this thread's error number, which the program's instruction leaves.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the program's call.
    if let Some(answer) = unsafe { answer(context) } {
        context.uc_mcontext.gregs[REG_RAX as usize] = answer as i64;
    }
    // SAFETY: this thread's error number again.
    unsafe { *libc::__errno_location() = errno };
}

/// Another cause of the signal: a filter of the program.
unsafe fn give_to_program(signal: c_int, info: *mut siginfo_t, context: &mut ucontext_t) {
    type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut ucontext_t);
    match exchange(None)[0] {
        libc::SIG_IGN => {}
        // SAFETY: the signal ends the process, as without a handler.
        libc::SIG_DFL => unsafe {
            let default = [0_usize; 4];
            let arguments = [
                signal as usize,
                default.as_ptr().addr(),
                0,
                size_of::<u64>(),
                0,
                0,
            ];
            kernel::perform(libc::SYS_rt_sigaction, arguments);
            libc::raise(signal);
        },
        // SAFETY: the program's handler.
        handler => unsafe { transmute::<usize, Handler>(handler)(signal, info, context) },
    }
}

/// The answer to the call of a context; none where it goes on by itself.
unsafe fn answer(context: &mut ucontext_t) -> Option<Answer> {
    let known = KNOWN.get()?;
    let registers = &mut context.uc_mcontext.gregs;
    let at = |register: c_int| registers[register as usize] as usize;
    let arguments = [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9].map(at);
    let from = at(REG_RIP);
    let call = Call {
        number: registers[REG_RAX as usize],
        arguments,
    };
    let [first, second, ..] = arguments;
    let is_passing = known.passing.iter().any(|code| code.contains(&from));
    // SAFETY: by the contract of this function, the program makes this call.
    unsafe {
        Some(match call.number {
            libc::SYS_rt_sigreturn => {
                // From the C library's code it is not delivered again, and its frame is where the stack ends.
                registers[REG_RIP as usize] = kernel::CALL.load(Ordering::Relaxed).addr() as i64;
                return None;
            }
            libc::SYS_rt_sigprocmask => mask(context, arguments),
            libc::SYS_sigaltstack => alternative_stack(context, first, second),
            libc::SYS_rt_sigaction => raw_action(&call),
            _ if is_passing => call.perform(),
            // Who makes it has the other call for kernels without it.
            libc::SYS_clone3 if read::<usize>(first).is_some_and(shares) => {
                -(libc::ENOSYS as Answer)
            }
            libc::SYS_clone if shares(first) && second != 0 => start_thread(context, second),
            libc::SYS_clone => answer_copy(known, context, first, &call),
            libc::SYS_vfork => answer_copy(known, context, VFORK, &call),
            number if is_of_memory(number) => answer_apart(known, context, call),
            _ => call.perform(),
        })
    }
}

fn is_of_memory(number: i64) -> bool {
    let word = usize::try_from(number / 64)
        .ok()
        .and_then(|word| IS_MEMORY_CALL.get(word));
    word.is_some_and(|word| word >> (number % 64) & 1 == 1)
}

fn shares(flags: usize) -> bool {
    has(flags, libc::CLONE_VM)
}

/// The flags of `vfork`, but for the parent's memory.
const VFORK: usize = (libc::CLONE_VFORK | libc::SIGCHLD) as usize;

/// A child that would share its parent's stack, where this handler runs, has a copy.
unsafe fn answer_copy(known: &Known, context: &ucontext_t, flags: usize, call: &Call) -> Answer {
    let mut arguments = call.arguments;
    arguments[0] = flags & !(libc::CLONE_VM as usize);
    // SAFETY: the program makes this call, and gives the memory that it names.
    unsafe { answer_apart(known, context, Call::new(libc::SYS_clone, arguments)) }
}

/// `clone` with a stack of the child's own: the child returns to the program there, with the program's registers.
unsafe fn start_thread(context: &ucontext_t, top: usize) -> Answer {
    let mut registers = context.uc_mcontext.gregs;
    let place = top - size_of::<usize>();
    registers[REG_RSI as usize] = place as i64;
    // SAFETY: the child's stack, which has room for more than this.
    unsafe {
        give(place, registers[REG_RIP as usize]);
        call_with(registers.as_ptr(), kernel::CALL.load(Ordering::Relaxed))
    }
}

/// Calls `syscall; ret` with all registers of a context but its stack.
#[unsafe(naked)]
unsafe extern "C" fn call_with(registers: *const i64, call: *mut ()) -> Answer {
    std::arch::naked_asm!(
        "push rbx; push rbp; push r12; push r13; push r14; push r15; mov r11, rsi",
        "mov r8, [rdi]; mov r9, [rdi + 8]; mov r10, [rdi + 16]; mov r12, [rdi + 32]",
        "mov r13, [rdi + 40]; mov r14, [rdi + 48]; mov r15, [rdi + 56]; mov rsi, [rdi + 72]",
        "mov rbp, [rdi + 80]; mov rbx, [rdi + 88]; mov rdx, [rdi + 96]; mov rax, [rdi + 104]",
        "mov rdi, [rdi + 64]; call r11",
        "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx; ret",
    )
}

/// What is answered on a stack of this library's own, and the answer.
struct Work {
    calls: &'static dyn MemoryCalls,
    call: Call,
    answer: Option<Answer>,
}

/// Answers a call on memory. Where the program has an alternative stack, that may have little room, and is used by its handlers: none of
/// them runs meanwhile. What may take long is made afterwards.
unsafe fn answer_apart(known: &Known, context: &ucontext_t, call: Call) -> Answer {
    let mut work = Work {
        calls: known.calls,
        call,
        answer: None,
    };
    let has_other = context.uc_stack.ss_size != 0;
    let stack = if has_other { own::own_stack() } else { None };
    let argument = (&raw mut work).cast();
    match stack {
        // SAFETY: the stack is this thread's and free: no handler runs.
        Some(top) => unsafe {
            let _blocked = SignalsBlocked::new();
            on_stack(top, work_out, argument);
        },
        // SAFETY: what it wants.
        None => unsafe { work_out(argument) },
    }
    match work.answer {
        Some(answer) => answer,
        // SAFETY: the program makes this call, and gives the memory that it names.
        None => unsafe { work.call.perform() },
    }
}

unsafe extern "C" fn work_out(work: *mut c_void) {
    // SAFETY: what `answer_apart` has.
    let work = unsafe { &mut *work.cast::<Work>() };
    // SAFETY: a call that the program made by an instruction, with its arguments: `answer_apart` waits for it.
    work.answer = unsafe { entry::answer_by_number(work.calls, &work.call) };
}

#[unsafe(naked)]
unsafe extern "C" fn on_stack(
    top: usize,
    act: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    std::arch::naked_asm!(
        "push rbp; mov rbp, rsp; mov rsp, rdi; mov rdi, rdx; call rsi; mov rsp, rbp; pop rbp; ret"
    )
}

/// Of the context: the kernel has the mask back from there, whose first word it is.
unsafe fn mask(context: &mut ucontext_t, [how, new, old, bytes, ..]: [usize; 6]) -> Answer {
    let current: *mut u64 = (&raw mut context.uc_sigmask).cast();
    // SAFETY: the word is of the context.
    let before = unsafe { current.read() };
    let wanted = read::<u64>(new).map(|wanted| wanted & !SYSTEM_CALL);
    let after = match (how as c_int, wanted) {
        (_, None) if new == 0 => before,
        (_, None) => return -(libc::EFAULT as Answer),
        (libc::SIG_BLOCK, Some(more)) => before | more,
        (libc::SIG_UNBLOCK, Some(less)) => before & !less,
        (libc::SIG_SETMASK, Some(all)) => all,
        _ => return -(libc::EINVAL as Answer),
    };
    if bytes != size_of::<u64>() {
        return -(libc::EINVAL as Answer);
    }
    // SAFETY: as above; the program's set is as large.
    unsafe {
        current.write(after);
        give(old, before)
    }
}

/// Of the context, too: flags say there what was asked for, not what is.
unsafe fn alternative_stack(context: &mut ucontext_t, new: usize, old: usize) -> Answer {
    let mut before = context.uc_stack;
    let start = before.ss_sp.addr();
    let at = context.uc_mcontext.gregs[REG_RSP as usize] as usize;
    let is_there = (start..start + before.ss_size).contains(&at);
    before.ss_flags |= match (before.ss_size, is_there) {
        (0, _) => libc::SS_DISABLE,
        (_, true) => libc::SS_ONSTACK,
        _ => 0,
    };
    if new != 0 {
        let Some([start, flags, bytes]) = read::<[usize; 3]>(new) else {
            return -(libc::EFAULT as Answer);
        };
        let is_none = flags as c_int & libc::SS_DISABLE != 0;
        if is_there || !is_none && bytes < libc::MINSIGSTKSZ {
            return -(if is_there { libc::EPERM } else { libc::ENOMEM } as Answer);
        }
        context.uc_stack.ss_sp = ptr::with_exposed_provenance_mut(start);
        context.uc_stack.ss_flags = flags as c_int;
        context.uc_stack.ss_size = if is_none { 0 } else { bytes };
    }
    // SAFETY: the program gives room for a description of a stack, or 0.
    unsafe { give(old, before) }
}

unsafe fn give<T>(place: usize, value: T) -> Answer {
    if place != 0 {
        // SAFETY: the program makes this call, and gives the memory that it names.
        unsafe { ptr::with_exposed_provenance_mut::<T>(place).write_unaligned(value) };
    }
    0
}

/// `rt_sigaction`, with the kernel's structure: handler, flags, restorer, mask.
unsafe fn raw_action(call: &Call) -> Answer {
    let [signal, new, old, ..] = call.arguments;
    let mut wanted = read::<[usize; 4]>(new);
    if signal == libc::SIGSYS as usize {
        let [handler, flags] = exchange(wanted.map(|[handler, flags, ..]| [handler, flags]));
        // SAFETY: the program makes this call, and gives the memory that it names.
        return unsafe { give(old, [handler, flags, 0, 0]) };
    }
    let mut changed = *call;
    if let Some(wanted) = &mut wanted {
        wanted[3] &= !(SYSTEM_CALL as usize);
        changed.arguments[1] = wanted.as_ptr().expose_provenance();
    }
    // SAFETY: the program's call, with a copy of its action on this stack, which outlives the call.
    unsafe { changed.perform() }
}
