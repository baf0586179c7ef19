//! Where the allocator's memory comes from. Called from inside of `malloc`: nothing here allocates.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use libmimalloc_sys::mi_zalloc;
use pagemill_linux::channel::fetch_descriptor;
use pagemill_linux::color_module;
use pagemill_mapping::kernel;

/// Names the socket that hands the space of this task out.
const TASK_VARIABLE: &CStr = c"PAGEMILL_COLOR_TASK";
/// Set when there is no colored memory, so that children do not tell it again.
const PLAIN_VARIABLE: &CStr = c"PAGEMILL_COLOR_PLAIN";

/// Programs count on low numbers, and pass some of them on.
const LEAST_DESCRIPTOR: c_int = 800;

unsafe extern "C" {
    fn __real_mmap(
        start: *mut c_void,
        bytes: usize,
        access: c_int,
        flags: c_int,
        file: c_int,
        offset: libc::off_t,
    ) -> *mut c_void;
    fn mi_option_set(option: c_int, value: c_long);
}

/// `mi_option_purge_delay` of mimalloc 2: how long free memory is kept before it goes back, in milliseconds.
const PURGE_DELAY: c_int = 15;
/// As mimalloc 3 has it. With the 10 ms of mimalloc 2, programs that free and take large blocks in turn spend their time on page faults.
const PURGE_DELAY_MS: c_long = 1000;

const NOT_LOOKED_FOR: c_int = -1;
const NONE: c_int = -2;

/// The space of this process: its descriptor, or why there is none.
static SPACE: AtomicI32 = AtomicI32::new(NOT_LOOKED_FOR);
/// What the descriptor was opened for, as [`identity`] has it: programs close numbers that they do not know, and use them again.
static IDENTITY: AtomicU64 = AtomicU64::new(0);

// SAFETY: the linker leads the allocator's calls of `mmap` here; same contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_mmap(
    start: *mut c_void,
    bytes: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    const NOT_PLAIN: c_int = libc::MAP_HUGETLB | libc::MAP_FIXED;
    // The allocator's flag for all that it maps; to a program of the C library, memory that the computer lacks is refused.
    let flags = flags & !libc::MAP_NORESERVE;
    if flags & libc::MAP_ANONYMOUS != 0
        && flags & NOT_PLAIN == 0
        && kernel::would_map(bytes, flags)
        && let Some(space) = space()
    {
        let flags = mapping_flags(space);
        // SAFETY: without MAP_FIXED the kernel chooses free addresses.
        let memory = unsafe { __real_mmap(start, bytes, access, flags, space, 0) };
        if memory != libc::MAP_FAILED {
            return memory;
        }
    }
    // SAFETY: the allocator maps for itself: without `MAP_FIXED`, or over a range that it reserved.
    unsafe { __real_mmap(start, bytes, access, flags, file, offset) }
}

// SAFETY: the linker leads the allocator's calls of `madvise` here; same contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    let gives_back = matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE);
    if gives_back && release(start.addr(), bytes) {
        return 0;
    }
    // SAFETY: the allocator owns the range, and reads nothing there before it writes. On memory of a space it does nothing.
    kernel::for_c(unsafe { kernel::advise(start.expose_provenance(), bytes, advice) }) as c_int
}

/// Makes whole pages of the space read as zero, and gives their frames back. Not if there is no space, or they are not all of it.
pub fn release(start: usize, bytes: usize) -> bool {
    known_space().is_some_and(|space| color_module::release(borrowed(space), start, bytes).is_ok())
}

/// The module's memory is private by nature, and says so by being mapped shared; a file that stands in for it is not.
fn mapping_flags(space: RawFd) -> c_int {
    match status(space) {
        Some(status) if status.st_mode & libc::S_IFMT == libc::S_IFCHR => libc::MAP_SHARED,
        _ => libc::MAP_PRIVATE | libc::MAP_NORESERVE,
    }
}

/// The space, looked for if that was not done yet, and asked for again if the program has closed it.
fn space() -> Option<RawFd> {
    match SPACE.load(Ordering::Acquire) {
        NONE => None,
        NOT_LOOKED_FOR => look(),
        found if identity(found) == IDENTITY.load(Ordering::Relaxed) => Some(found),
        _ => look(),
    }
}

/// The space, if there is one already.
fn known_space() -> Option<RawFd> {
    let found = SPACE.load(Ordering::Acquire);
    (found >= 0 && identity(found) == IDENTITY.load(Ordering::Relaxed)).then_some(found)
}

fn look() -> Option<RawFd> {
    let found = variable(TASK_VARIABLE).map_or_else(
        || color_module::open_raw().map_err(|error| (color_module::DEVICE, error)),
        |task| fetch_descriptor(task).map_err(|error| ("the task's socket", error)),
    );
    match found {
        Ok(space) => {
            let space = keep(space);
            IDENTITY.store(identity(space), Ordering::Relaxed);
            SPACE.store(space, Ordering::Release);
            Some(space)
        }
        Err((where_from, error)) => {
            let was_known = SPACE.swap(NONE, Ordering::AcqRel) == NONE;
            if !was_known && variable(PLAIN_VARIABLE).is_none() {
                warn(where_from, error.raw_os_error());
            }
            None
        }
    }
}

/// Under a high number, for as long as the process lives.
fn keep(space: OwnedFd) -> RawFd {
    let low = space.as_raw_fd();
    // SAFETY: makes another number for an open file.
    let high = unsafe { libc::fcntl(low, libc::F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR) };
    if high >= 0 {
        return high;
    }
    std::mem::forget(space);
    low
}

fn status(file: RawFd) -> Option<libc::stat> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the structure, or says that it did not.
    unsafe { (libc::fstat(file, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }
}

/// Identifies a file; 0 for none.
fn identity(file: RawFd) -> u64 {
    status(file).map_or(0, |status| {
        status.st_ino.rotate_left(32) ^ status.st_dev ^ status.st_rdev.rotate_left(16) | 1 << 63
    })
}

fn borrowed<'fd>(file: RawFd) -> BorrowedFd<'fd> {
    // SAFETY: `known_space` found that this number is still the space's, which is never closed here.
    unsafe { BorrowedFd::borrow_raw(file) }
}

/// A variable of the environment that is set and not empty.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero byte; what is returned is a string of the environment, or null.
    let text = unsafe {
        let text = libc::getenv(name.as_ptr());
        if text.is_null() {
            return None;
        }
        CStr::from_ptr(text)
    };
    (!text.is_empty()).then_some(text)
}

/// Says once that this program, and what it starts, has plain memory.
fn warn(where_from: &str, errno: c_int) {
    let mut number = [b'0'; 4];
    for (place, digit) in number.iter_mut().rev().enumerate() {
        *digit += (errno / 10_i32.pow(place as u32) % 10) as u8;
    }
    let digits = number.iter().position(|digit| *digit != b'0').unwrap_or(3);
    let parts: [&[u8]; 5] = [
        b"pagemill: no colored memory (",
        where_from.as_bytes(),
        b": error ",
        &number[digits..],
        b"): plain memory is used; `pagemill doctor` says what is missing\n",
    ];
    let parts = parts.map(|part| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    });
    // SAFETY: the parts outlive the call, which only reads them. A closed standard error leaves no place for a message.
    let _ = unsafe { libc::writev(2, parts.as_ptr(), parts.len() as c_int) };
}

/// Once the program's environment is in place: sets the allocator up, and leaves children a note of what is missing. Not by `setenv`, which shells have of their own.
#[used]
#[unsafe(link_section = ".init_array")]
static SET_UP: extern "C" fn() = {
    extern "C" fn set_up() {
        if variable(c"MIMALLOC_PURGE_DELAY").is_none() {
            // SAFETY: there is such an option, and one thread yet.
            unsafe { mi_option_set(PURGE_DELAY, PURGE_DELAY_MS) };
        }
        if space().is_none() && variable(PLAIN_VARIABLE).is_none() {
            // SAFETY: there is one thread yet, and the program's `main` has not seen its environment.
            unsafe { add_to_environment(c"PAGEMILL_COLOR_PLAIN=1") };
        }
    }
    set_up
};

/// # Safety
/// No other thread uses the environment meanwhile, or has kept its address.
unsafe fn add_to_environment(setting: &CStr) {
    // SAFETY: the environment is null, or ends with a null pointer; what is copied fits what was asked for.
    unsafe {
        let old = libc::environ;
        let mut count = 0;
        while !old.is_null() && !(*old.add(count)).is_null() {
            count += 1;
        }
        let new: *mut *mut c_char = mi_zalloc((count + 2) * size_of::<*mut c_char>()).cast();
        // Programs write to these strings.
        let own: *mut c_char = mi_zalloc(setting.count_bytes() + 1).cast();
        if new.is_null() || own.is_null() {
            return;
        }
        ptr::copy_nonoverlapping(setting.as_ptr(), own, setting.count_bytes());
        if count > 0 {
            ptr::copy_nonoverlapping(old, new, count);
        }
        new.add(count).write(own);
        libc::environ = new;
    }
}
