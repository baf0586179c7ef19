use super::{Color, ColorRange};

/// Deals the pages of a task to its colors: evenly, and never the same color twice in a row (CachePM, section 3.1.3).
///
/// As long as no page goes back, the counts of any two colors differ by one at most.
#[derive(Clone, Debug)]
pub struct Dealer {
    range: ColorRange,
    /// Pages of each color of the range.
    pages: Vec<u64>,
    last: Option<Color>,
}

impl Dealer {
    /// No page yet.
    pub fn new(range: ColorRange) -> Self {
        Self {
            range,
            pages: vec![0; usize::from(range.count())],
            last: None,
        }
    }

    /// Deals from `range` beside the pages that are out: those of these colors.
    pub fn resume(range: ColorRange, out: impl IntoIterator<Item = Color>) -> Self {
        let mut dealer = Self::new(range);
        for color in out {
            if let Some(position) = range.position(color) {
                dealer.pages[position] += 1;
            }
            dealer.last = Some(color);
        }
        dealer
    }

    /// The colors that it deals.
    pub fn range(&self) -> ColorRange {
        self.range
    }

    /// Pages of `color` that were dealt and did not go back.
    pub fn pages(&self, color: Color) -> u64 {
        self.range
            .position(color)
            .map_or(0, |position| self.pages[position])
    }

    /// The color of the next page: one with the fewest pages, searched from the last dealt one on, and another than the
    /// last where there is a choice.
    pub fn deal(&mut self) -> Color {
        let colors = self.pages.len();
        let start = self
            .last
            .and_then(|last| self.range.position(last))
            .map_or(0, |last| last + 1);
        // Searching stops before `last` comes round, unless it is the only color.
        let candidates = if self.last.is_some() {
            (colors - 1).max(1)
        } else {
            colors
        };
        let mut best = start % colors;
        for offset in 1..candidates {
            let position = (start + offset) % colors;
            if self.pages[position] < self.pages[best] {
                best = position;
            }
        }
        self.pages[best] += 1;
        let color = self.range.at(best);
        self.last = Some(color);
        color
    }

    /// Takes a page of `color` back; colors that are not dealt here, or of which no page is out, are left alone.
    pub fn take_back(&mut self, color: Color) {
        if let Some(position) = self.range.position(color) {
            self.pages[position] = self.pages[position].saturating_sub(1);
        }
    }
}
