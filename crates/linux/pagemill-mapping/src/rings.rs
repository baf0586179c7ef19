//! liburing's functions by which a program has the kernel work on memory: it makes its system calls by instructions of its own, so that
//! they are seen here or nowhere. What is lent of that memory becomes plain first.
//!
//! `struct io_uring` has had its head since liburing 2.0: the entries that the next submission takes can be looked through.

use std::ffi::c_int;

use crate::call::Call;
use crate::memory_calls::MemoryCalls;
use crate::references;

/// What one of the functions does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingCall {
    /// It submits the entries that the ring of its first argument has.
    Submits,
    /// It registers buffers: the numbers of the arguments with their vectors and with the count of these.
    Registers(usize, usize),
    /// It gives the kernel a place for a ring: the numbers of the arguments with its start and its bytes.
    Places(usize, usize),
    /// It gives the kernel a ring of buffers, as the structure of its second argument has it.
    RingOfBuffers,
    /// `io_uring_register` itself.
    Any,
    /// It makes a ring, whose entries are looked through here.
    Makes,
}

impl RingCall {
    /// Whether the kernel's ring is made by it: memory may be lent all the same.
    pub fn makes_ring(self) -> bool {
        matches!(self, Self::Makes | Self::Places(..))
    }
}

const MADVISE: u8 = 25;
const SEND_ZERO_COPY: u8 = 47;
const SEND_MESSAGE_ZERO_COPY: u8 = 48;

/// `IORING_SETUP_SQE128`: entries are twice as large.
const LARGE_ENTRIES: u32 = 1 << 10;

/// Bytes of an entry, and of one of a ring of buffers.
const ENTRY_BYTES: usize = 64;
const BUFFER_BYTES: usize = 16;

/// Where `struct io_uring` has them, in bytes.
const MASK: usize = 16;
const ENTRIES: usize = 56;
const HEAD_AND_TAIL: usize = 64;
const FLAGS: usize = 192;

/// Makes plain what a call of a function lets the kernel work on.
///
/// # Errors
/// The error number that it fails with.
///
/// # Safety
/// The arguments are those of the function, by its own contract.
pub unsafe fn prepare(
    calls: &dyn MemoryCalls,
    kind: RingCall,
    arguments: [usize; 6],
) -> Result<(), i32> {
    let [first, second, ..] = arguments;
    match kind {
        // SAFETY: liburing's caller passes a ring that it has initialized.
        RingCall::Submits => unsafe { look_through(calls, first) },
        RingCall::Registers(vectors, count) => {
            references::vectors(calls, arguments[vectors], arguments[count] as u32 as usize)
        }
        RingCall::Places(start, bytes) => {
            references::one(calls, arguments[start], arguments[bytes])
        }
        RingCall::RingOfBuffers => references::read::<[usize; 2]>(second)
            .map_or(Ok(()), |[start, count]| {
                references::one(calls, start, count as u32 as usize * BUFFER_BYTES)
            }),
        RingCall::Any => {
            let call = Call::new(libc::SYS_io_uring_register, arguments);
            // SAFETY: the arguments are those of the system call.
            unsafe { references::prepare(calls, &call) }
        }
        RingCall::Makes => Ok(()),
    }
}

/// The entries that the next submission takes.
///
/// # Safety
/// `ring` is the address of a `struct io_uring` that liburing has filled.
unsafe fn look_through(calls: &dyn MemoryCalls, ring: usize) -> Result<(), i32> {
    // SAFETY: liburing of the version that is looked for has its fields at these offsets, and the mask where its field says.
    let (mask, entries, [head, tail], flags) = unsafe {
        (
            read::<u32>(read(ring + MASK)),
            read::<usize>(ring + ENTRIES),
            read::<[u32; 2]>(ring + HEAD_AND_TAIL),
            read::<u32>(ring + FLAGS),
        )
    };
    let scale = 1 + usize::from(flags & LARGE_ENTRIES != 0);
    let mut at = head;
    while at != tail {
        let place = entries + (at & mask) as usize * ENTRY_BYTES * scale;
        // SAFETY: the mask keeps it among the ring's entries, which are mapped as long as the ring is.
        let entry = unsafe { read::<[u64; 4]>(place) };
        prepare_entry(calls, entry)?;
        at = at.wrapping_add(1);
    }
    Ok(())
}

/// An entry's first words: operation, offset, address, length.
fn prepare_entry(calls: &dyn MemoryCalls, entry: [u64; 4]) -> Result<(), i32> {
    let [operation, offset, address, length] = entry;
    let address = address as usize;
    match operation as u8 {
        // Where the length is beyond 32 bits, the offset has it.
        MADVISE => {
            let bytes = u64::from(length as u32).max(offset);
            references::one(calls, address, bytes as usize)
        }
        SEND_ZERO_COPY => references::one(calls, address, length as u32 as usize),
        SEND_MESSAGE_ZERO_COPY => references::message(calls, address),
        _ => Ok(()),
    }
}

/// # Safety
/// A value of this type lies at the address, and is read only.
unsafe fn read<T: Copy>(place: usize) -> T {
    // SAFETY: the place is a field of a ring, or of its queue, that the program has mapped; alignment is not asked.
    unsafe { std::ptr::with_exposed_provenance::<T>(place).read_unaligned() }
}

/// Of liburing's result: a negative error number.
pub fn refused(error: i32) -> isize {
    -(error as c_int as isize)
}

#[cfg(test)]
mod tests;
