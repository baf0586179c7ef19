use super::queues::Queues;

/// One place of a page in all caches: for each number of colors, the sets that lines at this place may be in.
///
/// Lines at different places never share a set, so that each place can be swept on its own, a batch of touches at a time,
/// while everything it needs stays near.
#[derive(Debug)]
pub struct Place {
    /// Of the line of each page at this place.
    lines: Vec<Line>,
    /// All sets: those of the first number of colors, then those of the second, and so on.
    sets: Queues,
    /// Time in touches.
    clock: u32,
    clock_max: u32,
    /// For each number of colors.
    misses: Vec<u64>,
}

/// A line of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Bit j: it is in the cache of the j-th number of colors.
    cached: u64,
    /// The time of its last touch.
    touched: u32,
}

/// What places have in common.
#[derive(Debug)]
pub struct Sweep {
    /// Of each number of colors, its first set.
    pub first_sets: Vec<u32>,
    /// The color of each page for each number of colors.
    pub page_colors: Vec<u16>,
}

impl Place {
    /// Empty sets, for `counts` numbers of colors.
    pub fn new(counts: usize, sets: usize, ways: u8, clock_max: u32) -> Self {
        Self {
            lines: Vec::new(),
            sets: Queues::new(sets, ways),
            clock: 0,
            clock_max,
            misses: vec![0; counts],
        }
    }

    /// Touches the lines of `pages` one after the other. Pages are below `pages_max`.
    pub fn touch(&mut self, pages: &[u32], pages_max: usize, sweep: &Sweep) {
        if self.lines.len() < pages_max {
            self.lines.resize(pages_max, Line::default());
        }
        let all = u64::MAX >> (64 - self.misses.len());
        for page in pages {
            if self.clock == self.clock_max {
                self.restart_clock();
            }
            self.clock += 1;
            let line = &mut self.lines[*page as usize];
            line.touched = self.clock;
            let missing = all & !line.cached;
            if missing != 0 {
                line.cached = all;
                self.miss(*page, missing, sweep);
            }
        }
    }

    /// Misses for each number of colors.
    pub fn misses(&self) -> &[u64] {
        &self.misses
    }

    /// Puts the line of `page` into every cache that is `missing` it.
    fn miss(&mut self, page: u32, mut missing: u64, sweep: &Sweep) {
        let count = self.misses.len();
        let colors = &sweep.page_colors[page as usize * count..][..count];
        while missing != 0 {
            let cache = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            self.misses[cache] += 1;
            let set = sweep.first_sets[cache] + u32::from(colors[cache]);
            let lines = &self.lines;
            let touched = |line: u32| lines[line as usize].touched;
            if let Some(victim) = self.sets.insert(set as usize, page, self.clock, touched) {
                self.lines[victim as usize].cached &= !(1 << cache);
            }
        }
    }

    /// Replaces the times of all touches by their ranks, so that the clock can go on.
    fn restart_clock(&mut self) {
        let mut times: Vec<u32> = self
            .lines
            .iter()
            .map(|line| line.touched)
            .filter(|time| *time > 0)
            .collect();
        times.sort_unstable();
        for line in &mut self.lines {
            if line.touched > 0 {
                line.touched = times.partition_point(|time| *time <= line.touched) as u32;
            }
        }
        self.clock = times.len() as u32;
        let lines = &self.lines;
        self.sets.restamp(|line| lines[line as usize].touched);
    }
}
