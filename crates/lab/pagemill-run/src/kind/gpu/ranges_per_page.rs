//! How finely the pages in GPU memory are divided at the end of a run.

use pagemill_sim::Report;

use crate::quotient::quotient;

/// Pages by their number of valid ranges.
pub struct RangesPerPage<'a> {
    histogram: &'a [u64],
    /// Pages with at least one.
    pub pages: u64,
}

impl<'a> RangesPerPage<'a> {
    /// `None` where no page has a valid range.
    pub fn of(report: &'a Report) -> Option<Self> {
        let histogram = &report.ranges_per_page;
        let pages = histogram.iter().skip(1).sum();
        (pages > 0).then_some(Self { histogram, pages })
    }

    /// Pages with exactly `ranges`.
    pub fn with(&self, ranges: usize) -> u64 {
        self.histogram.get(ranges).copied().unwrap_or(0)
    }

    /// Pages with four ranges or more.
    pub fn with_4_or_more(&self) -> u64 {
        self.pages - self.with(1) - self.with(2) - self.with(3)
    }

    /// Ranges of a page, on average.
    pub fn mean(&self) -> f64 {
        let ranges: u64 = self
            .histogram
            .iter()
            .zip(0..)
            .map(|(pages, n)| pages * n)
            .sum();
        quotient(ranges as f64, self.pages)
    }

    /// The most ranges of a page.
    pub fn most(&self) -> usize {
        let last = self.histogram.iter().rposition(|pages| *pages > 0);
        last.unwrap_or(0)
    }
}
