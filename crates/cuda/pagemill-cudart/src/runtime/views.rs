//! How a texture object sees its array.

use pagemill_ptx::Texel;

/// How a texture object chooses among the levels of its array.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MipReading {
    /// Whether two levels are mixed.
    pub linear: bool,
    /// Added to the level that is asked for.
    pub bias: f32,
    /// The least and the greatest level.
    pub range: [f32; 2],
}

/// The part of an array that a texture object shows, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Other texels of the same size; `None` for those of the array.
    pub texel: Option<Texel>,
    /// Width, height and depth, which are those of the array.
    pub extent: [u64; 3],
    /// The first and the last level.
    pub levels: [u32; 2],
    /// The first and the last layer.
    pub layers: [u32; 2],
}
