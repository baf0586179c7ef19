//! `/proc/PID/mem` and `ptrace` of paged memory. The kernel does not wait for handlers there and fails with `EIO`, but for
//! `process_vm_readv` it does: pages are brought in by that, and the call is made again.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::os::unix::ffi::OsStrExt;
use std::{fs, ptr};

use pagemill_mapping::kernel::{self, Answer, for_c, has_failed};
use pagemill_mapping::next::Next;

use crate::paged::{become_plain, pager};

const PAGE_BYTES: usize = 4096;

/// A page may be away again when the call is made: other threads fault, too.
const TRIES: u32 = 100;

/// What a call that reads or writes a file returned, and what it was asked for.
struct Attempt {
    number: c_long,
    file: c_int,
    buffer: usize,
    bytes: usize,
    /// None for a call at the file's own position.
    offset: Option<usize>,
}

impl Attempt {
    /// What the call returns after `done` bytes, or `EIO`, of the kernel's.
    fn finish(&self, done: isize) -> isize {
        let is_short = (0..self.bytes as isize).contains(&done) && done > 0;
        if pager().is_none() || !(is_short || done < 0 && errno() == libc::EIO) {
            return done;
        }
        let before = errno();
        let done = self.go_on(done).unwrap_or(done);
        set_errno(before);
        done
    }

    fn go_on(&self, done: isize) -> Option<isize> {
        let mut done = done.max(0) as usize;
        // SAFETY: a file without positions refuses.
        let position = || unsafe { libc::lseek(self.file, 0, libc::SEEK_CUR) };
        let first = self
            .offset
            .or_else(|| (position() as usize).checked_sub(done))?;
        if done > 0 && !(first + done).is_multiple_of(PAGE_BYTES) {
            return None;
        }
        let process = process_of(self.file)?;
        while done < self.bytes {
            let at = first + done;
            let bytes = (PAGE_BYTES - at % PAGE_BYTES).min(self.bytes - done);
            let arguments = [self.file as usize, self.buffer + done, bytes, at, 0, 0];
            // SAFETY: the program gave this part of its buffer to a call that reads or writes the same.
            let moved = retry(process, at, || unsafe {
                kernel::perform(self.number, arguments)
            });
            if has_failed(moved) || moved == 0 {
                break;
            }
            done += moved as usize;
        }
        if self.offset.is_none() {
            // SAFETY: the file has positions.
            unsafe { libc::lseek(self.file, (first + done) as libc::off_t, libc::SEEK_SET) };
        }
        (done > 0).then_some(done as isize)
    }
}

/// Makes a call until it no longer fails with `EIO`, or the page at `address` of the process cannot be brought in.
fn retry(process: libc::pid_t, address: usize, mut call: impl FnMut() -> Answer) -> Answer {
    let mut answer = call();
    for _ in 0..TRIES {
        if answer != -(libc::EIO as Answer) || !bring_in(process, address) {
            break;
        }
        answer = call();
    }
    answer
}

/// Reads a byte of a process by the call that waits for handlers.
fn bring_in(process: libc::pid_t, address: usize) -> bool {
    let mut byte = 0_u8;
    let here = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let there = libc::iovec {
        iov_base: ptr::without_provenance_mut(address),
        iov_len: 1,
    };
    // SAFETY: the kernel writes one byte, or refuses.
    unsafe { libc::process_vm_readv(process, &raw const here, 1, &raw const there, 1, 0) == 1 }
}

/// The process whose memory a file is, if threads of its pager can answer.
fn process_of(file: c_int) -> Option<libc::pid_t> {
    let target = fs::read_link(format!("/proc/self/fd/{file}")).ok()?;
    let name = target.as_os_str().as_bytes();
    let name = str::from_utf8(name.strip_prefix(b"/proc/")?.strip_suffix(b"/mem")?).ok()?;
    can_answer(name.split('/').next()?.parse().ok()?)
}

macro_rules! streams {
    ($($name:ident = $symbol:literal;)*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut c_void {
            type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
            static NEXT: Next = Next::new($symbol);
            // SAFETY: a function of this name has this type, and the program makes this call.
            let stream = unsafe { std::mem::transmute::<*mut c_void, Open>(NEXT.get())(path, mode) };
            become_plain_for(stream);
            stream
        }
    )*};
}

streams!(
    fopen = c"fopen";
    fopen64 = c"fopen64";
);

// SAFETY: replaces the function of the C library of this name, with the same contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdopen(file: c_int, mode: *const c_char) -> *mut c_void {
    type Open = unsafe extern "C" fn(c_int, *const c_char) -> *mut c_void;
    static NEXT: Next = Next::new(c"fdopen");
    // SAFETY: a function of this name has this type, and the program makes this call.
    let stream = unsafe { std::mem::transmute::<*mut c_void, Open>(NEXT.get())(file, mode) };
    become_plain_for(stream);
    stream
}

/// Streams read past this library: one of this process's own memory would fail where pages are away.
fn become_plain_for(stream: *mut c_void) {
    if stream.is_null() || pager().is_none() {
        return;
    }
    // SAFETY: the stream that the C library has just opened.
    let file = unsafe { libc::fileno(stream.cast()) };
    // SAFETY: returns a number.
    if process_of(file) == Some(unsafe { libc::getpid() }) {
        // Where it cannot be, reads fail as before.
        let _ = become_plain("a process with a stream of its own memory");
    }
}

/// A tracer may have stopped the threads that answer: who waited for them would wait forever.
fn can_answer(process: libc::pid_t) -> Option<libc::pid_t> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let mut stats = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    let runs = |stat: &str| {
        stat.contains("(pagemill-pager") && !stat.contains(") t ") && !stat.contains(") T ")
    };
    stats.any(|stat| runs(&stat)).then_some(process)
}

fn errno() -> c_int {
    // SAFETY: the address of this thread's error number.
    unsafe { *libc::__errno_location() }
}

fn set_errno(number: c_int) {
    // SAFETY: the address of this thread's error number.
    unsafe { *libc::__errno_location() = number }
}

type Function = unsafe extern "C" fn(usize, usize, usize, usize) -> isize;

/// The C library's function of this name.
fn next(next: &Next) -> Function {
    // SAFETY: functions that read and write files take up to four numbers and addresses.
    unsafe { std::mem::transmute::<*mut c_void, Function>(next.get()) }
}

macro_rules! files {
    ($($name:ident = $symbol:literal, $number:ident, $is_at:literal, $then:path;)*) => {$(
        // SAFETY: replaces the function of the C library of this name, with the same contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(file: usize, buffer: usize, bytes: usize, offset: usize) -> isize {
            static NEXT: Next = Next::new($symbol);
            // SAFETY: by the contract of the replaced function, these are arguments of the next one.
            let done = unsafe { next(&NEXT)(file, buffer, bytes, offset) };
            $then(libc::$number, [file, buffer, bytes, offset], $is_at, done)
        }
    )*};
}

files!(
    read = c"read", SYS_pread64, false, one;
    pread = c"pread", SYS_pread64, true, one;
    pread64 = c"pread64", SYS_pread64, true, one;
    write = c"write", SYS_pwrite64, false, one;
    pwrite = c"pwrite", SYS_pwrite64, true, one;
    pwrite64 = c"pwrite64", SYS_pwrite64, true, one;
    readv = c"readv", SYS_pread64, false, many;
    preadv = c"preadv", SYS_pread64, true, many;
    preadv64 = c"preadv64", SYS_pread64, true, many;
    writev = c"writev", SYS_pwrite64, false, many;
    pwritev = c"pwritev", SYS_pwrite64, true, many;
    pwritev64 = c"pwritev64", SYS_pwrite64, true, many;
);

fn one(
    number: c_long,
    [file, buffer, bytes, offset]: [usize; 4],
    is_at: bool,
    done: isize,
) -> isize {
    let offset = is_at.then_some(offset);
    let attempt = Attempt {
        number,
        file: file as c_int,
        buffer,
        bytes,
        offset,
    };
    attempt.finish(done)
}

/// The same for several parts: only what comes first of them, as the kernel may do it by itself.
fn many(
    number: c_long,
    [file, parts, count, offset]: [usize; 4],
    is_at: bool,
    done: isize,
) -> isize {
    if done >= 0 || errno() != libc::EIO || count == 0 {
        return done;
    }
    let parts: *const libc::iovec = ptr::with_exposed_provenance(parts);
    // SAFETY: the kernel has read this part: it failed later.
    let part = unsafe { parts.read() };
    one(
        number,
        [file, part.iov_base.addr(), part.iov_len, offset],
        is_at,
        done,
    )
}

// SAFETY: replaces the function of the C library of this name, whose further arguments are as wide.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(
    request: u32,
    process: libc::pid_t,
    address: usize,
    data: usize,
) -> c_long {
    type Ptrace = unsafe extern "C" fn(u32, libc::pid_t, usize, usize) -> c_long;
    static NEXT: Next = Next::new(c"ptrace");
    const PEEK: [u32; 2] = [libc::PTRACE_PEEKTEXT, libc::PTRACE_PEEKDATA];
    const POKE: [u32; 2] = [libc::PTRACE_POKETEXT, libc::PTRACE_POKEDATA];
    // SAFETY: a function of this name has this type, and the program makes this call.
    let call = || unsafe {
        std::mem::transmute::<*mut c_void, Ptrace>(NEXT.get())(request, process, address, data)
    };
    let answer = call();
    let is_read = PEEK.contains(&request);
    if answer != -1
        || errno() != libc::EIO
        || !(is_read || POKE.contains(&request))
        || can_answer(process).is_none()
    {
        return answer;
    }
    let mut word: c_long = 0;
    let place = match is_read {
        true => (&raw mut word).addr(),
        false => data,
    };
    let arguments = [request as usize, process as usize, address, place, 0, 0];
    // SAFETY: the kernel's own call writes a word that is read to its last argument.
    let answer = retry(process, address, || unsafe {
        kernel::perform(libc::SYS_ptrace, arguments)
    });
    match for_c(answer) {
        0 if is_read => {
            set_errno(0);
            word
        }
        answer => answer as c_long,
    }
}
