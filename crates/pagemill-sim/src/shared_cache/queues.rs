/// The sets of one cache. Each is a queue of (stamp, line), the lowest stamp first.
///
/// A stamp is the time of the line's last touch when it was queued. Later touches are noted with the line alone, so a hit
/// costs nothing here; the front is brought up to date when a victim is needed.
#[derive(Debug)]
pub struct Queues {
    ways: u32,
    /// `ways` entries of each set: a ring. Stamp in the high half, line in the low half.
    entries: Vec<u64>,
    /// Where the front of each set is, and how many entries it has.
    fronts: Vec<(u8, u8)>,
}

#[inline]
fn entry(stamp: u32, line: u32) -> u64 {
    u64::from(stamp) << 32 | u64::from(line)
}

#[inline]
fn line_of(entry: u64) -> u32 {
    entry as u32
}

#[inline]
fn stamp_of(entry: u64) -> u32 {
    (entry >> 32) as u32
}

impl Queues {
    /// `sets` empty sets of at most 255 `ways`.
    pub fn new(sets: usize, ways: u8) -> Self {
        Self {
            ways: u32::from(ways),
            entries: vec![0; sets * usize::from(ways)],
            fronts: vec![(0, 0); sets],
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
        let ways = self.ways as usize;
        let ring = &mut self.entries[set * ways..(set + 1) * ways];
        let (front, used) = &mut self.fronts[set];
        if usize::from(*used) < ways {
            // The front stays in place 0 until the set is full.
            ring[usize::from(*used)] = entry(now, line);
            *used += 1;
            return None;
        }
        loop {
            let place = usize::from(*front);
            let oldest = ring[place];
            let last = touched(line_of(oldest));
            if last == stamp_of(oldest) {
                ring[place] = entry(now, line);
                *front = next(place, ways) as u8;
                return Some(line_of(oldest));
            }
            put_back(ring, place, entry(last, line_of(oldest)));
        }
    }

    /// Gives every entry the stamp `touched` and restores the order.
    pub fn restamp(&mut self, touched: impl Fn(u32) -> u32) {
        let ways = self.ways as usize;
        for (ring, (front, used)) in self.entries.chunks_mut(ways).zip(&mut self.fronts) {
            *front = 0;
            let ring = &mut ring[..usize::from(*used)];
            for entry_of_line in ring.iter_mut() {
                let line = line_of(*entry_of_line);
                *entry_of_line = entry(touched(line), line);
            }
            ring.sort_unstable();
        }
    }
}

#[inline]
fn next(place: usize, ways: usize) -> usize {
    if place + 1 == ways { 0 } else { place + 1 }
}

/// Moves the front, which is at `place`, behind everything older than `fresh`, its new value.
fn put_back(ring: &mut [u64], place: usize, fresh: u64) {
    let ways = ring.len();
    let mut hole = place;
    for _ in 1..ways {
        let after = next(hole, ways);
        if ring[after] > fresh {
            break;
        }
        ring[hole] = ring[after];
        hole = after;
    }
    ring[hole] = fresh;
}
