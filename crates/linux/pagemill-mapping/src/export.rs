//! The symbols that a preload library exports.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_arch = "x86_64")]
macro_rules! bits {
    ($($number:ident)*) => {{
        let mut bits = [0; 8];
        $(bits[libc::$number as usize / 64] |= 1 << (libc::$number as usize % 64);)*
        bits
    }};
}

/// A bit for each system call that means something to [`crate::MemoryCalls`].
#[cfg(target_arch = "x86_64")]
pub static IS_MEMORY_CALL: [u64; 8] = bits! {
    SYS_mmap SYS_mprotect SYS_munmap SYS_mremap SYS_madvise SYS_fork SYS_clone SYS_mlock
    SYS_mlockall SYS_mlock2 SYS_mbind SYS_pkey_mprotect SYS_clone3 SYS_process_madvise
    SYS_set_mempolicy_home_node SYS_mseal SYS_remap_file_pages SYS_vmsplice SYS_sendto
    SYS_sendmsg SYS_sendmmsg SYS_io_uring_register SYS_io_uring_setup SYS_shmat SYS_setsockopt
    SYS_set_tid_address SYS_set_robust_list SYS_ioctl SYS_close SYS_close_range SYS_dup2
    SYS_dup3 SYS_setrlimit SYS_prlimit64 SYS_unshare SYS_setns SYS_seccomp SYS_prctl
};

/// What `pthread_atfork` registers.
pub type ForkHandler = unsafe extern "C" fn();

/// The handlers of a preload library. They are registered before all others, so that they are the last to run before a fork and the first
/// after it: those of the program may use memory that is only there while this library answers for it.
pub struct ForkHandlers {
    before: ForkHandler,
    in_parent: ForkHandler,
    in_child: ForkHandler,
    is_registered: AtomicBool,
}

impl ForkHandlers {
    /// Not registered yet.
    pub const fn new(before: ForkHandler, in_parent: ForkHandler, in_child: ForkHandler) -> Self {
        Self {
            before,
            in_parent,
            in_child,
            is_registered: AtomicBool::new(false),
        }
    }

    /// Registers them, unless that has been done.
    pub fn register(&self) {
        if self.is_registered.swap(true, Ordering::Relaxed) {
            return;
        }
        let (before, parent, child) = (self.before, self.in_parent, self.in_child);
        // SAFETY: the handlers live as long as the process, and take no arguments.
        unsafe {
            register_fork_handlers(Some(before), Some(parent), Some(child), ptr::null_mut());
        }
    }
}

/// The C library's `__register_atfork`, which is behind `pthread_atfork` of each library.
///
/// # Safety
/// As `pthread_atfork`.
pub unsafe fn register_fork_handlers(
    before: Option<ForkHandler>,
    in_parent: Option<ForkHandler>,
    in_child: Option<ForkHandler>,
    library: *mut c_void,
) -> c_int {
    type Handler = Option<ForkHandler>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    let Some(next) = crate::jumps::of_c_library(c"__register_atfork") else {
        // A C library without it has this one, which no library replaces.
        // SAFETY: the caller's promise.
        return unsafe { libc::pthread_atfork(before, in_parent, in_child) };
    };
    // SAFETY: the C library's function of this name has this type.
    unsafe { transmute::<usize, Register>(next)(before, in_parent, in_child, library) }
}

/// Exports liburing's functions, as [`crate::rings`] prepares them: a program that is linked with it keeps lent memory.
#[macro_export]
macro_rules! replace_ring_calls {
    ($calls:path) => {
        $crate::replace_ring_calls!(@each $calls,
            io_uring_submit, Submits;
            io_uring_submit_and_wait, Submits;
            io_uring_submit_and_wait_timeout, Submits;
            io_uring_submit_and_wait_min_timeout, Submits;
            io_uring_submit_and_wait_reg, Submits;
            io_uring_submit_and_get_events, Submits;
            io_uring_wait_cqes, Submits;
            io_uring_wait_cqes_min_timeout, Submits;
            io_uring_wait_cqe_timeout, Submits;
            io_uring_register, Any;
            io_uring_register_buffers, Registers(1, 2);
            io_uring_register_buffers_tags, Registers(1, 3);
            io_uring_register_buffers_update_tag, Registers(2, 4);
            io_uring_register_buf_ring, RingOfBuffers;
            io_uring_queue_init_mem, Places(3, 4);
            io_uring_queue_init, Makes;
            io_uring_queue_init_params, Makes;
            io_uring_setup, Makes;
        );
    };
    (@each $calls:path, $($name:ident, $kind:ident $(($start:expr, $bytes:expr))?;)*) => {$(
        // SAFETY: replaces the function of liburing of this name, which reads as many of these arguments as it has.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
            type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize;
            static NEXT: $crate::next::Next = $crate::next::Next::named(concat!(stringify!($name), "\0"), false);
            let kind = $crate::rings::RingCall::$kind $(($start, $bytes))?;
            // SAFETY: by the contract of liburing's function, the arguments are its own.
            if let Err(error) = unsafe { $crate::rings::prepare(&$calls, kind, [a, b, c, d, e, f]) } {
                return $crate::rings::refused(error);
            }
            let _own = kind.makes_ring().then($crate::own::Own::calls);
            // SAFETY: the next function of this name has this type, and reads as many of the arguments as it has.
            unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, Function>(NEXT.get())(a, b, c, d, e, f) }
        }
    )*};
}

/// Exports the functions of the `malloc` family that align blocks. `$lend`, of alignment and bytes, has the large ones.
#[macro_export]
macro_rules! replace_aligned_malloc {
    ($lend:path) => {
        $crate::replace_aligned_malloc!(@each $lend,
            memalign(a, b): (a, b);
            aligned_alloc(a, b): (a, b);
            valloc(a, b): ($crate::call::PAGE_BYTES, a);
            pvalloc(a, b): ($crate::call::PAGE_BYTES, a);
        );

        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn posix_memalign(place: *mut *mut ::std::ffi::c_void, alignment: usize, bytes: usize) -> ::std::ffi::c_int {
            type Function = unsafe extern "C" fn(*mut *mut ::std::ffi::c_void, usize, usize) -> ::std::ffi::c_int;
            static NEXT: $crate::next::Next = $crate::next::Next::new(c"posix_memalign");
            let is_right = alignment.is_multiple_of(size_of::<usize>());
            // SAFETY: the caller's promise; the next function of this name has this type.
            unsafe {
                match $lend(alignment, bytes).filter(|_| is_right) {
                    Some(memory) => place.write(memory),
                    None => return ::std::mem::transmute::<*mut ::std::ffi::c_void, Function>(NEXT.get())(place, alignment, bytes),
                }
            }
            0
        }

        $crate::jumps!(ALIGNED_JUMPS, false: memalign, aligned_alloc, valloc, pvalloc, posix_memalign);
    };
    (@each $lend:path, $($name:ident($a:ident, $b:ident): ($alignment:expr, $bytes:expr);)*) => {$(
        // SAFETY: replaces the function of the C library of this name, which reads as many of these arguments as it has.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($a: usize, $b: usize) -> *mut ::std::ffi::c_void {
            type Function = unsafe extern "C" fn(usize, usize) -> *mut ::std::ffi::c_void;
            static NEXT: $crate::next::Next = $crate::next::Next::named(concat!(stringify!($name), "\0"), false);
            // SAFETY: the next function of this name has this type.
            $lend($alignment, $bytes).unwrap_or_else(|| unsafe {
                ::std::mem::transmute::<*mut ::std::ffi::c_void, Function>(NEXT.get())($a, $b)
            })
        }
    )*};
}

/// Exports the C library's functions on memory, as a `static` that implements [`crate::MemoryCalls`] answers them.
///
/// `all` exports every one of them, `advice` only those that give memory back, protect or fork, for a library that replaces `malloc`
/// and leaves its program's own mappings alone.
///
/// What glibc calls inside itself does not pass here. The lists of [`crate::jumps::Jump`]s that it makes are for [`crate::dispatch::begin`].
#[macro_export]
macro_rules! replace_memory_calls {
    (all $calls:path) => {
        $crate::replace_memory_calls!(advice $calls);
        $crate::replace_memory_calls!(@simple $calls,
            munmap, libc::SYS_munmap, (start: usize, bytes: usize);
            mprotect, libc::SYS_mprotect, (start: usize, bytes: usize, access: usize);
            pkey_mprotect, libc::SYS_pkey_mprotect, (start: usize, bytes: usize, access: usize, key: usize);
            mlock, libc::SYS_mlock, (start: usize, bytes: usize);
            mlock2, libc::SYS_mlock2, (start: usize, bytes: usize, flags: usize);
            mlockall, libc::SYS_mlockall, (flags: usize);
            mseal, libc::SYS_mseal, (start: usize, bytes: usize, flags: usize);
            remap_file_pages, libc::SYS_remap_file_pages, (start: usize, bytes: usize, access: usize, page: usize, flags: usize);
        );
        $crate::replace_memory_calls!(@references $calls,
            vmsplice, libc::SYS_vmsplice;
            send, libc::SYS_sendto;
            sendto, libc::SYS_sendto;
            sendmsg, libc::SYS_sendmsg;
            sendmmsg, libc::SYS_sendmmsg;
            ioctl, libc::SYS_ioctl;
            shmat, libc::SYS_shmat;
            setsockopt, libc::SYS_setsockopt;
        );
        $crate::replace_memory_calls!(@address $calls,
            mmap, libc::SYS_mmap, (start: usize, bytes: usize, access: usize, flags: usize, file: usize, offset: usize);
            mmap64, libc::SYS_mmap, (start: usize, bytes: usize, access: usize, flags: usize, file: usize, offset: usize);
        );
        $crate::jumps!(
            MEMORY_JUMPS, false: munmap, mprotect, pkey_mprotect, mlock, mlock2, mlockall, mseal, remap_file_pages, vmsplice, send,
            sendto, sendmsg, sendmmsg, ioctl, shmat, setsockopt, mmap, mmap64,
        );
    };
    (advice $calls:path) => {
        $crate::replace_memory_calls!(@simple $calls,
            madvise, libc::SYS_madvise, (start: usize, bytes: usize, advice: usize);
        );
        $crate::replace_memory_calls!(@address $calls,
            mremap, libc::SYS_mremap, (start: usize, bytes: usize, new_bytes: usize, flags: usize, target: usize);
        );
        $crate::replace_memory_calls!(@forks $calls);
        #[cfg(target_arch = "x86_64")]
        $crate::replace_memory_calls!(@dispatch);
        #[cfg(target_arch = "x86_64")]
        $crate::replace_memory_calls!(@syscall $calls);
        $crate::jumps!(DISPATCH_JUMPS, true: sigaction, sigprocmask, pthread_sigmask, pthread_create);
        $crate::jumps!(ADVICE_JUMPS, false: madvise, mremap, fork, _Fork, clone, syscall, process_madvise);

        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn process_madvise(process: usize, ranges: usize, count: usize, advice: usize, flags: usize) -> isize {
            let call = $crate::Call::new(libc::SYS_process_madvise, [process, ranges, count, advice, flags]);
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::process_madvise(&$calls, &call) }
        }
    };
    (@simple $calls:path, $($name:ident, $number:expr, ($($argument:ident: $type:ty),*);)*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> ::std::ffi::c_int {
            let call = $crate::Call::new($number, [$($argument),*]);
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::answer(&$calls, &call) as ::std::ffi::c_int }
        }
    )*};
    (@address $calls:path, $($name:ident, $number:expr, ($($argument:ident: $type:ty),*);)*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> isize {
            let call = $crate::Call::new($number, [$($argument),*]);
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::answer(&$calls, &call) }
        }
    )*};
    (@references $calls:path, $($name:ident, $number:expr;)*) => {$(
        // SAFETY: replaces the function of the C library of this name, which reads as many of these arguments as it has.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
            type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize;
            static NEXT: $crate::next::Next = $crate::next::Next::named(concat!(stringify!($name), "\0"), true);
            let call = $crate::Call::new($number, [a, b, c, d, e, f]);
            // SAFETY: the next function of this name has this contract, too, and the program may call it so.
            unsafe { $crate::references::call_next(&$calls, &call, ::std::mem::transmute::<*mut ::std::ffi::c_void, Function>(NEXT.get())) }
        }
    )*};
    (@forks $calls:path) => {
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn fork() -> libc::pid_t {
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::fork(&$calls) }
        }

        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn _Fork() -> libc::pid_t {
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::bare_fork(&$calls) }
        }

        // SAFETY: replaces the function of the C library of this name, with the same contract: the last three are read only if asked for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn clone(
            function: extern "C" fn(*mut ::std::ffi::c_void) -> ::std::ffi::c_int,
            stack: *mut ::std::ffi::c_void,
            flags: ::std::ffi::c_int,
            argument: *mut ::std::ffi::c_void,
            parent: *mut libc::pid_t,
            area: *mut ::std::ffi::c_void,
            child: *mut libc::pid_t,
        ) -> ::std::ffi::c_int {
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::clone(&$calls, function, stack, flags, argument, parent, area, child) }
        }

        /// Forks that the C library makes by itself.
        static FORK_HANDLERS: $crate::export::ForkHandlers = {
            unsafe extern "C" fn before() {
                // It cannot be refused here: the child gets a hole, and ends if it touches that.
                let _ = $crate::entry::before_fork(&$calls);
            }
            unsafe extern "C" fn in_parent() {
                $crate::entry::after_fork(&$calls, false);
            }
            unsafe extern "C" fn in_child() {
                $crate::entry::after_fork(&$calls, true);
            }
            $crate::export::ForkHandlers::new(before, in_parent, in_child)
        };

        #[used]
        #[unsafe(link_section = ".init_array")]
        static REGISTER_FORK_HANDLERS: extern "C" fn() = {
            extern "C" fn register() {
                FORK_HANDLERS.register();
            }
            register
        };

        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[cfg(target_env = "gnu")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn __register_atfork(
            before: Option<$crate::export::ForkHandler>,
            in_parent: Option<$crate::export::ForkHandler>,
            in_child: Option<$crate::export::ForkHandler>,
            library: *mut ::std::ffi::c_void,
        ) -> ::std::ffi::c_int {
            FORK_HANDLERS.register();
            // SAFETY: the caller's promise.
            unsafe { $crate::export::register_fork_handlers(before, in_parent, in_child, library) }
        }
    };
    (@dispatch) => {
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn sigaction(signal: ::std::ffi::c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> ::std::ffi::c_int {
            // SAFETY: the caller's promise.
            unsafe { $crate::dispatch::act_on(signal, new, old) }
        }
        $crate::replace_memory_calls!(@masks sigprocmask, pthread_sigmask);

        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn pthread_create() {
            ::std::arch::naked_asm!("mov r8, [rsp]", "jmp {create}", create = sym $crate::dispatch::create)
        }
    };
    (@masks $($name:ident),*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(how: ::std::ffi::c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> ::std::ffi::c_int {
            static NEXT: $crate::next::Next = $crate::next::Next::named(concat!(stringify!($name), "\0"), true);
            // SAFETY: the caller's promise.
            unsafe { $crate::dispatch::set_mask(&NEXT, how, new, old) }
        }
    )*};
    (@syscall $calls:path) => {
        /// Leaves no frame of its own where the system call is not on memory: one that returns twice on one stack must find it as it was.
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn syscall() {
            ::std::arch::naked_asm!(
                "cmp rdi, 511; ja 2f; lea rax, [rip + {memory_calls}]; bt [rax], rdi; jnc 2f",
                // clone(flags, stack, ..)
                "cmp rdi, {clone}; jne 3f; test esi, {shares_memory}; jnz 2f; test rdx, rdx; jnz 2f; jmp {on_memory}",
                // clone3(arguments, bytes)
                "3: cmp rdi, {clone3}; jne {on_memory}; test rsi, rsi; jz 2f",
                "test dword ptr [rsi], {shares_memory}; jnz 2f; cmp qword ptr [rsi + 40], 0; je {on_memory}",
                "2: jmp [rip + {original}]",
                memory_calls = sym $crate::export::IS_MEMORY_CALL,
                clone = const libc::SYS_clone,
                clone3 = const libc::SYS_clone3,
                shares_memory = const libc::CLONE_VM,
                on_memory = sym syscall_on_memory,
                original = sym $crate::kernel::SYSCALL,
            )
        }

        unsafe extern "C" fn syscall_on_memory(
            number: ::std::ffi::c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
        ) -> ::std::ffi::c_long {
            // SAFETY: the caller's promise.
            unsafe { $crate::entry::syscall(&$calls, number, [a, b, c, d, e, f]) }
        }
    };
}
