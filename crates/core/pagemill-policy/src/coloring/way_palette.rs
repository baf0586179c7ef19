use super::ColorRange;

/// Colors where a cache is divided by ways and not by pages: color n is the n-th group of ways. A range of colors is a
/// contiguous mask of ways, as Intel's Cache Allocation Technology demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayPalette {
    ways: u32,
    ways_of_color: u32,
}

/// Why there are no such colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayPaletteError {
    ways: u32,
    ways_min: u32,
}

impl std::fmt::Display for WayPaletteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ways, ways_min } = self;
        write!(
            f,
            "a cache of {ways} ways cannot be divided into masks of at least {ways_min}: from 1 to 64 ways can"
        )
    }
}

impl std::error::Error for WayPaletteError {}

impl WayPalette {
    /// The colors of a cache with `ways` ways, of which a mask has at least `ways_min`.
    ///
    /// # Errors
    /// There is no color, or a mask would not fit 64 bits.
    pub fn new(ways: u32, ways_min: u32) -> Result<Self, WayPaletteError> {
        let ways_of_color = ways_min.max(1);
        if ways > 64 || ways < ways_of_color {
            return Err(WayPaletteError { ways, ways_min });
        }
        Ok(Self {
            ways,
            ways_of_color,
        })
    }

    /// How many colors there are.
    pub fn colors(&self) -> u16 {
        (self.ways / self.ways_of_color) as u16
    }

    /// The ways of these colors, a bit each. Ways that are left over belong to the last color. `None` if there are no such
    /// colors.
    pub fn mask(&self, range: ColorRange) -> Option<u64> {
        let end = range.end().0;
        if end > self.colors() {
            return None;
        }
        let first = u32::from(range.first().0) * self.ways_of_color;
        // Masks have to be contiguous, so ways that do not divide can only go to a neighbor: the last color.
        let after = if end == self.colors() {
            self.ways
        } else {
            u32::from(end) * self.ways_of_color
        };
        Some((u64::MAX >> (64 - (after - first))) << first)
    }
}

#[cfg(test)]
mod tests;
