use super::Organization;

/// Where a line lies in the cache: an index below [`AttCache::slots`], for what a caller remembers about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Answer to a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The entry's line is here.
    Hit(Slot),
    /// It was not; it is now, and the caller reads it from the table.
    Miss(Slot),
}

/// Which lines of the table are cached. It holds no entries and knows no time: an entry's value is its page, and when a
/// line's data comes is the caller's business.
#[derive(Debug)]
pub struct AttCache {
    organization: Organization,
    line_shift: u32,
    ways: u32,
    /// Empty until the first look-up: thousands of idle interfaces cost nothing.
    tags: Vec<u64>,
    last_use: Vec<u64>,
    uses: u64,
}

const EMPTY: u64 = u64::MAX;

impl AttCache {
    /// An empty cache.
    pub fn new(organization: Organization) -> Self {
        Self {
            line_shift: organization.line_entries.trailing_zeros(),
            ways: organization.ways,
            organization,
            tags: Vec::new(),
            last_use: Vec::new(),
            uses: 0,
        }
    }

    /// How it is organized.
    pub fn organization(&self) -> &Organization {
        &self.organization
    }

    /// Lines that it can hold.
    pub fn slots(&self) -> u32 {
        self.organization.sets * self.ways
    }

    /// The line that holds entry `entry` of the table.
    #[inline]
    pub fn line_of(&self, entry: u64) -> u64 {
        entry >> self.line_shift
    }

    /// Looks the line of `entry` up for use; a miss takes the place of the least recently used line of its set.
    #[inline]
    pub fn lookup(&mut self, entry: u64) -> Lookup {
        self.lookup_line(self.line_of(entry))
    }

    /// As [`AttCache::lookup`], of a line.
    #[inline]
    pub fn lookup_line(&mut self, line: u64) -> Lookup {
        if self.tags.is_empty() {
            self.tags = vec![EMPTY; self.slots() as usize];
            self.last_use = vec![
                0;
                if self.ways > 1 {
                    self.slots() as usize
                } else {
                    0
                }
            ];
        }
        let first = (self.organization.set_of(line) * self.ways) as usize;
        // The published cache. Without an order of use it needs half of the state, which counts where thousands of
        // interfaces have one.
        if self.ways == 1 {
            let tag = &mut self.tags[first];
            let slot = Slot(first as u32);
            if *tag == line {
                return Lookup::Hit(slot);
            }
            *tag = line;
            return Lookup::Miss(slot);
        }
        self.uses += 1;
        let set = first..first + self.ways as usize;
        let found = set.clone().find(|&slot| self.tags[slot] == line);
        let slot = found.unwrap_or_else(|| {
            // An unused place was last used at 0.
            set.min_by_key(|&slot| self.last_use[slot]).unwrap_or(first)
        });
        self.last_use[slot] = self.uses;
        self.tags[slot] = line;
        let place = Slot(slot as u32);
        if found.is_some() {
            Lookup::Hit(place)
        } else {
            Lookup::Miss(place)
        }
    }

    /// Whether the line of `entry` is here; changes nothing.
    pub fn contains(&self, entry: u64) -> bool {
        let line = self.line_of(entry);
        let first = (self.organization.set_of(line) * self.ways) as usize;
        let set = first..first + self.ways as usize;
        self.tags.get(set).is_some_and(|set| set.contains(&line))
    }

    /// Forgets the line of `entry`; returns whether it was here.
    pub fn forget(&mut self, entry: u64) -> bool {
        let line = self.line_of(entry);
        let first = (self.organization.set_of(line) * self.ways) as usize;
        let set = first..(first + self.ways as usize).min(self.tags.len());
        let Some(slot) = set.into_iter().find(|&slot| self.tags[slot] == line) else {
            return false;
        };
        self.tags[slot] = EMPTY;
        if let Some(last_use) = self.last_use.get_mut(slot) {
            *last_use = 0;
        }
        true
    }

    /// Forgets every line that holds an entry from `first` to `last`, both included. Returns how many there were.
    pub fn invalidate(&mut self, first: u64, last: u64) -> u32 {
        let lines = self.line_of(first)..=self.line_of(last);
        let mut forgotten = 0;
        // Over the slots and not the lines: a range of memory can have more lines than the cache.
        for (slot, tag) in self.tags.iter_mut().enumerate() {
            if *tag != EMPTY && lines.contains(tag) {
                *tag = EMPTY;
                if let Some(last_use) = self.last_use.get_mut(slot) {
                    *last_use = 0;
                }
                forgotten += 1;
            }
        }
        forgotten
    }

    /// Bytes of host memory that its state takes.
    pub fn state_bytes(&self) -> usize {
        (self.tags.capacity() + self.last_use.capacity()) * size_of::<u64>()
    }
}
