/// Sets of caches from which the least recently used line goes first.
///
/// A hit costs nothing here: only the time of a line's last touch is noted, elsewhere. A set is sorted by these times once in a
/// while, at a time T. From then on its front is the least recently used line if it was not touched after T; if it was, it
/// is passed over, as are the lines that came since. When the front has been around, the set is sorted again.
#[derive(Debug)]
pub struct Queues {
    ways: usize,
    /// `ways` lines of each set.
    lines: Vec<u32>,
    fills: Vec<Fill>,
    /// Room for sorting.
    keys: Vec<u64>,
}

/// How far a set is.
#[derive(Clone, Copy, Debug)]
struct Fill {
    /// When the set was sorted.
    sorted: u32,
    /// Lines in the set.
    used: u8,
    /// The front: the next line that may be the oldest.
    next: u8,
}

impl Queues {
    /// `sets` empty sets of at most 255 `ways`.
    pub fn new(sets: usize, ways: u8) -> Self {
        Self {
            ways: ways.into(),
            lines: vec![0; sets * usize::from(ways)],
            fills: vec![Fill::unsorted(ways); sets],
            keys: Vec::new(),
        }
    }

    /// Puts `line`, touched at `now`, into `set`, and returns the least recently used line if it has to make room.
    /// `touched` is when a line was last touched; `now` is later than all of them.
    #[inline]
    pub fn insert(
        &mut self,
        set: usize,
        line: u32,
        now: u32,
        touched: impl Fn(u32) -> u32,
    ) -> Option<u32> {
        let lines = &mut self.lines[set * self.ways..][..self.ways];
        let fill = &mut self.fills[set];
        if usize::from(fill.used) < self.ways {
            lines[usize::from(fill.used)] = line;
            fill.used += 1;
            return None;
        }
        loop {
            if usize::from(fill.next) == self.ways {
                sort(lines, &mut self.keys, &touched);
                fill.next = 0;
                fill.sorted = now;
            }
            let front = &mut lines[usize::from(fill.next)];
            fill.next += 1;
            if touched(*front) <= fill.sorted {
                return Some(std::mem::replace(front, line));
            }
        }
    }

    /// Takes all lines out of `set` into `lines`, the least recently used first.
    pub fn take(&mut self, set: usize, touched: impl Fn(u32) -> u32, lines: &mut Vec<u32>) {
        let used = usize::from(self.fills[set].used);
        let of_set = &mut self.lines[set * self.ways..][..used];
        sort(of_set, &mut self.keys, &touched);
        lines.clear();
        lines.extend_from_slice(of_set);
        self.fills[set].used = 0;
    }

    /// Fills the empty `set`.
    pub fn put(&mut self, set: usize, lines: impl Iterator<Item = u32>) {
        let of_set = &mut self.lines[set * self.ways..][..self.ways];
        let used = of_set
            .iter_mut()
            .zip(lines)
            .map(|(place, line)| *place = line)
            .count();
        self.fills[set].used = used as u8;
        self.fills[set].next = self.ways as u8;
    }

    /// Sorts every set again before its next line goes: times were renumbered.
    pub fn forget_times(&mut self) {
        let ways = self.ways as u8;
        self.fills.iter_mut().for_each(|fill| fill.next = ways);
    }
}

impl Fill {
    /// No line, and to be sorted before the first one goes.
    fn unsorted(ways: u8) -> Self {
        Self {
            sorted: 0,
            used: 0,
            next: ways,
        }
    }
}

/// Sorts lines by the times of their last touches.
fn sort(lines: &mut [u32], keys: &mut Vec<u64>, touched: &impl Fn(u32) -> u32) {
    keys.clear();
    keys.extend(
        lines
            .iter()
            // Time and line in one number: sorting looks up no time again, and carries the lines along.
            .map(|line| u64::from(touched(*line)) << 32 | u64::from(*line)),
    );
    keys.sort_unstable();
    for (line, key) in lines.iter_mut().zip(keys) {
        *line = *key as u32;
    }
}
