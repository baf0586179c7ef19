//! Pages that leave and come back while the program touches them and forks: the kernel begins moves again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pagemill_testkit::skip;

use super::*;

const PAGES: u64 = 512;
const BYTES: u64 = PAGES * UNIT;
/// Pages that leave at once.
const SOME: u64 = 16;
const ROUNDS: u64 = 1_500;
/// Between two children.
const PAUSE: Duration = Duration::from_micros(200);
const WORDS: usize = (UNIT / 8) as usize;

/// Writes to the first word of each page until `is_over`. Pages that are cold now are on the kernel's way to its lists, where a move meets
/// them and begins again.
fn touch(start: u64, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        // SAFETY: the advice leaves the bytes as they are.
        let _ = unsafe { madvise(pointer(start), BYTES as usize, Advice::LinuxCold) };
        for page in 0..PAGES {
            let word = pointer(start + page * UNIT).cast();
            // SAFETY: the word is mapped as long as the memory is, and all use it as an atomic.
            unsafe { AtomicU64::from_ptr(word) }.store(page, Ordering::Relaxed);
        }
    }
}

/// Makes children that share the pages for a moment.
fn fork(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        // SAFETY: the child does nothing but end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it ends without a destructor.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: no status is asked for.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        std::thread::sleep(PAUSE);
    }
}

/// Ends the threads that touch the memory, also where the test fails: their touches are the kernel's to answer then.
struct Ends<'a>(&'a AtomicBool, &'a Paged, &'a Userfault);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.release(self.2, self.1.range());
    }
}

/// Takes all pages that can leave, some at once, looks at them, and gives them back.
fn there_and_back(frames: &mut Frames, memory: &Paged, taken: &mut Taken) {
    let mut all = Vec::new();
    for at in memory.range().step_by((SOME * UNIT) as usize) {
        frames.take(memory, at..at + SOME * UNIT, taken);
        assert!(taken.missing.is_empty(), "pages are lost: {taken:x?}");
        all.append(&mut taken.taken);
    }
    frames
        .grow_to(frames.len() + UNIT)
        .expect("there is nothing above the stack");
    frames.shrink_to(frames.len() - UNIT);
    let (words, _) = frames.top(frames.len()).as_chunks::<8>();
    let (pages, _) = words.as_chunks::<WORDS>();
    assert_eq!(pages.len(), all.len());
    for (page, address) in pages.iter().zip(&all) {
        let number = (address - memory.range().start) / UNIT;
        assert_eq!(
            u64::from_ne_bytes(page[1]),
            number,
            "page {number} of {PAGES}"
        );
    }
    let runs: Vec<&[u64]> = all
        .chunk_by(|first, second| first + UNIT == *second)
        .collect();
    for run in runs.iter().rev() {
        frames.give(memory, run[0]..run[0] + run.len() as u64 * UNIT, true);
    }
}

#[test]
fn pages_keep_their_bytes_where_the_kernel_begins_a_move_again() {
    let Ok(userfault) = Userfault::open(false) else {
        return skip("there is no userfaultfd with UFFDIO_MOVE for this user");
    };
    let userfault = Arc::new(userfault);
    let memory = Paged::map(&userfault, BYTES).expect("memory");
    let mut frames = Frames::new(&userfault, BYTES + UNIT).expect("frames");
    frames.grow_to(BYTES).expect("pages");
    let start = memory.range().start;
    let (words, _) = frames.top(BYTES).as_chunks_mut::<8>();
    for (number, word) in words.iter_mut().skip(1).step_by(WORDS).enumerate() {
        *word = (number as u64).to_ne_bytes();
    }
    frames.give(&memory, memory.range(), true);
    memory.set_inherited(true);
    let is_over = AtomicBool::new(false);
    let mut taken = Taken::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| touch(start, &is_over));
        }
        scope.spawn(|| fork(&is_over));
        let _ends = Ends(&is_over, &memory, &userfault);
        for _ in 0..ROUNDS {
            there_and_back(&mut frames, &memory, &mut taken);
        }
    });
}

/// Answers faults by zeros until `is_over`; returns where they were.
fn answer(userfault: &Userfault, is_over: &AtomicBool) -> Vec<u64> {
    let mut touched = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        if let Some(fault) = userfault.next().expect("it is open") {
            touched.push(fault.address);
            let zeros = [0_u8; UNIT as usize];
            let from = zeros.as_ptr().expose_provenance() as u64;
            let _ = userfault.copy(fault.address, from, UNIT);
            userfault.wake(fault.address..fault.address + UNIT);
        }
        std::thread::yield_now();
    }
    touched
}

/// What each page of `memory` holds first.
fn numbers(memory: &Paged) -> Vec<u64> {
    let offsets = (0..PAGES * UNIT).step_by(UNIT as usize);
    offsets.map(|offset| memory.read(offset)).collect()
}

#[test]
fn pages_that_have_moved_uncounted_are_there_once_and_read_where_they_are() {
    let Ok(userfault) = Userfault::open(true) else {
        return skip("there is no userfaultfd with UFFDIO_MOVE and system calls for this user");
    };
    let userfault = Arc::new(userfault);
    let memory = Paged::map(&userfault, BYTES).expect("memory");
    let mut frames = Frames::new(&userfault, BYTES).expect("frames");
    frames.grow_to(BYTES).expect("pages");
    let (words, _) = frames.top(BYTES).as_chunks_mut::<8>();
    for (number, word) in words.iter_mut().step_by(WORDS).enumerate() {
        *word = (number as u64).to_ne_bytes();
    }
    let expected: Vec<u64> = (0..PAGES).collect();
    // Where the kernel begins a move again, it leaves some pages at their new place, and counts none of them.
    let ahead = |to: u64, from: u64| {
        for page in [0, 1, 7, PAGES - 1] {
            let place = page * UNIT;
            assert_eq!(userfault.move_pages(to + place, from + place, UNIT).0, UNIT);
        }
    };
    let (start, stack) = (memory.range().start, frames.range().start);
    let is_over = AtomicBool::new(false);
    let mut taken = Taken::default();
    let touched = std::thread::scope(|scope| {
        let answering = scope.spawn(|| answer(&userfault, &is_over));
        let ends = Ends(&is_over, &memory, &userfault);
        for wakes in [true, false] {
            ahead(start, stack);
            frames.give(&memory, memory.range(), wakes);
            assert!(frames.is_empty());
            assert_eq!(numbers(&memory), expected);
            ahead(stack, start);
            frames.take(&memory, memory.range(), &mut taken);
            assert_eq!(taken.taken.len() as u64, PAGES, "{taken:x?}");
        }
        drop(ends);
        answering.join().expect("no panic")
    });
    assert!(
        touched.is_empty(),
        "frames that have left were touched: {touched:x?}"
    );
}
