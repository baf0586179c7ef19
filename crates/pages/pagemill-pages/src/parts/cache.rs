//! A set-associative cache with least-recently-used replacement. Misses in flight are lines whose data comes later,
//! so a second miss to the same line merges with the first by itself.

use super::entry_pool::EntryPool;
use pagemill_types::Picos;
use pagemill_types::warm;
use serde::{Deserialize, Serialize};

/// What a cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// Capacity in bytes.
    pub bytes: u32,
    /// Bytes of a line, a power of two.
    pub line_bytes: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Cycles from a lookup to the data of a hit.
    pub hit_latency_cycles: u32,
    /// Misses that may be in flight to different lines.
    pub mshr_entries: u32,
    /// Whether the set index is folded from the whole line number, so that strides spread over all sets. Needs a power
    /// of two of sets.
    pub hashed_sets: bool,
}

impl CacheSpec {
    /// Number of sets.
    pub fn sets(&self) -> u32 {
        self.bytes / self.line_bytes.max(1) / self.ways.max(1)
    }
}

/// A line that a miss reserved, until [`Cache::fill`] says when its data comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    slot: u32,
    /// The parts of the line that have to come, a bit each.
    pub sectors: u8,
    /// A dirty line that had to make room.
    pub writeback: Option<u64>,
}

/// Answer to a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The line's data is (or was) there from this time on; not earlier than the question.
    Hit(Picos),
    /// The line must come from the next level.
    Miss(Miss),
    /// No miss register, or no way of the set, is free before this time: ask again then.
    Blocked(Picos),
}

/// Counts of one cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Loads that found their line, its data there or on the way.
    pub load_hits: u64,
    /// Loads that did not.
    pub load_misses: u64,
    /// Stores that found their line.
    pub store_hits: u64,
    /// Stores that did not.
    pub store_misses: u64,
    /// Dirty lines that went down to make room.
    pub writebacks: u64,
}

/// State of a line: 16 bytes, so that a set of four is one line of the host's cache.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    data_at: Picos,
    /// Number of the last use, in steps of [`Line::USE`]; below that, whether the line is dirty, which of its sectors are not there, and which
    /// are there from `data_at` on.
    last_use: u64,
}

/// The sectors of a line, a bit each.
const ALL_SECTORS: u8 = 0xf;

impl Line {
    const DIRTY: u64 = 1;
    const ABSENT_SHIFT: u32 = 1;
    const COMING_SHIFT: u32 = 5;
    const USE: u64 = 1 << 9;
    const STATE: u64 = Self::USE - 1;

    fn absent(self) -> u8 {
        self.sectors(Self::ABSENT_SHIFT)
    }

    fn set_absent(&mut self, sectors: u8) {
        self.set_sectors(Self::ABSENT_SHIFT, sectors);
    }

    fn sectors(self, shift: u32) -> u8 {
        (self.last_use >> shift) as u8 & ALL_SECTORS
    }

    fn set_sectors(&mut self, shift: u32, sectors: u8) {
        let others = self.last_use & !(u64::from(ALL_SECTORS) << shift);
        self.last_use = others | u64::from(sectors & ALL_SECTORS) << shift;
    }

    /// From when on `sectors`, none of which is absent, are there.
    fn there_at(self, sectors: u8) -> Picos {
        match sectors & self.sectors(Self::COMING_SHIFT) {
            0 => Picos::ZERO,
            _ => self.data_at,
        }
    }

    /// `sectors` that were absent are on their way at `at`.
    fn expect(&mut self, at: Picos, sectors: u8) {
        // A line has one time: sectors of an earlier miss that are there by now leave the list, the
        // others wait with the new ones.
        let before = match self.data_at > at {
            true => self.sectors(Self::COMING_SHIFT),
            false => 0,
        };
        self.set_absent(self.absent() & !sectors);
        self.set_sectors(Self::COMING_SHIFT, before | sectors);
    }

    fn is_dirty(self) -> bool {
        self.last_use & Self::DIRTY != 0
    }

    fn mark_dirty(&mut self) {
        self.last_use |= Self::DIRTY;
    }
}

const EMPTY: u64 = u64::MAX;

/// How a line finds its set.
#[derive(Clone, Copy, Debug)]
enum Sets {
    Mask(u64),
    Folded { mask: u64, bits: u32 },
    Remainder(u64),
}

impl Sets {
    fn new(spec: &CacheSpec) -> Self {
        let sets = u64::from(spec.sets().max(1));
        match (sets.is_power_of_two(), spec.hashed_sets) {
            (true, true) if sets > 1 => Self::Folded {
                mask: sets - 1,
                bits: sets.trailing_zeros(),
            },
            (true, _) => Self::Mask(sets - 1),
            (false, _) => Self::Remainder(sets),
        }
    }

    #[inline]
    fn of(self, line: u64) -> usize {
        let set = match self {
            Self::Mask(mask) => line & mask,
            Self::Folded { mask, bits } => {
                // Higher bits only permute the sets: neighbors still have one each, and strides of
                // a power of two no longer share a few.
                let folded = line ^ (line >> bits);
                (folded ^ (folded >> (2 * bits))) & mask
            }
            Self::Remainder(sets) => line % sets,
        };
        set as usize
    }
}

/// The state of one cache, addressed by line number.
#[derive(Clone, Debug)]
pub struct Cache {
    tags: Vec<u64>,
    lines: Vec<Line>,
    sets: Sets,
    ways: usize,
    /// Lines of a set that may be dirty.
    dirty_ways: usize,
    uses: u64,
    misses: EntryPool,
    counts: CacheCounts,
}

impl Cache {
    /// An empty cache.
    pub fn new(spec: &CacheSpec) -> Self {
        let ways = spec.ways.max(1) as usize;
        let lines = spec.sets().max(1) as usize * ways;
        Self {
            tags: vec![EMPTY; lines],
            lines: vec![Line::default(); lines],
            sets: Sets::new(spec),
            ways,
            dirty_ways: ways,
            uses: 0,
            misses: EntryPool::new(spec.mshr_entries),
            counts: CacheCounts::default(),
        }
    }

    /// The same cache with at most so many dirty lines in a set: a store beyond them writes another of them back, which stays.
    #[must_use]
    pub fn with_dirty_ways(self, dirty_ways: u32) -> Self {
        Self {
            dirty_ways: dirty_ways as usize,
            ..self
        }
    }

    /// Asks for the state of the set of `line` before it is looked up.
    #[inline]
    pub fn warm(&self, line: u64) {
        let first = self.first_way(line);
        warm(&self.tags[first..first + self.ways]);
        warm(&self.lines[first..first + self.ways]);
    }

    /// Looks `line` up for a load at `at`. A miss must be completed with [`Cache::fill`].
    #[inline]
    pub fn load(&mut self, at: Picos, line: u64) -> Lookup {
        if let Some(slot) = self.find(line) {
            self.counts.load_hits += 1;
            return Lookup::Hit(self.touch(slot).data_at.max(at));
        }
        if let Err(free_at) = self.misses.try_admit(at) {
            return Lookup::Blocked(free_at);
        }
        match self.reserve(at, line) {
            Ok((slot, writeback)) => {
                self.counts.load_misses += 1;
                Lookup::Miss(Miss {
                    slot,
                    sectors: ALL_SECTORS,
                    writeback,
                })
            }
            Err(free_at) => Lookup::Blocked(free_at),
        }
    }

    /// As [`Cache::load_parts`], where all of a line waits for what is on its way.
    pub fn load_sectors(&mut self, at: Picos, line: u64, sectors: u8) -> Lookup {
        match self.load_parts(at, line, sectors) {
            Lookup::Hit(there) => {
                let slot = self.find(line).map(|slot| slot as usize);
                let complete = slot.map_or(there, |slot| self.lines[slot].data_at);
                Lookup::Hit(there.max(complete))
            }
            missed => missed,
        }
    }

    /// As [`Cache::load`], of a line that is filled in parts: only `sectors` that are absent miss.
    #[inline]
    pub fn load_parts(&mut self, at: Picos, line: u64, sectors: u8) -> Lookup {
        let Some(slot) = self.find(line) else {
            let mut looked_up = self.load(at, line);
            if let Lookup::Miss(miss) = &mut looked_up {
                miss.sectors = sectors & ALL_SECTORS;
                // `load` expects the whole line; of this one no more comes than was asked for.
                self.lines[miss.slot as usize].set_absent(!sectors);
            }
            return looked_up;
        };
        let missing = sectors & self.lines[slot as usize].absent();
        if missing == 0 {
            self.counts.load_hits += 1;
            return Lookup::Hit(self.touch(slot).there_at(sectors).max(at));
        }
        if let Err(free_at) = self.misses.try_admit(at) {
            return Lookup::Blocked(free_at);
        }
        self.counts.load_misses += 1;
        self.touch(slot).expect(at, missing);
        Lookup::Miss(Miss {
            slot,
            sectors: missing,
            writeback: None,
        })
    }

    /// `sectors` are on their way with those that missed at `at`.
    pub fn bring_along(&mut self, at: Picos, miss: &Miss, sectors: u8) {
        let line = &mut self.lines[miss.slot as usize];
        line.expect(at, sectors & line.absent() | miss.sectors);
    }

    /// Looks `line` up without time, for counting only: whether it was there. It is afterwards.
    #[inline]
    pub fn touch_at_once(&mut self, line: u64) -> bool {
        match self.load(Picos::ZERO, line) {
            Lookup::Hit(_) => true,
            Lookup::Miss(miss) => {
                self.fill(miss, Picos::ZERO);
                false
            }
            Lookup::Blocked(_) => false,
        }
    }

    /// Says when the data of a missed line comes.
    #[inline]
    pub fn fill(&mut self, miss: Miss, data_at: Picos) {
        self.lines[miss.slot as usize].data_at = data_at;
        self.misses.hold_until(data_at);
    }

    /// Stores to `line` under write-through; returns whether the line was there.
    #[inline]
    pub fn store_through(&mut self, line: u64) -> bool {
        let found = self.find(line);
        match found {
            Some(slot) => {
                self.counts.store_hits += 1;
                self.touch(slot);
            }
            None => self.counts.store_misses += 1,
        }
        found.is_some()
    }

    /// Stores to `line` under write-back; its bytes are masked, so nothing is fetched. Returns a dirty line that goes
    /// down: it had to make room, or its set has more than may be dirty.
    ///
    /// # Errors
    /// When no way of the set is free: the time to ask again.
    #[inline]
    pub fn store_back(&mut self, at: Picos, line: u64) -> Result<Option<u64>, Picos> {
        self.store_back_sectors(at, line, ALL_SECTORS)
    }

    /// As [`Cache::store_back`], of a line that is filled in parts: these `sectors` are there afterwards.
    ///
    /// # Errors
    /// As [`Cache::store_back`].
    #[inline]
    pub fn store_back_sectors(
        &mut self,
        at: Picos,
        line: u64,
        sectors: u8,
    ) -> Result<Option<u64>, Picos> {
        if let Some(slot) = self.find(line) {
            self.counts.store_hits += 1;
            let state = self.touch(slot);
            // Written, so there, without having come from memory.
            state.set_absent(state.absent() & !sectors);
            return Ok(self.change(slot));
        }
        let (slot, writeback) = self.reserve(at, line)?;
        self.counts.store_misses += 1;
        let state = &mut self.lines[slot as usize];
        state.mark_dirty();
        state.set_absent(!sectors);
        // One dirty line for another leaves as many as before.
        Ok(writeback.or_else(|| self.clean_one(slot)))
    }

    /// Makes the line of `slot` a dirty one; returns what is written back for it.
    fn change(&mut self, slot: u32) -> Option<u64> {
        let state = &mut self.lines[slot as usize];
        if state.is_dirty() {
            return None;
        }
        state.mark_dirty();
        self.clean_one(slot)
    }

    /// Where more lines of a set than may be are dirty: writes one back other than that of `slot`, and returns it.
    fn clean_one(&mut self, slot: u32) -> Option<u64> {
        if self.dirty_ways >= self.ways {
            return None;
        }
        let slot = slot as usize;
        let set = slot / self.ways * self.ways;
        let dirty = |way: &usize| *way != slot && self.lines[*way].is_dirty();
        let others = (set..set + self.ways).filter(dirty);
        if others.clone().count() < self.dirty_ways {
            return None;
        }
        // The newest: what stays dirty is spread over the order in which lines leave, and has all of its parts by then.
        let way = others.max_by_key(|&way| self.lines[way].last_use)?;
        self.lines[way].last_use &= !Line::DIRTY;
        self.counts.writebacks += 1;
        Some(self.tags[way])
    }

    /// Changes `line` in place, if it is there. Returns a dirty line of its set that goes down, as [`Cache::store_back`] does.
    pub fn change_in_place(&mut self, line: u64) -> Option<u64> {
        let slot = self.find(line)?;
        self.change(slot)
    }

    /// Marks `line` as changed if it is there; returns whether it is.
    #[inline]
    pub fn mark_dirty(&mut self, line: u64) -> bool {
        let found = self.find(line);
        if let Some(slot) = found {
            self.lines[slot as usize].mark_dirty();
        }
        found.is_some()
    }

    /// `line` is there from `at` on; memory has it too, unless it is dirty. Nothing is counted,
    /// and what has to make room is written back meanwhile. Where no way is free it is not there.
    pub fn place(&mut self, at: Picos, line: u64, is_dirty: bool) {
        // No access of the program: what is put there beforehand must not show in its rates.
        let counts = self.counts;
        let slot = match self.find(line) {
            Some(slot) => Some(slot),
            None => self.reserve(at, line).ok().map(|(slot, _)| slot),
        };
        if let Some(slot) = slot {
            let state = self.touch(slot);
            state.set_absent(0);
            if is_dirty {
                self.change(slot);
            }
        }
        self.counts = counts;
    }

    /// Forgets every line.
    pub fn invalidate_all(&mut self) {
        self.tags.fill(EMPTY);
        self.lines.fill(Line::default());
    }

    /// Forgets `line` if it is there.
    pub fn invalidate(&mut self, line: u64) {
        if let Some(slot) = self.find(line) {
            self.tags[slot as usize] = EMPTY;
            self.lines[slot as usize] = Line::default();
        }
    }

    /// Forgets every line that `condemned` names.
    pub fn invalidate_where(&mut self, mut condemned: impl FnMut(u64) -> bool) {
        for (tag, line) in self.tags.iter_mut().zip(&mut self.lines) {
            if *tag != EMPTY && condemned(*tag) {
                *tag = EMPTY;
                *line = Line::default();
            }
        }
    }

    /// How many lines the cache holds at most.
    pub fn capacity_lines(&self) -> usize {
        self.tags.len()
    }

    /// What was counted.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    #[inline]
    fn first_way(&self, line: u64) -> usize {
        self.sets.of(line) * self.ways
    }

    #[inline]
    fn find(&self, line: u64) -> Option<u32> {
        let first = self.first_way(line);
        let way = self.tags[first..first + self.ways]
            .iter()
            .position(|&tag| tag == line)?;
        Some((first + way) as u32)
    }

    #[inline]
    fn touch(&mut self, slot: u32) -> &mut Line {
        self.uses += Line::USE;
        let line = &mut self.lines[slot as usize];
        // The number lies above the state bits, so the smallest word is the line that was used least recently.
        line.last_use = self.uses | (line.last_use & Line::STATE);
        line
    }

    /// Gives `line` the least recently used way whose data is not on the way; if all are, says when the first is complete.
    #[inline]
    fn reserve(&mut self, at: Picos, line: u64) -> Result<(u32, Option<u64>), Picos> {
        let first = self.first_way(line);
        let ways = &self.lines[first..first + self.ways];
        let mut way = 0;
        let mut oldest = u64::MAX;
        for (index, state) in ways.iter().enumerate() {
            // Data that are on their way need the way they were promised: such a line is as if it were the newest.
            let last_use = if state.data_at <= at {
                state.last_use
            } else {
                u64::MAX
            };
            way = if last_use < oldest { index } else { way };
            oldest = oldest.min(last_use);
        }
        if oldest == u64::MAX {
            return Err(ways.iter().map(|state| state.data_at).min().unwrap_or(at));
        }
        let slot = first + way;
        let dirty = self.lines[slot].is_dirty();
        let writeback = dirty.then_some(self.tags[slot]);
        self.counts.writebacks += u64::from(dirty);
        self.tags[slot] = line;
        self.uses += Line::USE;
        self.lines[slot] = Line {
            data_at: at,
            last_use: self.uses | u64::from(ALL_SECTORS) << Line::COMING_SHIFT,
        };
        Ok((slot as u32, writeback))
    }
}

#[cfg(test)]
mod tests;
