//! Calls after which the kernel refers to pages by itself: what is lent of them becomes plain first, since pages that move, or are cleared
//! where they lie, would be other bytes to the kernel than to the program.

use std::ffi::{c_int, c_long};
use std::mem::MaybeUninit;

use crate::call::{Call, has};
use crate::kernel::{self, Answer};
use crate::memory_calls::MemoryCalls;
use crate::own::Own;

const REGISTER_BUFFERS: usize = 0;
const REGISTER_BUFFERS2: usize = 15;
const UPDATE_BUFFERS: usize = 16;
/// `UFFDIO_REGISTER`: the program answers faults by itself.
const ANSWER_FAULTS: usize = 0xc020_aa00;

/// `UFFDIO_MOVE`: pages leave their place.
const MOVE_PAGES: usize = 0xc028_aa05;

/// `SOL_XDP` and `XDP_UMEM_REG` of linux/if_xdp.h: packets are read and written there.
const UMEM: (usize, usize) = (283, 4);

/// Before `call`, if it is one of these.
///
/// # Errors
/// The error number that it fails with.
///
/// # Safety
/// As the call itself.
pub unsafe fn prepare(calls: &dyn MemoryCalls, call: &Call) -> Result<(), i32> {
    let [_, second, third, fourth, ..] = call.arguments;
    let zero_copy = |flags| has(flags, libc::MSG_ZEROCOPY);
    match call.number {
        libc::SYS_vmsplice => vectors(calls, second, third),
        libc::SYS_sendto if zero_copy(fourth) => one(calls, second, third),
        libc::SYS_sendmsg if zero_copy(third) => message(calls, second),
        libc::SYS_sendmmsg if zero_copy(fourth) => {
            let places = (0..third).map(|index| second + index * size_of::<libc::mmsghdr>());
            places
                .into_iter()
                .try_for_each(|place| message(calls, place))
        }
        libc::SYS_io_uring_register => match second {
            REGISTER_BUFFERS => vectors(calls, third, fourth),
            REGISTER_BUFFERS2 | UPDATE_BUFFERS => resources(calls, third),
            _ => Ok(()),
        },
        libc::SYS_setsockopt if (second, third) == UMEM => {
            read::<[usize; 2]>(fourth).map_or(Ok(()), |[start, bytes]| one(calls, start, bytes))
        }
        // It takes the place of what is there, as large as it is.
        libc::SYS_shmat if second != 0 && has(third, libc::SHM_REMAP) => {
            one(calls, second, segment_bytes(call.arguments[0] as c_int))
        }
        // The kernel writes there when the thread ends, and does not wait for pages then.
        libc::SYS_set_tid_address => one(calls, call.arguments[0], size_of::<libc::pid_t>()),
        libc::SYS_ioctl if second as u32 as usize == ANSWER_FAULTS => read::<[u64; 2]>(third)
            .map_or(Ok(()), |[start, bytes]| {
                one(calls, start as usize, bytes as usize)
            }),
        // This library moves pages, too.
        libc::SYS_ioctl if second as u32 as usize == MOVE_PAGES && !Own::is_calling() => {
            read::<[usize; 3]>(third).map_or(Ok(()), |[_, from, bytes]| one(calls, from, bytes))
        }
        _ => Ok(()),
    }
}

/// Whether calls of this number are nothing but these: their arguments are not a range.
pub fn is_known(number: c_long) -> bool {
    matches!(
        number,
        libc::SYS_vmsplice
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendmmsg
            | libc::SYS_io_uring_register
            | libc::SYS_setsockopt
            | libc::SYS_shmat
            | libc::SYS_set_tid_address
            | libc::SYS_ioctl
    )
}

/// Bytes of a segment of shared memory; all that can be where it cannot be read.
fn segment_bytes(segment: c_int) -> usize {
    let mut about = MaybeUninit::<libc::shmid_ds>::uninit();
    // SAFETY: the kernel fills the structure, or says that it did not.
    let about = unsafe {
        match libc::shmctl(segment, libc::IPC_STAT, about.as_mut_ptr()) {
            0 => Some(about.assume_init()),
            _ => None,
        }
    };
    about.map_or(usize::MAX, |about| about.shm_segsz)
}

pub(crate) fn one(calls: &dyn MemoryCalls, start: usize, bytes: usize) -> Result<(), i32> {
    calls.make_plain(start..start.saturating_add(bytes))
}

pub(crate) fn vectors(calls: &dyn MemoryCalls, start: usize, count: usize) -> Result<(), i32> {
    let places = (0..count).map(|index| start.wrapping_add(index * size_of::<libc::iovec>()));
    for [start, bytes] in places.map_while(read::<[usize; 2]>) {
        one(calls, start, bytes)?;
    }
    Ok(())
}

pub(crate) fn message(calls: &dyn MemoryCalls, place: usize) -> Result<(), i32> {
    // As `msghdr` has it: the address of its vectors is the third word, their count the fourth.
    read::<[usize; 4]>(place).map_or(Ok(()), |[_, _, start, count]| vectors(calls, start, count))
}

fn resources(calls: &dyn MemoryCalls, place: usize) -> Result<(), i32> {
    // `io_uring_rsrc_register` and `io_uring_rsrc_update2`: the data is the third word. Their counts are at different places.
    let counts = read::<[u32; 8]>(place);
    let count = counts.map_or(0, |words| words[0].max(words[6]) as usize);
    read::<[usize; 3]>(place).map_or(Ok(()), |[_, _, start]| vectors(calls, start, count))
}

/// Numbers that a program has at an address; none where it has no memory: the kernel says so then.
pub fn read<T: Copy>(place: usize) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let here = libc::iovec {
        iov_base: value.as_mut_ptr().cast(),
        iov_len: size_of::<T>(),
    };
    let there = [place, size_of::<T>()];
    // SAFETY: returns a number.
    let own = unsafe { libc::getpid() } as usize;
    let (to, from) = (&raw const here, &raw const there);
    let arguments = [own, to.addr(), 1, from.addr(), 1, 0];
    // SAFETY: the kernel writes as many bytes as the value has, or fails.
    let answer = unsafe { kernel::perform(libc::SYS_process_vm_readv, arguments) };
    if answer == -(libc::EFAULT as Answer) || place == 0 {
        return None;
    }
    if answer != size_of::<T>() as Answer {
        // The process may not look at itself.
        // SAFETY: by the contract of `prepare`, the program gives an address that can be read.
        return Some(unsafe { std::ptr::with_exposed_provenance::<T>(place).read_unaligned() });
    }
    // SAFETY: all of it was written; only numbers are read.
    Some(unsafe { value.assume_init() })
}

/// The C library's function, after [`prepare`].
///
/// # Errors
/// As `errno`, with -1.
///
/// # Safety
/// As the function itself.
pub unsafe fn call_next(
    calls: &dyn MemoryCalls,
    call: &Call,
    next: unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize,
) -> isize {
    // SAFETY: the program makes this call, so that what its arguments name can be read.
    if let Err(error) = unsafe { prepare(calls, call) } {
        return kernel::for_c(-(error as c_int as Answer));
    }
    let [a, b, c, d, e, f] = call.arguments;
    // SAFETY: the function takes as many of the arguments as it has; the others are in registers that it does not read.
    unsafe { next(a, b, c, d, e, f) }
}
