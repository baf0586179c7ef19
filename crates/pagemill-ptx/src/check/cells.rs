//! Who read and wrote a word last.

/// Greatest time that a stamp holds.
pub(super) const TIME_MAX: u64 = (1 << 20) - 2;
/// Stands for more than one actor.
pub(super) const MANY: u32 = (1 << 24) - 1;

const LINE_AT: u32 = 1;
const THREAD_AT: u32 = 10;
const ACTOR_AT: u32 = 20;
const TIME_AT: u32 = 44;

/// One access in 64 bits, from the highest: its time (20), who did it (24), the thread in its block (10), the number of its
/// line (9), and whether it was strong (1). Zero is older than everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(super) struct Stamp(pub u64);

impl Stamp {
    pub(super) fn new(time: u64, actor: u32, thread: u32, line: u32, is_strong: bool) -> Self {
        Self(
            time << TIME_AT
                | u64::from(actor & MANY) << ACTOR_AT
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
        (self.0 >> ACTOR_AT) as u32 & MANY
    }

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
    pub(super) fn with_actor(self, actor: u32) -> Self {
        Self(self.0 & !(u64::from(MANY) << ACTOR_AT) | u64::from(actor & MANY) << ACTOR_AT)
    }
}

/// How accesses of different actors relate.
pub(super) trait Rules {
    /// Whether `other`, which is younger than the floor and another actor's, happened before what `mine` does now.
    fn is_ordered(&self, other: Stamp, mine: Stamp) -> bool;
    /// Stands for both readers.
    fn join(&self, other: Stamp, mine: Stamp) -> Stamp;
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
    readers: Vec<Stamp>,
    writers: Vec<Stamp>,
}

const WORD: usize = 4;

impl Cells {
    /// For `bytes` of memory that begins at a multiple of 4, or not.
    pub(super) fn new(bytes: usize, is_aligned: bool) -> Self {
        let grain = if is_aligned { WORD } else { 1 };
        let cells = bytes.div_ceil(grain);
        Self {
            grain,
            readers: vec![Stamp(0); cells],
            writers: vec![Stamp(0); cells],
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.readers.fill(Stamp(0));
        self.writers.fill(Stamp(0));
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
            let races = |other: Stamp| {
                other >= floor
                    && other.actor() != mine.actor()
                    && !(other.is_strong() && mine.is_strong())
                    && !rules.is_ordered(other, mine)
            };
            if races(*writer) {
                found.get_or_insert(Conflict {
                    other: *writer,
                    after_write: true,
                });
            }
            if is_write {
                if races(*reader) {
                    found.get_or_insert(Conflict {
                        other: *reader,
                        after_write: false,
                    });
                }
                (*writer, *reader) = (mine, Stamp(0));
            } else if !mine.is_strong() {
                let is_first = *reader < floor || reader.actor() == mine.actor();
                *reader = if is_first {
                    mine
                } else {
                    rules.join(*reader, mine)
                };
            }
        }
        found
    }

    /// One cell for each byte from now on.
    #[cold]
    fn refine(&mut self) {
        let spread = |cells: &[Stamp]| cells.iter().flat_map(|cell| [*cell; WORD]).collect();
        self.readers = spread(&self.readers);
        self.writers = spread(&self.writers);
        self.grain = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Nothing orders anything but the floor.
    struct Unordered;

    impl Rules for Unordered {
        fn is_ordered(&self, _: Stamp, _: Stamp) -> bool {
            false
        }

        fn join(&self, _: Stamp, mine: Stamp) -> Stamp {
            mine.with_actor(MANY)
        }
    }

    #[test]
    fn a_stamp_holds_its_parts() {
        let stamp = Stamp::new(TIME_MAX, 12_345, 1000, 500, true);
        assert_eq!(stamp.time(), TIME_MAX);
        assert_eq!(stamp.actor(), 12_345);
        assert_eq!((stamp.thread(), stamp.line()), (1000, 500));
        assert!(stamp.is_strong() && stamp > Stamp::floor(TIME_MAX));
        assert_eq!(stamp.with_actor(MANY).thread(), 1000);
    }

    proptest! {
        /// Against a list of all accesses: a race is a pair on a common byte, of two actors, one of them a write, not both
        /// strong, since the floor. What is found is one, and the first is found among accesses that are not strong.
        #[test]
        fn the_first_race_is_found(steps in prop::collection::vec((0usize..6, 0usize..3, 1u32..4, any::<bool>(), 0u8..8), 1..40)) {
            let mut cells = Cells::new(64, true);
            let mut seen: Vec<(usize, usize, u32, bool, bool)> = Vec::new();
            let mut time = 1;
            for (at, size, actor, is_write, kind) in steps {
                if kind == 0 {
                    // A barrier.
                    time += 1;
                    seen.clear();
                    continue;
                }
                let (bytes, is_strong) = (1 << size, kind == 1 && is_write);
                let offset = at * 4 / bytes * bytes;
                let races = seen.iter().any(|&(from, size, other, wrote, strong)| {
                    from < offset + bytes && offset < from + size && other != actor && (wrote || is_write) && !(strong && is_strong)
                });
                let mine = Stamp::new(time, actor, 0, 0, is_strong);
                let found = cells.touch((offset, bytes), mine, Stamp::floor(time), is_write, &Unordered);
                prop_assert!(races || found.is_none(), "{found:?} after {seen:?}");
                // A strong access may hide an earlier one.
                let is_plain = !is_strong && seen.iter().all(|(.., strong)| !strong);
                prop_assert!(found.is_some() || !(races && is_plain), "{seen:?}");
                if races {
                    break;
                }
                seen.push((offset, bytes, actor, is_write, is_strong));
            }
        }
    }
}
