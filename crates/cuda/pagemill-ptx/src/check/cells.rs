//! Who read and wrote a word last.

use std::ops::Range;

use pagemill_ptx_ir::line::LANES;

/// Greatest time that a stamp holds.
pub(super) const TIME_MAX: u64 = (1 << 20) - 2;
/// In the place of an actor: several of them read. What is below says which of them is named, by the rules at hand.
pub(super) const SEVERAL: u32 = 1 << 23;

const LINE_AT: u32 = 1;
const THREAD_AT: u32 = 10;
const ACTOR_AT: u32 = 20;
const TIME_AT: u32 = 44;
const ACTORS: u32 = (1 << (TIME_AT - ACTOR_AT)) - 1;

/// One access in 64 bits, from the highest: its time (20), who did it (24), the thread in its block (10), the number of its
/// line (9), and whether it was strong (1). Zero is older than everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(super) struct Stamp(pub u64);

impl Stamp {
    /// From a thread's stamp to that of the next thread, in each of the two places.
    pub(super) const NEXT_THREAD: u64 = 1 << THREAD_AT;
    pub(super) const NEXT_ACTOR: u64 = 1 << ACTOR_AT;

    pub(super) fn new(time: u64, actor: u32, thread: u32, line: u32, is_strong: bool) -> Self {
        Self(
            time << TIME_AT
                | u64::from(actor & ACTORS) << ACTOR_AT
                | u64::from(thread & 1023) << THREAD_AT
                | u64::from(line & 511) << LINE_AT
                | u64::from(is_strong),
        )
    }

    /// The lowest stamp of that time.
    pub(super) fn floor(time: u64) -> Self {
        Self(time << TIME_AT)
    }

    pub(super) fn time(self) -> u64 {
        self.0 >> TIME_AT
    }

    #[inline(always)]
    pub(super) fn actor(self) -> u32 {
        (self.0 >> ACTOR_AT) as u32 & ACTORS
    }

    #[inline(always)]
    pub(super) fn thread(self) -> u32 {
        (self.0 >> THREAD_AT) as u32 & 1023
    }

    pub(super) fn line(self) -> u32 {
        (self.0 >> LINE_AT) as u32 & 511
    }

    #[inline(always)]
    pub(super) fn is_strong(self) -> bool {
        self.0 & 1 != 0
    }

    /// The same access by others as well.
    #[inline(always)]
    pub(super) fn with_actor(self, actor: u32) -> Self {
        Self(self.0 & !(u64::from(ACTORS) << ACTOR_AT) | u64::from(actor & ACTORS) << ACTOR_AT)
    }

    /// The same access at another time.
    #[inline(always)]
    pub(super) fn at_time_of(self, other: Self) -> Self {
        let below = (1 << TIME_AT) - 1;
        Self(self.0 & below | other.0 & !below)
    }

    /// Whether it stands for several actors.
    #[inline(always)]
    pub(super) fn is_of_several(self) -> bool {
        self.actor() & SEVERAL != 0
    }
}

/// How accesses of different actors relate.
pub(super) trait Rules {
    /// Whether `other`, which is younger than the floor and another actor's, happened before what `mine` does now.
    fn is_ordered(&self, other: Stamp, mine: Stamp) -> bool;
    /// Stands for both readers.
    fn join(&self, other: Stamp, mine: Stamp) -> Stamp;
    /// Until when what the warp of `mine` did happened before what it does now.
    fn own_past(&self, mine: Stamp) -> u64;
}

/// Whether one actor of the warp of `mine` did `other` before `past`: what comes after `mine` comes after it too.
#[inline(always)]
pub(super) fn is_own_past(other: Stamp, mine: Stamp, past: u64) -> bool {
    let warp = |stamp: Stamp| stamp.thread() / LANES as u32;
    !other.is_of_several() & (warp(other) == warp(mine)) & (other.time() < past)
}

/// Two accesses with nothing between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Conflict {
    pub other: Stamp,
    /// Whether the earlier one wrote.
    pub after_write: bool,
}

/// The last reader and the last writer of each grain of some memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    /// Bytes of a cell: 4, or 1 once anything smaller was touched.
    grain: usize,
    readers: Stamps,
    writers: Stamps,
}

/// Stamps, as numbers: the kernel gives their zeros when they are touched first.
#[derive(Clone, Debug, Default)]
struct Stamps {
    room: Vec<u64>,
    /// Where they begin: at a multiple of 64 bytes, so that a vector of the processor lies in one line of its cache.
    start: usize,
}

impl Stamps {
    const VECTOR_BYTES: usize = 64;
    const SLACK: usize = Self::VECTOR_BYTES / size_of::<u64>() - 1;

    fn none(count: usize) -> Self {
        let room = vec![0_u64; count + Self::SLACK];
        let start = room.as_ptr().align_offset(Self::VECTOR_BYTES);
        Self {
            start: start.min(Self::SLACK),
            room,
        }
    }

    fn len(&self) -> usize {
        self.room.len().saturating_sub(Self::SLACK)
    }

    fn all(&self) -> &[u64] {
        &self.room[self.start..self.start + self.len()]
    }

    #[inline(always)]
    fn get_mut(&mut self, range: Range<usize>) -> Option<&mut [u64]> {
        let end = self.start + self.len();
        self.room.get_mut(self.start..end)?.get_mut(range)
    }

    /// Each of them `times` times.
    fn spread(&self, times: usize) -> Self {
        let mut spread = Self::none(self.len() * times);
        let from = self.all();
        let to = spread.room[spread.start..].chunks_exact_mut(times);
        from.iter()
            .zip(to)
            .for_each(|(stamp, cells)| cells.fill(*stamp));
        spread
    }
}

pub(super) const WORD: usize = 4;

impl Cells {
    /// For `bytes` of memory that begins at a multiple of 4, or not.
    pub(super) fn new(bytes: usize, is_aligned: bool) -> Self {
        let grain = if is_aligned { WORD } else { 1 };
        let cells = bytes.div_ceil(grain);
        Self {
            grain,
            readers: Stamps::none(cells),
            writers: Stamps::none(cells),
        }
    }

    /// Bytes of a cell, and the stamps of all readers and writers.
    pub(super) fn stamps(&self) -> (usize, &[u64], &[u64]) {
        (self.grain, self.readers.all(), self.writers.all())
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.readers.room.fill(0);
        self.writers.room.fill(0);
    }

    /// Notes an access to `bytes` bytes from `offset` on; the first conflict with an earlier one.
    #[inline(always)]
    pub(super) fn touch(
        &mut self,
        (offset, bytes): (usize, usize),
        mine: Stamp,
        floor: Stamp,
        is_write: bool,
        rules: &impl Rules,
    ) -> Option<Conflict> {
        if self.grain != 1 && (offset | bytes) % WORD != 0 {
            self.refine();
        }
        let (first, end) = match self.grain {
            1 => (offset, offset + bytes),
            _ => (offset / WORD, (offset + bytes) / WORD),
        };
        let readers = self.readers.get_mut(first..end)?;
        let writers = self.writers.get_mut(first..end)?;
        let mut found = None;
        for (reader, writer) in readers.iter_mut().zip(writers) {
            let (before, written) = (Stamp(*reader), Stamp(*writer));
            let races = |other: Stamp| {
                other >= floor
                    && other.actor() != mine.actor()
                    && !(other.is_strong() && mine.is_strong())
                    && !rules.is_ordered(other, mine)
            };
            if races(written) {
                found.get_or_insert(Conflict {
                    other: written,
                    after_write: true,
                });
            }
            if is_write {
                if races(before) {
                    found.get_or_insert(Conflict {
                        other: before,
                        after_write: false,
                    });
                }
                // The actor's own atomic does not hide its plain store: another's atomic still races with that.
                let is_kept = mine.is_strong()
                    && written >= floor
                    && written.actor() == mine.actor()
                    && !written.is_strong();
                if !is_kept {
                    *writer = mine.0;
                }
                *reader = 0;
            } else if !mine.is_strong() {
                let is_first = before < floor
                    || before.actor() == mine.actor()
                    || is_own_past(before, mine, rules.own_past(mine));
                *reader = match is_first {
                    true => mine.0,
                    false => rules.join(before, mine).0,
                };
            }
        }
        found
    }

    /// Readers and writers of a range of words; none where cells are of bytes, or some are not there.
    #[inline(always)]
    pub(super) fn words(&mut self, range: Range<usize>) -> Option<(&mut [u64], &mut [u64])> {
        if self.grain != WORD {
            return None;
        }
        let readers = self.readers.get_mut(range.clone())?;
        Some((readers, self.writers.get_mut(range)?))
    }

    /// One cell for each byte from now on.
    #[cold]
    fn refine(&mut self) {
        self.readers = self.readers.spread(WORD);
        self.writers = self.writers.spread(WORD);
        self.grain = 1;
    }
}

#[cfg(test)]
mod tests;
