/// Sets of caches, each least recently used first out. A set is a ring of (stamp, line) pairs.
///
/// A stamp is the time of the line's last touch when it was noted here. Later touches are noted with the line alone, so a hit
/// costs nothing here. A ring starts in the order of stamps: if the stamp at its front is still right, that line is the least
/// recently used. If it is not, all stamps are brought up to date and sorted, at a time T. From then on, and until the front has
/// been around, a line with a wrong stamp was touched after T, as all lines were that came since: it is passed over.
#[derive(Debug)]
pub struct Queues {
    ways: usize,
    /// `ways` entries of each set: stamp in the high half, line in the low half.
    entries: Vec<u64>,
    fills: Vec<Fill>,
}

/// How far a set is.
#[derive(Clone, Copy, Debug, Default)]
struct Fill {
    /// Entries that are in use.
    used: u8,
    /// The front: the next entry that may be the oldest.
    next: u8,
    /// Entries from `next` to the end are in the order in which they were sorted, so that wrong stamps are passed over.
    is_sorted: bool,
    /// Some were: the ring is not in order when the front comes to its start.
    has_passed: bool,
}

#[inline]
fn entry(stamp: u32, line: u32) -> u64 {
    u64::from(stamp) << 32 | u64::from(line)
}

#[inline]
fn line_of(entry: u64) -> u32 {
    entry as u32
}

impl Queues {
    /// `sets` empty sets of at most 255 `ways`.
    pub fn new(sets: usize, ways: u8) -> Self {
        Self {
            ways: ways.into(),
            entries: vec![0; sets * usize::from(ways)],
            fills: vec![Fill::default(); sets],
        }
    }

    /// Puts `line`, touched at `now`, into `set`, and returns the least recently used line if it has to make room.
    /// `touched` tells when a line was last touched; `now` is later than all of them.
    #[inline]
    pub fn insert(
        &mut self,
        set: usize,
        line: u32,
        now: u32,
        touched: impl Fn(u32) -> u32,
    ) -> Option<u32> {
        let set_entries = &mut self.entries[set * self.ways..(set + 1) * self.ways];
        let fill = &mut self.fills[set];
        if usize::from(fill.used) < self.ways {
            set_entries[usize::from(fill.used)] = entry(now, line);
            fill.used += 1;
            // In the order of stamps, but later than the sorting.
            fill.is_sorted = false;
            return None;
        }
        loop {
            if usize::from(fill.next) == self.ways {
                let is_in_order = !fill.has_passed;
                *fill = Fill {
                    next: 0,
                    is_sorted: false,
                    has_passed: false,
                    ..*fill
                };
                if !is_in_order {
                    sort(set_entries, fill, &touched);
                }
            }
            let oldest = &mut set_entries[usize::from(fill.next)];
            let victim = line_of(*oldest);
            if entry(touched(victim), victim) == *oldest {
                *oldest = entry(now, line);
                fill.next += 1;
                return Some(victim);
            }
            if fill.is_sorted {
                fill.has_passed = true;
                fill.next += 1;
            } else {
                sort(set_entries, fill, &touched);
            }
        }
    }

    /// Gives every entry the stamp `touched`, after times were renumbered.
    pub fn restamp(&mut self, touched: impl Fn(u32) -> u32) {
        for (entries, fill) in self.entries.chunks_mut(self.ways).zip(&mut self.fills) {
            sort(&mut entries[..fill.used.into()], fill, &touched);
        }
    }
}

/// Brings all stamps up to date and sorts the set.
fn sort(entries: &mut [u64], fill: &mut Fill, touched: &impl Fn(u32) -> u32) {
    for entry_of_line in entries.iter_mut() {
        let line = line_of(*entry_of_line);
        *entry_of_line = entry(touched(line), line);
    }
    entries.sort_unstable();
    *fill = Fill {
        next: 0,
        is_sorted: true,
        has_passed: false,
        ..*fill
    };
}
