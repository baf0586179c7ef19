use rustc_hash::FxHashMap;

/// Reuse distances of lines in one fully associative, least-recently-used cache (Mattson et al. 1970).
///
/// What other tools call a miss-ratio curve. It ignores sets, so for page colors it is an approximation; it is here
/// to say how far off it is.
#[derive(Debug, Default)]
pub struct StackDistance {
    /// When each line was last touched: a place in `live`.
    touched: FxHashMap<u64, usize>,
    /// 1 at the last touch of each line; sums by binary index (Fenwick 1994).
    live: Vec<u32>,
    now: usize,
    /// `distances[d]`: touches with d other lines since the last one of the same line.
    distances: Vec<u64>,
    references: u64,
}

impl StackDistance {
    /// No touch yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Touches `line`.
    pub fn touch(&mut self, line: u64) {
        self.references += 1;
        if self.now == self.live.len() {
            self.compact();
        }
        if let Some(before) = self.touched.insert(line, self.now) {
            // Each line is marked at its last touch alone, so the marks after `before` are the lines that were touched since.
            let others = self.sum(self.now) - self.sum(before + 1);
            self.add(before, u32::MAX);
            let distance = others as usize;
            if distance >= self.distances.len() {
                self.distances.resize(distance + 1, 0);
            }
            self.distances[distance] += 1;
        }
        self.add(self.now, 1);
        self.now += 1;
    }

    /// Misses of a cache of `lines` lines.
    pub fn misses(&self, lines: usize) -> u64 {
        let hits: u64 = self.distances.iter().take(lines).sum();
        self.references - hits
    }

    /// Touches so far.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Forgets times without a line, so that memory follows the lines and not the trace.
    fn compact(&mut self) {
        let mut lines: Vec<(usize, u64)> = self
            .touched
            .iter()
            .map(|(line, time)| (*time, *line))
            .collect();
        lines.sort_unstable();
        self.now = lines.len();
        // Room for as many touches again as there are lines: renumbering costs a touch no more than a look-up does.
        self.live = vec![0; (2 * lines.len()).max(1024)];
        for (time, (_, line)) in lines.into_iter().enumerate() {
            self.touched.insert(line, time);
            self.add(time, 1);
        }
    }

    /// Adds `change`, modulo 2^32, at `time`.
    fn add(&mut self, time: usize, change: u32) {
        let mut place = time + 1;
        while place <= self.live.len() {
            self.live[place - 1] = self.live[place - 1].wrapping_add(change);
            place += place & place.wrapping_neg();
        }
    }

    /// The lines whose last touch is before `time`.
    fn sum(&self, time: usize) -> u32 {
        let (mut place, mut sum) = (time, 0_u32);
        while place > 0 {
            sum = sum.wrapping_add(self.live[place - 1]);
            place &= place - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_are_those_of_a_list(lines in prop::collection::vec(0_u64..40, 0..4000)) {
            let mut stack = StackDistance::new();
            let mut list: Vec<u64> = Vec::new();
            let mut misses = [0_u64; 45];
            for line in &lines {
                stack.touch(*line);
                let at = list.iter().position(|known| known == line);
                for (size, misses) in misses.iter_mut().enumerate() {
                    *misses += u64::from(at.is_none_or(|at| at >= size));
                }
                if let Some(at) = at {
                    list.remove(at);
                }
                list.insert(0, *line);
            }
            for (size, misses) in misses.iter().enumerate() {
                prop_assert_eq!(stack.misses(size), *misses, "{} lines", size);
            }
        }
    }
}
