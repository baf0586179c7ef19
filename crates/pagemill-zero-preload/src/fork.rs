//! What `fork` promises: the child has its own copy of private memory. Memory of the pool is shared, so the child copies it before it
//! goes on, and the parent waits so long.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::next;
use crate::pool::with_blocks;

/// A pipe that the child closes when it has copied; -1 where there is nothing to copy.
static READ_END: AtomicI32 = AtomicI32::new(-1);
static WRITE_END: AtomicI32 = AtomicI32::new(-1);

/// Registers the handlers when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = {
    extern "C" fn register() {
        // SAFETY: the handlers live as long as the process, and take no arguments.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    }
    register
};

// SAFETY: called by `fork`, on the thread that forks.
unsafe extern "C" fn before() {
    let has_blocks = with_blocks(|blocks| !blocks.all().is_empty()).unwrap_or(false);
    let mut ends: [c_int; 2] = [-1; 2];
    if has_blocks {
        // SAFETY: the kernel writes two descriptors.
        let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
        if made != 0 {
            ends = [-1; 2];
        }
    }
    READ_END.store(ends[0], Ordering::Relaxed);
    WRITE_END.store(ends[1], Ordering::Relaxed);
}

// SAFETY: called by `fork`, on the thread that forked.
unsafe extern "C" fn in_parent() {
    close(&WRITE_END);
    let read_end = READ_END.load(Ordering::Relaxed);
    if read_end >= 0 {
        wait_for_end(read_end);
    }
    close(&READ_END);
}

/// Waits until the other end is closed.
fn wait_for_end(descriptor: c_int) {
    let mut byte = 0_u8;
    loop {
        // SAFETY: writes at most one byte to a live local.
        let count = unsafe { libc::read(descriptor, (&raw mut byte).cast(), 1) };
        let was_interrupted =
            count < 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if !was_interrupted {
            return;
        }
    }
}

// SAFETY: called by `fork`, on the only thread of the child.
unsafe extern "C" fn in_child() {
    close(&READ_END);
    with_blocks(|blocks| {
        for (address, bytes) in blocks.all() {
            make_private(address, bytes);
        }
        blocks.disown();
    });
    close(&WRITE_END);
}

/// Puts a copy in the place of shared memory.
fn make_private(address: usize, bytes: usize) {
    let shared: *mut c_void = ptr::with_exposed_provenance_mut(address);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the copy is made in fresh memory and moved over the block, which nobody else of this process unmaps: its
    // only thread is here.
    unsafe {
        let copy = next::mmap(ptr::null_mut(), bytes, access, flags, -1, 0);
        if copy == libc::MAP_FAILED {
            const MESSAGE: &[u8] =
                b"pagemill: a forked child has no memory for its copy of pool memory\n";
            libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::abort();
        }
        ptr::copy_nonoverlapping(shared.cast::<u8>(), copy.cast::<u8>(), bytes);
        next::munmap(shared, bytes);
        libc::mremap(
            copy,
            bytes,
            bytes,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            shared,
        );
    }
}

fn close(end: &AtomicI32) {
    let descriptor = end.swap(-1, Ordering::Relaxed);
    if descriptor >= 0 {
        // SAFETY: the descriptor is ours, and forgotten here.
        unsafe { libc::close(descriptor) };
    }
}
