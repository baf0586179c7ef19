//! Memory of this library and of the C library: never the program's allocator, whose own records may be paged.
//!
//! Handlers answer faults, so memory that they touch must not fault. Two heaps keep to that:
//! * `OWN` is this library's global allocator, compressed units included.
//! * `LIBRARY` serves what the C library and the dynamic linker allocate for themselves, also on behalf of handlers and of a child that
//!   has no handlers yet: thread descriptors, destructors, streams. Its addresses lie in one range, so that `free` knows them.

use std::cell::{Cell, UnsafeCell};
use std::ptr;

use dlmalloc::Allocator;
use pagemill_mapping::{Heap, KernelPages};

/// Takes both heaps before a fork: no thread is changing them then.
pub fn hold() {
    OWN.hold();
    LIBRARY.hold();
}

/// Lets both go after a fork, in the parent and in the child.
pub fn let_go() {
    LIBRARY.let_go();
    OWN.let_go();
}

/// Bytes for what the C library allocates for itself. What is beyond goes to the program's allocator.
const ROOM_BYTES: usize = 64 << 20;

#[repr(C, align(4096))]
struct Bytes(UnsafeCell<[u8; ROOM_BYTES]>);

// SAFETY: the heap alone gives out its bytes.
unsafe impl Sync for Bytes {}

/// It takes no memory before it is used.
static ROOM: Bytes = Bytes(UnsafeCell::new([0; ROOM_BYTES]));

/// A fixed range of addresses, used from its start.
struct Room {
    used: Cell<usize>,
}

// SAFETY: each byte is given out once.
unsafe impl Allocator for Room {
    fn alloc(&self, bytes: usize) -> (*mut u8, usize, u32) {
        let used = self.used.get();
        if bytes > ROOM_BYTES - used {
            return (ptr::null_mut(), 0, 0);
        }
        self.used.set(used + bytes);
        let start = ROOM.0.get().cast::<u8>().wrapping_add(used);
        (start, bytes, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

/// What the C library allocates for itself. A block starts with its length, [`HEAD_BYTES`] before its memory.
static LIBRARY: Heap<Room> = Heap::new(Room { used: Cell::new(0) });

/// As many as keep memory aligned.
const HEAD_BYTES: usize = 16;

/// What this library allocates.
#[global_allocator]
static OWN: Heap<KernelPages> = Heap::new(KernelPages);

/// `bytes` of memory for the C library; null where there is no room.
pub fn library_malloc(bytes: usize) -> *mut u8 {
    let Some(all) = bytes.checked_add(HEAD_BYTES) else {
        return ptr::null_mut();
    };
    // SAFETY: any size may be asked for; the head fits.
    LIBRARY.with(|heap| unsafe {
        let block = heap.malloc(all, HEAD_BYTES);
        if block.is_null() {
            return block;
        }
        block.cast::<usize>().write(bytes);
        block.add(HEAD_BYTES)
    })
}

/// Length of a block of [`library_malloc`], if `memory` is one.
pub fn library_bytes(memory: *const u8) -> Option<usize> {
    let is_inside = memory.addr().wrapping_sub(ROOM.0.get().addr()) < ROOM_BYTES;
    // SAFETY: a block is behind its length.
    is_inside.then(|| unsafe { memory.sub(HEAD_BYTES).cast::<usize>().read() })
}

/// Frees a block of `bytes`.
///
/// # Safety
/// It came from [`library_malloc`], and nothing refers to it.
pub unsafe fn library_free(memory: *mut u8, bytes: usize) {
    // SAFETY: the block is of this heap, with a head before it, and its bytes are those that it was made with.
    LIBRARY.with(|heap| unsafe {
        heap.free(memory.sub(HEAD_BYTES), bytes + HEAD_BYTES, HEAD_BYTES);
    });
}
