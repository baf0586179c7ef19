/// A color: a number below [`Palette::colors`](super::Palette::colors).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Color(pub u16);

/// Contiguous colors, so that memory of a task can be contiguous too (CachePM, section 3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColorRange {
    first: u16,
    count: u16,
}

impl ColorRange {
    /// `count` colors from `first` on; `None` without a color, or past the largest color number.
    pub fn new(first: Color, count: u16) -> Option<Self> {
        let last = first.0.checked_add(count.checked_sub(1)?)?;
        (last < u16::MAX).then_some(Self {
            first: first.0,
            count,
        })
    }

    /// The lowest color.
    pub fn first(self) -> Color {
        Color(self.first)
    }

    /// How many colors; at least 1.
    pub fn count(self) -> u16 {
        self.count
    }

    /// The color after the highest.
    pub fn end(self) -> Color {
        Color(self.first + self.count)
    }

    /// Whether `color` is one of them.
    pub fn contains(self, color: Color) -> bool {
        (self.first..self.first + self.count).contains(&color.0)
    }

    /// The colors, ascending.
    pub fn colors(self) -> impl ExactSizeIterator<Item = Color> {
        (self.first..self.first + self.count).map(Color)
    }

    /// How many colors both have.
    pub fn overlap(self, other: Self) -> u16 {
        let start = self.first.max(other.first);
        let end = self.end().0.min(other.end().0);
        end.saturating_sub(start)
    }

    /// The place of `color` among the colors of the range, from 0.
    pub(super) fn position(self, color: Color) -> Option<usize> {
        self.contains(color)
            .then(|| usize::from(color.0 - self.first))
    }

    /// The color at `position`, which is below [`ColorRange::count`].
    pub(super) fn at(self, position: usize) -> Color {
        debug_assert!(position < usize::from(self.count));
        Color(self.first + position as u16)
    }
}

impl std::fmt::Display for ColorRange {
    /// `8-63`, or `8` for one color.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.count {
            1 => write!(f, "{}", self.first),
            _ => write!(f, "{}-{}", self.first, self.first + self.count - 1),
        }
    }
}
