use pagemill_policy::coloring::{MissCurve, Palette};

use super::page_index::{Numbered, PageIndex};
use super::queues::Queues;

/// Most numbers of colors that one sweep tells of: one bit of a line's record each.
const COLORS_MAX: usize = 64;

/// What a sweep is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepSpec {
    /// The cache and its colors.
    pub palette: Palette,
    /// The numbers of colors to tell of, at most 64: each from 1 to the palette's.
    pub colors: Vec<u16>,
    /// Watch the lines at every n-th place of a page only; 1 watches all. Divides the lines of a page.
    pub sample_every: u32,
}

/// Why a sweep cannot be, or cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepError {
    /// Not from 1 to 64 numbers of colors.
    Count(usize),
    /// A number of colors that the cache does not have.
    NoSuchColors {
        /// The refused number.
        asked: u16,
        /// What the cache has.
        colors: u16,
    },
    /// More ways than a set can have here.
    TooManyWays(u32),
    /// The sample does not divide a page.
    Sample {
        /// The refused step.
        every: u32,
        /// Lines of a page.
        lines: u32,
    },
    /// The trace touches more pages than can be numbered.
    TooManyPages {
        /// How many can be.
        limit: usize,
    },
}

impl std::fmt::Display for SweepError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(
                f,
                "{count} numbers of colors cannot be swept at once: from 1 to {COLORS_MAX} can"
            ),
            Self::NoSuchColors { asked, colors } => {
                write!(
                    f,
                    "{asked} colors are not from 1 to {colors}, which the cache has"
                )
            }
            Self::TooManyWays(ways) => {
                write!(f, "{ways} ways are more than 255, the most of a set here")
            }
            Self::Sample { every, lines } => write!(
                f,
                "every {every}th line cannot be watched: the step must divide the {lines} lines of a page"
            ),
            Self::TooManyPages { limit } => {
                write!(f, "the trace touches more than {limit} pages; sample it")
            }
        }
    }
}

impl std::error::Error for SweepError {}

/// Exact misses for every number of colors, in one pass: a set-associative, least-recently-used cache each.
///
/// A task with k colors has its i-th page, in the order of first touches, in color i mod k. How it works, and why
/// it is exact: `docs/adr/0012-coloring.md`.
#[derive(Debug)]
pub struct ColorSweep {
    shape: Shape,
    colors: Vec<u16>,
    pages: PageIndex,
    pages_max: usize,
    /// Of each watched line of each page.
    lines: Vec<Line>,
    /// i mod k for each page and each k.
    page_colors: Vec<u16>,
    caches: Vec<Queues>,
    misses: Vec<u64>,
    references: u64,
    watched: u64,
    /// The line that was touched last at each watched place of a page.
    newest: Vec<u32>,
    clock: u32,
    clock_max: u32,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    line_shift: u32,
    lines_of_page_shift: u32,
    sample_shift: u32,
    /// Watched lines of a page, and the shift of that number.
    watched_shift: u32,
}

/// A line of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Bit j: it is in the cache of `colors[j]`.
    cached: u64,
    /// The time of its last touch, in touches that changed anything.
    touched: u32,
}

impl ColorSweep {
    /// Empty caches.
    ///
    /// # Errors
    /// The specification asks for what the cache or this sweep does not have.
    pub fn new(spec: &SweepSpec) -> Result<Self, SweepError> {
        Self::with_clock_max(spec, u32::MAX)
    }

    fn with_clock_max(spec: &SweepSpec, clock_max: u32) -> Result<Self, SweepError> {
        let (palette, geometry) = (spec.palette, spec.palette.geometry());
        let ways =
            u8::try_from(geometry.ways).map_err(|_| SweepError::TooManyWays(geometry.ways))?;
        if spec.colors.is_empty() || spec.colors.len() > COLORS_MAX {
            return Err(SweepError::Count(spec.colors.len()));
        }
        let most = palette.colors();
        if let Some(asked) = spec
            .colors
            .iter()
            .find(|colors| **colors == 0 || **colors > most)
        {
            return Err(SweepError::NoSuchColors {
                asked: *asked,
                colors: most,
            });
        }
        let lines_of_page = palette.sets_per_color();
        if spec.sample_every == 0 || !lines_of_page.is_multiple_of(spec.sample_every) {
            return Err(SweepError::Sample {
                every: spec.sample_every,
                lines: lines_of_page,
            });
        }
        let watched = (lines_of_page / spec.sample_every) as usize;
        let caches = spec
            .colors
            .iter()
            .map(|colors| Queues::new(usize::from(*colors) * watched, ways));
        Ok(Self {
            shape: Shape {
                line_shift: geometry.line_bytes.trailing_zeros(),
                lines_of_page_shift: lines_of_page.trailing_zeros(),
                sample_shift: spec.sample_every.trailing_zeros(),
                watched_shift: watched.trailing_zeros(),
            },
            caches: caches.collect(),
            misses: vec![0; spec.colors.len()],
            colors: spec.colors.clone(),
            pages: PageIndex::default(),
            pages_max: (u32::MAX as usize) / watched - 1,
            lines: Vec::new(),
            page_colors: Vec::new(),
            references: 0,
            watched: 0,
            newest: vec![u32::MAX; watched],
            clock: 0,
            clock_max,
        })
    }

    /// A task touches `bytes` bytes from `address` on: one reference for each line of them.
    ///
    /// # Errors
    /// It touches more pages than can be numbered.
    #[inline]
    pub fn touch(&mut self, address: u64, bytes: u32) -> Result<(), SweepError> {
        let first = address >> self.shape.line_shift;
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1) >> self.shape.line_shift;
        self.touch_line(first)?;
        for line in first + 1..=last {
            self.touch_line(line)?;
        }
        Ok(())
    }

    #[inline]
    fn touch_line(&mut self, line: u64) -> Result<(), SweepError> {
        self.references += 1;
        let shape = self.shape;
        let place = line as u32 & ((1 << shape.lines_of_page_shift) - 1);
        if place & ((1 << shape.sample_shift) - 1) != 0 {
            return Ok(());
        }
        self.watched += 1;
        let place = (place >> shape.sample_shift) as usize;
        let page = match self
            .pages
            .number(line >> shape.lines_of_page_shift, self.pages_max)
        {
            Numbered::Known(page) => page,
            Numbered::New(page) => {
                self.add_page(page);
                page
            }
            Numbered::Full => {
                return Err(SweepError::TooManyPages {
                    limit: self.pages_max,
                });
            }
        };
        let line = (page << shape.watched_shift) | place as u32;
        // The newest of the only set of one color is the newest of its set for any number of colors.
        if self.newest[place] != line {
            self.newest[place] = line;
            self.touch_older(page as usize, place, line);
        }
        Ok(())
    }

    fn add_page(&mut self, page: u32) {
        let watched = 1_usize << self.shape.watched_shift;
        self.lines
            .resize(self.lines.len() + watched, Line::default());
        let colors = self
            .colors
            .iter()
            .map(|colors| (page % u32::from(*colors)) as u16);
        self.page_colors.extend(colors);
    }

    /// A touch of a line that is not the newest at its place.
    #[inline]
    fn touch_older(&mut self, page: usize, place: usize, line: u32) {
        if self.clock == self.clock_max {
            self.restart_clock();
        }
        self.clock += 1;
        let all = u64::MAX >> (COLORS_MAX - self.colors.len());
        let record = &mut self.lines[line as usize];
        record.touched = self.clock;
        let missing = all & !record.cached;
        if missing != 0 {
            record.cached = all;
            self.miss(page, place, line, missing);
        }
    }

    fn miss(&mut self, page: usize, place: usize, line: u32, mut missing: u64) {
        let first = page * self.colors.len();
        let page_colors = &self.page_colors[first..first + self.colors.len()];
        while missing != 0 {
            let cache = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            self.misses[cache] += 1;
            let set = usize::from(page_colors[cache]) << self.shape.watched_shift | place;
            let lines = &self.lines;
            let victim = self.caches[cache]
                .insert(set, line, self.clock, |line| lines[line as usize].touched);
            if let Some(victim) = victim {
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
        for cache in &mut self.caches {
            cache.restamp(|line| lines[line as usize].touched);
        }
    }

    /// References so far: lines touched, watched or not.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// References to lines that are watched.
    pub fn watched_references(&self) -> u64 {
        self.watched
    }

    /// Pages touched so far.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Misses among the watched references for each number of colors, in the order of the specification.
    pub fn misses(&self) -> impl ExactSizeIterator<Item = (u16, u64)> {
        self.colors.iter().copied().zip(self.misses.iter().copied())
    }

    /// The curve, where the colors are 1, 2, 3 and so on.
    pub fn curve(&self) -> Option<MissCurve> {
        let is_complete = self.colors.iter().copied().eq(1..=self.colors.len() as u16);
        is_complete
            .then(|| MissCurve::new(self.watched, self.misses.clone()).ok())
            .flatten()
    }
}

#[cfg(test)]
mod tests;
