//! The memory of a part of a launch: it reads what the launch found, and keeps what it stores to itself.
//!
//! A part may do one of two things with an allocation: load from it, or store to it. Which one it is, the first part that
//! uses the allocation says for all of them; a part that wants the other has met another one, or itself, and ends. So as long
//! as no part has met, what each computes is a function of bytes that nothing changes, and its stores can be put in place
//! afterwards, unless two parts have stored to the same word.

use std::slice::{Chunks, ChunksMut};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::allocation::{Allocation, Backing, zeroed};
use crate::exec::pattern::Pattern;
use pagemill_ptx_ir::code::WORD_BYTES;
use pagemill_ptx_ir::line::{Line, lanes_of};

/// Marks that are looked at together.
const RUN: usize = 64;

/// The mark of a word that was stored.
const STORED_WORD: u8 = 0xff;

/// Bytes of allocations that a part stores to: it keeps a copy of each, and its marks.
const STORED_BYTES_MAX: u64 = 1 << 30;
/// Bytes of copies that are kept for later launches.
const SPARE_BYTES_MAX: usize = 1 << 28;

/// What the parts of a launch do with each allocation.
#[derive(Debug)]
pub(crate) struct Uses {
    of: Vec<AtomicU8>,
    have_met: AtomicBool,
}

impl Uses {
    const NONE: u8 = 0;
    const LOADS: u8 = 1;
    const STORES: u8 = 2;

    pub(crate) fn new(allocations: usize) -> Self {
        Self {
            of: (0..allocations)
                .map(|_| AtomicU8::new(Self::NONE))
                .collect(),
            have_met: AtomicBool::new(false),
        }
    }

    pub(crate) fn have_met(&self) -> bool {
        self.have_met.load(Ordering::Relaxed)
    }

    /// Whether a part may use allocation `at` so; if not, parts have met.
    fn claim(&self, at: usize, wanted: u8) -> bool {
        let of = &self.of[at];
        let claimed = of.compare_exchange(Self::NONE, wanted, Ordering::Relaxed, Ordering::Relaxed);
        let may = claimed.is_ok() || claimed == Err(wanted);
        if !may {
            self.have_met.store(true, Ordering::Relaxed);
        }
        may
    }
}

/// What a part has stored to an allocation.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    bytes: Box<[u8]>,
    /// One for each word.
    marks: Box<[u8]>,
}

/// What makes a memory that of a part.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    uses: Arc<Uses>,
    /// Marks of each allocation that it stores to.
    marks: Vec<Option<Box<[u8]>>>,
    /// Bytes of those allocations.
    kept_bytes: u64,
    /// Words that were stored, one as often as it was.
    pub(crate) stored_words: u64,
    spare: Spare,
}

impl Part {
    /// Has stored nothing yet; copies come out of `spare`.
    pub(crate) fn new(uses: &Arc<Uses>, spare: &Spare) -> Self {
        Self {
            uses: Arc::clone(uses),
            marks: vec![None; uses.of.len()],
            kept_bytes: 0,
            stored_words: 0,
            spare: spare.clone(),
        }
    }

    /// The kernel loads from `allocation`, which is number `at`, or stores to it; whether it may.
    #[inline]
    pub(crate) fn claim(&mut self, at: usize, is_load: bool, allocation: &mut Allocation) -> bool {
        if is_load {
            return self.uses.claim(at, Uses::LOADS);
        }
        self.uses.claim(at, Uses::STORES)
            && (self.marks[at].is_some() || self.keep_stores(at, allocation))
    }

    /// From now on, stores to `allocation` are kept; false if there is no room for them.
    #[cold]
    fn keep_stores(&mut self, at: usize, allocation: &mut Allocation) -> bool {
        let bytes = allocation.bytes();
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        let is_by_words = allocation.address.is_multiple_of(WORD_BYTES as u64);
        if self.kept_bytes > STORED_BYTES_MAX || !is_by_words {
            return false;
        }
        let new = || {
            let words = bytes.div_ceil(WORD_BYTES as u64);
            Some(Stored {
                bytes: zeroed(bytes)?,
                marks: zeroed(words.next_multiple_of(RUN as u64))?,
            })
        };
        let Some(copy) = self.spare.take(bytes).or_else(new) else {
            return false;
        };
        allocation.data = Backing::Owned(copy.bytes);
        self.marks[at] = Some(copy.marks);
        true
    }

    /// Where machine code marks the words of allocation `at` that it stores; `None` if it may not use it so. A load needs no
    /// marks.
    pub(crate) fn marks_of(&mut self, at: usize, is_load: bool) -> Option<usize> {
        if is_load {
            return (self.uses.of[at].load(Ordering::Relaxed) == Uses::LOADS).then_some(0);
        }
        let marks = self.marks[at].as_mut()?;
        Some(marks.as_mut_ptr().expose_provenance())
    }

    /// Notes that lanes store `lane_bytes` each, whole words, to allocation `at`.
    pub(crate) fn mark(
        &mut self,
        (at, pattern): (usize, Pattern),
        mask: u32,
        lane_bytes: u32,
        offsets: &Line<u64>,
    ) {
        let Some(marks) = &mut self.marks[at] else {
            return;
        };
        let bytes = lane_bytes as usize;
        self.stored_words += u64::from(mask.count_ones()) * (bytes / WORD_BYTES) as u64;
        for lane in lanes_of(mask) {
            let start = match pattern {
                Pattern::Block { start } => start + lane * bytes,
                Pattern::Broadcast { at } => at,
                Pattern::Scattered => offsets[lane] as usize,
            };
            marks[start / WORD_BYTES..(start + bytes) / WORD_BYTES].fill(STORED_WORD);
        }
    }

    /// What it has stored, by allocation.
    pub(crate) fn into_stored(self, allocations: Vec<Allocation>) -> Vec<Option<Stored>> {
        let stored = |(allocation, marks): (Allocation, Option<Box<[u8]>>)| match allocation.data {
            Backing::Owned(bytes) => marks.map(|marks| Stored { bytes, marks }),
            _ => None,
        };
        allocations
            .into_iter()
            .zip(self.marks)
            .map(stored)
            .collect()
    }
}

/// Puts in place what the parts have stored, on as many threads as there are parts, and counts the words. `None` if two of
/// them have stored to the same word.
pub(crate) fn put_in_place(
    allocations: &mut [Allocation],
    mut parts: Vec<Vec<Option<Stored>>>,
    spare: &Spare,
) -> Option<u64> {
    let (mut words, threads) = (Some(0), parts.len());
    for (at, allocation) in allocations.iter_mut().enumerate() {
        let stored = parts.iter_mut().filter_map(|part| part[at].take());
        let mut stored: Vec<Stored> = stored.collect();
        if stored.is_empty() {
            continue;
        }
        let put = put_on_threads(allocation.data.get_mut(), &mut stored, threads);
        words = sum(words, put);
        spare.keep(stored);
    }
    words
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? + other?)
}

/// Copies for later launches: memory that was touched once costs no more faults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spare(Arc<Mutex<Vec<Stored>>>);

impl Spare {
    fn copies(&self) -> MutexGuard<'_, Vec<Stored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of so many bytes, without marks.
    fn take(&self, bytes: u64) -> Option<Stored> {
        let mut copies = self.copies();
        let at = copies
            .iter()
            .position(|copy| copy.bytes.len() as u64 == bytes)?;
        Some(copies.swap_remove(at))
    }

    /// Keeps `stored`, whose marks are gone, if that is not too much.
    fn keep(&self, stored: Vec<Stored>) {
        let mut copies = self.copies();
        copies.extend(stored);
        while copies.iter().map(|copy| copy.bytes.len()).sum::<usize>() > SPARE_BYTES_MAX {
            copies.remove(0);
        }
    }
}

/// Bytes that a part has stored, and their marks.
type Share<'a> = (&'a [u8], &'a mut [u8]);

fn next_share<'a>((bytes, marks): &mut (Chunks<'a, u8>, ChunksMut<'a, u8>)) -> Option<Share<'a>> {
    Some((bytes.next()?, marks.next()?))
}

/// Splits the bytes of an allocation, and what was stored to it, among threads.
fn put_on_threads(data: &mut [u8], stored: &mut [Stored], threads: usize) -> Option<u64> {
    let words = data.len().div_ceil(WORD_BYTES);
    let share = words.div_ceil(threads).max(1).next_multiple_of(RUN);
    let mut parts: Vec<_> = stored
        .iter_mut()
        .map(|part| {
            (
                part.bytes.chunks(share * WORD_BYTES),
                part.marks.chunks_mut(share),
            )
        })
        .collect();
    std::thread::scope(|scope| {
        let shares = data.chunks_mut(share * WORD_BYTES).map(|data| {
            let share = parts.iter_mut().filter_map(next_share);
            (data, share.collect::<Vec<_>>())
        });
        let mut shares: Vec<_> = shares.collect();
        let own = shares.pop();
        let put_share = |(data, mut parts): (&mut [u8], Vec<Share<'_>>)| put(data, &mut parts);
        let others: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(move || put_share(share)))
            .collect();
        let own = own.map_or(Some(0), put_share);
        others
            .into_iter()
            .fold(own, |all, one| sum(all, one.join().ok()?))
    })
}

/// Puts the words that were stored to `data` in place, takes their marks away and counts them; `None` if two parts have
/// stored one.
fn put(data: &mut [u8], parts: &mut [Share<'_>]) -> Option<u64> {
    let (mut are_apart, mut words) = (true, 0);
    for (run, data) in data.chunks_mut(RUN * WORD_BYTES).enumerate() {
        let mut seen = [0; RUN];
        for (bytes, marks) in parts.iter_mut() {
            let marks = &mut marks[run * RUN..(run + 1) * RUN];
            if marks.iter().fold(0, |any, mark| any | mark) == 0 {
                continue;
            }
            let first = run * RUN * WORD_BYTES;
            let bytes = &bytes[first..first + data.len()];
            if marks.iter().fold(STORED_WORD, |all, mark| all & mark) == STORED_WORD {
                data.copy_from_slice(bytes);
            } else {
                let words = data.chunks_mut(WORD_BYTES).zip(bytes.chunks(WORD_BYTES));
                for ((data, bytes), _) in words.zip(&*marks).filter(|(_, mark)| **mark != 0) {
                    data.copy_from_slice(bytes);
                }
            }
            for (seen, mark) in seen.iter_mut().zip(&*marks) {
                are_apart &= *seen & mark == 0;
                words += u64::from(mark & 1);
                *seen |= mark;
            }
            marks.fill(0);
        }
    }
    are_apart.then_some(words)
}
