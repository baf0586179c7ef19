use pagemill_policy::coloring::{MissCurve, Palette};

use super::kernel::Kernel;
use super::page_index::{Numbered, PageIndex};
use super::place::{Place, Sweep};

/// Most numbers of colors that one sweep covers: one bit of a line's record each.
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
    pages: PageIndex,
    pages_max: usize,
    /// Each watched place of a page.
    places: Vec<Place>,
    fronts: Vec<Front>,
    /// Pages that were touched at each place and not swept yet: `LIST` entries of each.
    waiting: Vec<u32>,
    sweep: Sweep,
    references: u64,
}

/// What every touch of a watched place looks at.
#[derive(Clone, Copy, Debug)]
struct Front {
    /// References so far.
    references: u64,
    /// The page that was touched last.
    newest: u32,
    /// How many pages wait.
    waiting: u32,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    line_shift: u32,
    lines_of_page_shift: u32,
    sample_shift: u32,
}

/// A place is swept when so many touches wait: enough to bring its sets near, once for all of them.
const BATCH: usize = if cfg!(test) { 37 } else { 16 << 10 };

/// From the list of one place to the next: a line more than it holds, so that their ends do not meet in one set of the host's cache.
const LIST: usize = BATCH + 16;

impl ColorSweep {
    /// Empty caches.
    ///
    /// # Errors
    /// The specification asks for what the cache or this sweep does not have.
    pub fn new(spec: &SweepSpec) -> Result<Self, SweepError> {
        Self::with(spec, u32::MAX, Kernel::detect())
    }

    fn with(spec: &SweepSpec, clock_max: u32, kernel: Kernel) -> Result<Self, SweepError> {
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
        let mut sets = 0;
        let first_sets = spec.colors.iter().map(|colors| {
            sets += u32::from(*colors);
            sets - u32::from(*colors)
        });
        let sweep = Sweep {
            first_sets: first_sets.collect(),
            colors: spec.colors.clone(),
            page_colors: Vec::new(),
            kernel,
        };
        let place = || Place::new(spec.colors.len(), sets as usize, ways, clock_max);
        Ok(Self {
            shape: Shape {
                line_shift: geometry.line_bytes.trailing_zeros(),
                lines_of_page_shift: lines_of_page.trailing_zeros(),
                sample_shift: spec.sample_every.trailing_zeros(),
            },
            places: (0..watched).map(|_| place()).collect(),
            waiting: vec![0; watched * LIST],
            sweep,
            pages: PageIndex::default(),
            pages_max: (u32::MAX as usize) / watched - 1,
            references: 0,
            fronts: vec![
                Front {
                    references: 0,
                    newest: u32::MAX,
                    waiting: 0,
                };
                watched
            ],
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
        // Sampled by place in the page, not by page: the sets of a place are whole for every number of colors.
        if place & ((1 << shape.sample_shift) - 1) != 0 {
            return Ok(());
        }
        let place = (place >> shape.sample_shift) as usize;
        let page = match self
            .pages
            .number(line >> shape.lines_of_page_shift, self.pages_max)
        {
            Numbered::Known(page) => page,
            Numbered::New(page) => {
                self.sweep.add_page(page);
                page
            }
            Numbered::Full => {
                return Err(SweepError::TooManyPages {
                    limit: self.pages_max,
                });
            }
        };
        let front = &mut self.fronts[place];
        front.references += 1;
        // The newest of the only set of one color is the newest of its set for any number of colors.
        if front.newest != page {
            front.newest = page;
            self.waiting[place * LIST + front.waiting as usize] = page;
            front.waiting += 1;
            if front.waiting as usize == BATCH {
                self.sweep_place(place);
            }
        }
        Ok(())
    }

    /// Does what waits at `place`.
    fn sweep_place(&mut self, place: usize) {
        let pages = self.pages.len();
        let waiting = std::mem::take(&mut self.fronts[place].waiting) as usize;
        let touched = &self.waiting[place * LIST..][..waiting];
        self.places[place].touch(touched, pages, &self.sweep);
    }

    /// References so far: lines touched, watched or not.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// References to lines that are watched.
    pub fn watched_references(&self) -> u64 {
        self.fronts.iter().map(|front| front.references).sum()
    }

    /// Pages touched so far.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Misses among the watched references for each number of colors, in the order of the specification.
    pub fn misses(&mut self) -> impl ExactSizeIterator<Item = (u16, u64)> {
        (0..self.places.len()).for_each(|place| self.sweep_place(place));
        let misses = |cache: usize| self.places.iter().map(|place| place.misses()[cache]).sum();
        let counts = self.sweep.colors.iter().copied().enumerate();
        counts.map(move |(cache, colors)| (colors, misses(cache)))
    }

    /// Misses over references for each number of colors, in the order of the specification. Of a sample: its misses, as many times
    /// as it watches places, over all references. Those are known, and a place that is touched much has no more misses for that.
    pub fn miss_ratios(&mut self) -> Vec<f64> {
        let references = self.references.max(1) as f64;
        let every = f64::from(1_u32 << self.shape.sample_shift);
        // Over all references: with those of the sample alone, bzip2's ratios were twice too high (ADR 0012).
        let ratio = |(_, misses): (u16, u64)| every * misses as f64 / references;
        self.misses().map(ratio).collect()
    }

    /// How far the miss ratios of a sample may be from those of all lines: their standard errors, for each number of colors
    /// in the order of the specification, from the spread between the watched places. `None` where all places are watched, or only one.
    pub fn sampling_errors(&mut self) -> Option<Vec<f64>> {
        let misses: Vec<f64> = self.misses().map(|(_, misses)| misses as f64).collect();
        let (all, watched) = (1_u32 << self.shape.lines_of_page_shift, self.places.len());
        if watched < 2 || watched == all as usize {
            return None;
        }
        let references = self.references.max(1) as f64;
        let (places, all) = (watched as f64, f64::from(all));
        let error = |(cache, misses): (usize, f64)| {
            // Of a total, as if the places were drawn (Cochran, Sampling Techniques, section 2.6).
            let squares = self.places.iter().map(|place| {
                let beyond = place.misses()[cache] as f64 - misses / places;
                beyond * beyond
            });
            let variance = squares.sum::<f64>() / (places - 1.0);
            all * (variance / places * (1.0 - places / all)).sqrt() / references
        };
        Some(misses.into_iter().enumerate().map(error).collect())
    }

    /// The curve, where the colors are 1, 2, 3 and so on; of a sample, what it says of all lines.
    pub fn curve(&mut self) -> Option<MissCurve> {
        let is_complete = self
            .sweep
            .colors
            .iter()
            .copied()
            .eq(1..=self.sweep.colors.len() as u16);
        let (references, shift) = (self.references, self.shape.sample_shift);
        let misses = self
            .misses()
            // A sample's misses, scaled up, can be more than all references.
            .map(|(_, misses)| (misses << shift).min(references));
        let misses = misses.collect();
        is_complete
            .then(|| MissCurve::new(references, misses).ok())
            .flatten()
    }
}

#[cfg(test)]
mod tests;
