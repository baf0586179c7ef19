use std::ops::Range;
use std::sync::Mutex;

use super::*;

/// What was made plain.
#[derive(Default)]
struct Made(Mutex<Vec<Range<usize>>>);

impl MemoryCalls for Made {
    fn make_plain(&self, range: Range<usize>) -> Result<(), i32> {
        self.0.lock().expect("one thread").push(range);
        Ok(())
    }
}

impl Made {
    fn all(self) -> Vec<Range<usize>> {
        self.0.into_inner().expect("one thread")
    }
}

/// A `struct io_uring` in words, whose entries from `head` to `tail` are to be submitted.
fn ring(mask: &u32, entries: &[[u64; 8]], head: u32, tail: u32, flags: u32) -> [u64; 27] {
    let mut ring = [0; 27];
    ring[MASK / 8] = (&raw const *mask).expose_provenance() as u64;
    ring[ENTRIES / 8] = entries.as_ptr().expose_provenance() as u64;
    ring[HEAD_AND_TAIL / 8] = u64::from(head) | u64::from(tail) << 32;
    ring[FLAGS / 8] = flags.into();
    ring
}

fn looked(ring: &[u64; 27]) -> Vec<Range<usize>> {
    let made = Made::default();
    let arguments = [ring.as_ptr().expose_provenance(), 0, 0, 0, 0, 0];
    // SAFETY: the ring has what is read of it.
    unsafe { prepare(&made, RingCall::Submits, arguments) }.expect("it cannot fail");
    made.all()
}

fn entry(operation: u8, offset: u64, address: u64, length: u64) -> [u64; 8] {
    // Descriptor and flags, and what is behind the length, do not count.
    [
        u64::from(operation) | 7 << 32,
        offset,
        address,
        length | 4 << 32,
        5,
        6,
        7,
        8,
    ]
}

#[test]
fn only_what_is_to_be_submitted_is_made_plain() {
    let entries = [
        entry(MADVISE, 0, 0x1000, 0x100),
        entry(1, 0, 0x2000, 0x100),
        entry(MADVISE, 1 << 33, 0x3000, 0),
        entry(SEND_ZERO_COPY, 0, 0x4000, 0x40),
    ];
    // From the third over the end of the ring to the first.
    let found = looked(&ring(&3, &entries, 2, 5, 0));
    let large = 0x3000..0x3000 + (1 << 33);
    assert_eq!(found, [large, 0x4000..0x4040, 0x1000..0x1100]);
    assert!(looked(&ring(&3, &entries, 2, 2, 0)).is_empty());
    let around = looked(&ring(&3, &entries, u32::MAX, 1, 0));
    assert_eq!(around, [0x4000..0x4040, 0x1000..0x1100]);
}

#[test]
fn large_entries_are_every_second() {
    let entries = [
        entry(MADVISE, 0, 0x1000, 0x100),
        entry(MADVISE, 0, 0x2000, 0x100),
        entry(MADVISE, 0, 0x3000, 0x100),
        entry(MADVISE, 0, 0x4000, 0x100),
    ];
    let found = looked(&ring(&1, &entries, 0, 2, LARGE_ENTRIES));
    assert_eq!(found, [0x1000..0x1100, 0x3000..0x3100]);
}

#[test]
fn buffers_and_rings_of_buffers_are_made_plain() {
    let vectors = [[0x1000_usize, 0x10], [0x2000, 0x20]];
    let vectors = vectors.as_ptr().expose_provenance();
    let made = Made::default();
    let all = [
        (RingCall::Registers(1, 2), [0, vectors, 2, 0, 0, 0]),
        (RingCall::Registers(2, 4), [0, 9, vectors, 0, 1, 0]),
        (RingCall::Any, [3, 0, vectors, 1, 0, 0]),
        (RingCall::Places(3, 4), [8, 0, 0, 0x5000, 0x50, 0]),
    ];
    for (kind, arguments) in all {
        // SAFETY: two vectors are there.
        unsafe { prepare(&made, kind, arguments) }.expect("it cannot fail");
    }
    let (first, second) = (0x1000..0x1010, 0x2000..0x2020);
    let expected = [first.clone(), second, first.clone(), first, 0x5000..0x5050];
    assert_eq!(made.all(), expected);
}
