use pagemill_types::{PageNumber, PageSize};

use super::{Color, ColorRange};

/// The shape of a physically indexed, set-associative cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheGeometry {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line; a power of two.
    pub line_bytes: u32,
}

/// The colors that a cache gives to pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    geometry: CacheGeometry,
    page: PageSize,
    colors: u16,
}

/// Why a cache has no colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaletteError {
    /// Sets are selected by address bits: their number and the bytes of a line are powers of two.
    Shape(CacheGeometry),
    /// Every page covers every set.
    OneColor {
        /// Bytes that each way holds.
        way_bytes: u64,
        /// Bytes of a page.
        page_bytes: u64,
    },
    /// More colors than can be numbered.
    TooMany {
        /// The number of colors.
        colors: u64,
    },
}

impl std::fmt::Display for PaletteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shape(CacheGeometry {
                bytes,
                ways,
                line_bytes,
            }) => write!(
                f,
                "a cache of {bytes} bytes with {ways} ways and lines of {line_bytes} bytes does not select its sets by \
                 address bits: bytes / ways / line bytes must be a power of two, and so must the line"
            ),
            Self::OneColor {
                way_bytes,
                page_bytes,
            } => write!(
                f,
                "a page of {page_bytes} bytes covers all sets of a cache with {way_bytes} bytes a way: there is only \
                 one color; a larger cache, fewer ways or smaller pages give more"
            ),
            Self::TooMany { colors } => write!(
                f,
                "{colors} colors are more than can be numbered ({} at most)",
                u16::MAX - 1
            ),
        }
    }
}

impl std::error::Error for PaletteError {}

impl CacheGeometry {
    /// Number of sets, where address bits can select them.
    pub fn sets(self) -> Option<u64> {
        let set_bytes = u64::from(self.ways).checked_mul(u64::from(self.line_bytes))?;
        let sets = self.bytes.checked_div(set_bytes)?;
        let is_exact = sets * set_bytes == self.bytes;
        (is_exact && sets.is_power_of_two() && self.line_bytes.is_power_of_two()).then_some(sets)
    }
}

impl Palette {
    /// The colors of `geometry` for pages of size `page`: capacity / (page x ways) (CachePM, section 4).
    ///
    /// # Errors
    /// The cache has fewer than two colors, or its sets are not selected by address bits.
    pub fn new(geometry: CacheGeometry, page: PageSize) -> Result<Self, PaletteError> {
        let sets = geometry.sets().ok_or(PaletteError::Shape(geometry))?;
        let way_bytes = sets * u64::from(geometry.line_bytes);
        let page_bytes = page.bytes();
        if way_bytes < 2 * page_bytes {
            return Err(PaletteError::OneColor {
                way_bytes,
                page_bytes,
            });
        }
        let colors = way_bytes / page_bytes;
        match u16::try_from(colors) {
            Ok(colors) if colors < u16::MAX => Ok(Self {
                geometry,
                page,
                colors,
            }),
            _ => Err(PaletteError::TooMany { colors }),
        }
    }

    /// Number of colors; a power of two, at least 2.
    pub fn colors(self) -> u16 {
        self.colors
    }

    /// The cache.
    pub fn geometry(self) -> CacheGeometry {
        self.geometry
    }

    /// The page size.
    pub fn page(self) -> PageSize {
        self.page
    }

    /// Sets of the cache that pages of one color share.
    pub fn sets_per_color(self) -> u32 {
        (self.page.bytes() / u64::from(self.geometry.line_bytes)) as u32
    }

    /// The color of a frame, by its physical page number.
    pub fn color_of(self, frame: PageNumber) -> Color {
        // The set index begins below the page number and ends within it: its bits there are the color (CachePM, section 2.1).
        // A cache that picks a slice by a hash of the address has no such bits.
        Color((frame.0 % u64::from(self.colors)) as u16)
    }

    /// All colors.
    pub fn all(self) -> ColorRange {
        ColorRange::new(Color(0), self.colors).expect("a palette has from 2 to u16::MAX - 1 colors")
    }
}
