use super::kernel::{GROUP, Kernel, WAYS_MAX};
use super::ordered::OrderedSets;
use super::queues::Queues;
use super::windows::Windows;

/// One place of a page in all caches: for each number of colors, the sets that lines at this place may be in.
///
/// Lines at different places never share a set, so that each place can be swept on its own, a batch of touches at a time,
/// while everything it needs stays near.
#[derive(Debug)]
pub struct Place {
    /// Of the line of each page at this place.
    lines: Vec<Line>,
    ways: u8,
    windows: Windows,
    /// All sets: those of the first number of colors, then those of the second, and so on.
    sets: Queues,
    /// The sets of caches that miss often.
    ordered: OrderedSets,
    /// Time in touches.
    clock: u32,
    clock_max: u32,
    /// For each number of colors.
    misses: Vec<u64>,
    /// Of each group of caches: by how many misses the other way to keep its sets would have been faster.
    regrets: Vec<u64>,
}

/// A line of memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Bit j: it is in the cache of the j-th number of colors.
    cached: u64,
    /// The time of its last touch.
    touched: u32,
    /// The same for [`Windows`].
    pub seen: u32,
}

/// What places have in common.
#[derive(Debug)]
pub struct Sweep {
    /// The numbers of colors: of each cache.
    pub colors: Vec<u16>,
    /// Of each cache, its first set.
    pub first_sets: Vec<u32>,
    /// The color of each page for each number of colors, by groups.
    pub page_colors: Vec<[u16; GROUP]>,
    /// How ordered sets are touched.
    pub kernel: Kernel,
}

/// Touches after which it is asked again how sets should be kept.
const CHUNK: usize = if cfg!(test) { 3 } else { 512 };

/// How many misses in queues take as long as to sort a set; measured.
const MISSES_FOR_A_SORT: u64 = if cfg!(test) { 0 } else { 4 };

impl Sweep {
    /// Sets of the caches of a group.
    fn group_sets(&self, group: usize) -> u64 {
        let colors = self.colors.chunks(GROUP).nth(group);
        colors
            .into_iter()
            .flatten()
            .map(|colors| u64::from(*colors))
            .sum()
    }

    fn groups(&self) -> usize {
        self.colors.len().div_ceil(GROUP)
    }

    /// The set of `page` among all sets of a place.
    fn set(&self, page: u32, cache: usize) -> usize {
        let colors = &self.page_colors[page as usize * self.groups() + cache / GROUP];
        self.first_sets[cache] as usize + usize::from(colors[cache % GROUP])
    }

    /// The next page.
    pub fn add_page(&mut self, page: u32) {
        for colors in self.colors.chunks(GROUP) {
            let mut page_colors = [0; GROUP];
            for (color, colors) in page_colors.iter_mut().zip(colors) {
                *color = (page % u32::from(*colors)) as u16;
            }
            self.page_colors.push(page_colors);
        }
    }
}

impl Place {
    /// Empty sets, for `counts` numbers of colors.
    pub fn new(counts: usize, sets: usize, ways: u8, clock_max: u32) -> Self {
        let groups = counts.div_ceil(GROUP);
        Self {
            lines: Vec::new(),
            ways,
            windows: Windows::new(ways, clock_max),
            sets: Queues::new(sets, ways),
            ordered: OrderedSets::new(groups),
            clock: 0,
            clock_max,
            misses: vec![0; counts],
            regrets: vec![0; groups],
        }
    }

    /// Touches the lines of `pages` one after the other. Pages are below `pages_max`.
    pub fn touch(&mut self, pages: &[u32], pages_max: usize, sweep: &Sweep) {
        if self.lines.len() < pages_max {
            self.lines.resize(pages_max, Line::default());
        }
        let short = self.windows.shorten(pages, &mut self.lines);
        for pages in short.chunks(CHUNK) {
            if !self.ordered.make_room(pages.len()) {
                (0..sweep.groups()).for_each(|group| self.queue(group, sweep));
            }
            let before = self.group_misses();
            self.ordered.touch(
                sweep.kernel,
                self.ways,
                pages,
                &sweep.page_colors,
                &mut self.misses,
            );
            self.touch_queued(pages, sweep);
            self.choose(pages.len(), &before, sweep);
        }
        self.windows.reuse(short);
    }

    /// Touches the caches whose sets are queues.
    fn touch_queued(&mut self, pages: &[u32], sweep: &Sweep) {
        let queued = u64::MAX >> (64 - self.misses.len()) & !self.ordered.caches();
        for page in pages {
            if self.clock == self.clock_max {
                self.restart_clock();
            }
            self.clock += 1;
            let line = &mut self.lines[*page as usize];
            line.touched = self.clock;
            let missing = queued & !line.cached;
            if missing != 0 {
                // Wherever it missed it is now: each of these caches brings the line in.
                line.cached |= queued;
                self.miss(*page, missing, sweep);
            }
        }
    }

    /// Misses for each number of colors.
    pub fn misses(&self) -> &[u64] {
        &self.misses
    }

    fn group_misses(&self) -> Vec<u64> {
        let groups = self.misses.chunks(GROUP);
        groups.map(|misses| misses.iter().sum()).collect()
    }

    /// Keeps the sets of each group in the other way when that would have been faster by more than the change costs.
    fn choose(&mut self, touches: usize, before: &[u64], sweep: &Sweep) {
        if usize::from(self.ways) > WAYS_MAX {
            return;
        }
        let ordered_cost = sweep.kernel.misses_for(touches as u64);
        for (group, after) in self.group_misses().into_iter().enumerate() {
            let queued_cost = after - before[group];
            let is_ordered = self.ordered.holds(group);
            let (cost, other_cost) = if is_ordered {
                (ordered_cost, queued_cost)
            } else {
                (queued_cost, ordered_cost)
            };
            let regret = &mut self.regrets[group];
            // What the other way would have saved adds up until it would have paid for the change,
            // so that one odd chunk changes nothing.
            *regret = (*regret + cost).saturating_sub(other_cost);
            if *regret > sweep.group_sets(group) * MISSES_FOR_A_SORT {
                *regret = 0;
                if is_ordered {
                    self.queue(group, sweep);
                } else {
                    self.order(group, sweep);
                }
            }
        }
    }

    /// From now on the sets of `group` are kept in order.
    fn order(&mut self, group: usize, sweep: &Sweep) {
        let lines = sweep.group_sets(group) as usize * usize::from(self.ways);
        if !self.ordered.make_room(lines.min(self.lines.len())) {
            return;
        }
        let first = group * GROUP;
        let counts: Vec<usize> = sweep.colors[first..]
            .iter()
            .take(GROUP)
            .map(|colors| usize::from(*colors))
            .collect();
        let (sets, lines) = (&mut self.sets, &mut self.lines);
        self.ordered.add(group, &counts, |cache, color, pages| {
            let set = sweep.first_sets[first + cache] as usize + color;
            sets.take(set, |line| lines[line as usize].touched, pages);
            for page in pages {
                lines[*page as usize].cached &= !(1 << (first + cache));
            }
        });
    }

    /// From now on the sets of `group` are queues.
    fn queue(&mut self, group: usize, sweep: &Sweep) {
        let Some(caches) = self.ordered.remove(group) else {
            return;
        };
        for (cache, rows) in (group * GROUP..sweep.colors.len()).zip(&caches) {
            for (color, row) in rows.iter().enumerate() {
                let set = sweep.first_sets[cache] as usize + color;
                self.ordered
                    .pages(row)
                    .for_each(|page| self.lines[page as usize].cached |= 1 << cache);
                self.sets.put(set, self.ordered.pages(row));
            }
        }
    }

    /// Puts the line of `page` into every cache that is `missing` it.
    fn miss(&mut self, page: u32, mut missing: u64, sweep: &Sweep) {
        while missing != 0 {
            let cache = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            self.misses[cache] += 1;
            let set = sweep.set(page, cache);
            let lines = &self.lines;
            let touched = |line: u32| lines[line as usize].touched;
            if let Some(victim) = self.sets.insert(set, page, self.clock, touched) {
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
        self.sets.forget_times();
    }
}
