use pagemill_policy::replacement::{Misses, Request};

const NONE: u32 = u32::MAX;

/// Times that the first index has room for.
const TIMES_MIN: usize = if cfg!(test) { 8 } else { 1024 };

/// The misses of least-recently-used caches of many capacities, exact, in one pass.
///
/// An object hits where the bytes requested since its last request, each object once, and its own bytes fit (Mattson et al.
/// 1970). An object that is larger than a capacity is never admitted there, and takes no room. So objects are divided into
/// bands by the number of capacities that they exceed, and capacity k looks at bands 0 to k. Few bands have objects.
#[derive(Clone, Debug)]
pub struct LruSweep {
    /// Ascending.
    capacities: Vec<u64>,
    /// When each object was last requested; `NONE` for never.
    last: Vec<u32>,
    /// The object whose last request was at each time, and its bytes; `NONE` where it was requested again.
    at: Vec<(u32, u32)>,
    now: usize,
    /// Live bytes by time, for each band; empty where a band has no object.
    bands: Vec<Sums>,
    /// Hits from each capacity on, up to the next change: differences.
    hits: Vec<(i64, i64)>,
    requested: Misses,
}

impl LruSweep {
    /// Empty caches of these capacities in bytes, which ascend.
    pub fn new(capacities: &[u64]) -> Self {
        Self {
            capacities: capacities.to_vec(),
            last: Vec::new(),
            at: vec![(NONE, 0); TIMES_MIN],
            now: 0,
            bands: vec![Sums::default(); capacities.len()],
            hits: vec![(0, 0); capacities.len() + 1],
            requested: Misses::default(),
        }
    }

    /// Requests, in order.
    pub fn requests(&mut self, requests: &[Request]) {
        requests.iter().for_each(|request| self.request(*request));
    }

    /// Misses of each capacity.
    pub fn misses(&self) -> Vec<Misses> {
        let mut hits = (0, 0);
        let count = self.capacities.len();
        let misses = self.hits[..count].iter().map(|change| {
            hits = (hits.0 + change.0, hits.1 + change.1);
            Misses {
                objects: self.requested.objects - hits.0 as u64,
                bytes: self.requested.bytes - hits.1 as u64,
            }
        });
        misses.collect()
    }

    fn request(&mut self, request: Request) {
        let Request { object, bytes, .. } = request;
        self.requested.add(bytes);
        let index = object as usize;
        if index >= self.last.len() {
            self.last.resize(index + 1, NONE);
        }
        let band = self.band_of(bytes);
        let before = self.last[index];
        if before != NONE {
            let before = before as usize;
            self.count_hits(band, u64::from(bytes), before);
            if before + 1 == self.now {
                return;
            }
            self.at[before] = (NONE, 0);
            if let Some(sums) = self.bands.get_mut(band) {
                sums.add(before, u64::from(bytes).wrapping_neg());
            }
        }
        // Objects that fit nowhere take no room anywhere.
        if band == self.bands.len() {
            return;
        }
        if self.now == self.at.len() {
            self.compact();
        }
        self.at[self.now] = (object, bytes);
        self.last[index] = self.now as u32;
        self.bands[band].grow(self.at.len());
        self.bands[band].add(self.now, u64::from(bytes));
        self.now += 1;
    }

    /// How many capacities an object exceeds.
    #[inline]
    fn band_of(&self, bytes: u32) -> usize {
        match self.capacities.first() {
            Some(smallest) if *smallest >= u64::from(bytes) => 0,
            _ => self
                .capacities
                .partition_point(|capacity| *capacity < u64::from(bytes)),
        }
    }

    /// The object of `band`, last requested at `before`, is requested: where does it hit?
    fn count_hits(&mut self, band: usize, bytes: u64, before: usize) {
        let count = self.capacities.len();
        let mut needed = 0;
        let mut first = 0;
        while first < count {
            if !self.bands[first].is_empty() {
                // With those before, and the object itself.
                needed += self.bands[first].from(before);
            }
            let next = (first + 1..count)
                .find(|band| !self.bands[*band].is_empty())
                .unwrap_or(count);
            if next > band {
                let fits =
                    self.capacities[first..next].partition_point(|capacity| *capacity < needed);
                let from = (first + fits).max(band);
                if from < next {
                    self.hits[from].0 += 1;
                    self.hits[from].1 += bytes as i64;
                    self.hits[next].0 -= 1;
                    self.hits[next].1 -= bytes as i64;
                }
            }
            first = next;
        }
    }

    /// Forgets times whose object was requested again, so that memory follows the objects and not the requests.
    fn compact(&mut self) {
        let live: Vec<(u32, u32)> = self.at[..self.now]
            .iter()
            .copied()
            .filter(|(object, _)| *object != NONE)
            .collect();
        let times = (2 * live.len()).max(TIMES_MIN);
        self.now = live.len();
        self.at = live;
        self.at.resize(times, (NONE, 0));
        for band in &mut self.bands {
            band.clear(times);
        }
        for time in 0..self.now {
            let (object, bytes) = self.at[time];
            self.last[object as usize] = time as u32;
            let band = self.band_of(bytes);
            self.bands[band].set(time, u64::from(bytes));
        }
        self.bands.iter_mut().for_each(Sums::build);
    }
}

/// Values by time with their sums: a binary indexed tree (Fenwick 1994), and the sum of all.
#[derive(Clone, Debug, Default)]
struct Sums {
    tree: Vec<u64>,
    all: u64,
}

impl Sums {
    fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Makes room for the first value.
    #[inline]
    fn grow(&mut self, times: usize) {
        if self.tree.is_empty() {
            self.tree = vec![0; times];
        }
    }

    /// All values are 0, at `times` times; nothing where there never was a value.
    fn clear(&mut self, times: usize) {
        if !self.tree.is_empty() {
            self.tree = vec![0; times];
            self.all = 0;
        }
    }

    /// A value before the tree is built.
    fn set(&mut self, time: usize, value: u64) {
        self.tree[time] = value;
        self.all += value;
    }

    fn build(&mut self) {
        for place in 1..=self.tree.len() {
            let above = place + (place & place.wrapping_neg());
            if above <= self.tree.len() {
                self.tree[above - 1] = self.tree[above - 1].wrapping_add(self.tree[place - 1]);
            }
        }
    }

    /// Adds `change`, modulo 2^64, at `time`.
    #[inline]
    fn add(&mut self, time: usize, change: u64) {
        self.all = self.all.wrapping_add(change);
        let mut place = time + 1;
        while let Some(sum) = self.tree.get_mut(place - 1) {
            *sum = sum.wrapping_add(change);
            place += place & place.wrapping_neg();
        }
    }

    /// The sum of the values at `time` and after.
    #[inline]
    fn from(&self, time: usize) -> u64 {
        let (mut place, mut before) = (time, 0_u64);
        while place > 0 {
            before = before.wrapping_add(self.tree[place - 1]);
            place &= place - 1;
        }
        self.all.wrapping_sub(before)
    }
}

#[cfg(test)]
mod tests;
