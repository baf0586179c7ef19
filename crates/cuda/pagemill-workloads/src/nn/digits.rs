//! Images of digits: a 5 x 7 glyph, enlarged, placed not quite in the middle, with noise.

use crate::random::Random;

pub(super) const IMAGE_SIDE: usize = 29;
pub(super) const IMAGE_PIXELS: usize = IMAGE_SIDE * IMAGE_SIDE;
const GLYPH_ROWS: usize = 7;
const GLYPH_COLUMNS: usize = 5;
/// Pixels of the image for one of the glyph.
const ENLARGED: usize = 3;
/// Where a centered glyph starts.
const LEFT: usize = (IMAGE_SIDE - GLYPH_COLUMNS * ENLARGED) / 2;
const TOP: usize = (IMAGE_SIDE - GLYPH_ROWS * ENLARGED) / 2;
/// How far a glyph may be from the middle, in pixels either way.
pub(super) const SHIFT: usize = 1;
const INK: f32 = 1.0;
const PAPER: f32 = -0.1;
const NOISE: f32 = 0.2;

/// Rows from top to bottom, the leftmost pixel in the highest of five bits.
const GLYPHS: [[u8; GLYPH_ROWS]; 10] = [
    [
        0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110,
    ],
    [
        0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110,
    ],
    [
        0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111,
    ],
    [
        0b11110, 0b00001, 0b00001, 0b01110, 0b00001, 0b00001, 0b11110,
    ],
    [
        0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010,
    ],
    [
        0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110,
    ],
    [
        0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110,
    ],
    [
        0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000,
    ],
    [
        0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110,
    ],
    [
        0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100,
    ],
];

/// The clean image of a digit whose glyph starts `right` and `down` pixels from the outermost allowed place.
pub(super) fn clean_image(digit: usize, right: usize, down: usize) -> Vec<f32> {
    let (left, top) = (LEFT - SHIFT + right, TOP - SHIFT + down);
    let mut image = vec![PAPER; IMAGE_PIXELS];
    for y in 0..GLYPH_ROWS * ENLARGED {
        let row = GLYPHS[digit][y / ENLARGED];
        for x in 0..GLYPH_COLUMNS * ENLARGED {
            if row >> (GLYPH_COLUMNS - 1 - x / ENLARGED) & 1 == 1 {
                image[(top + y) * IMAGE_SIDE + left + x] = INK;
            }
        }
    }
    image
}

/// Which digit the image at `index` shows.
pub(super) fn label(seed: u64, index: u64) -> usize {
    Random::new(seed, 0).below(3 * index, 10) as usize
}

/// The image at `index`.
pub(super) fn image(seed: u64, index: u64) -> Vec<f32> {
    let placement = Random::new(seed, 0);
    let shift = |which| placement.below(3 * index + which, 2 * SHIFT as u64 + 1) as usize;
    let mut image = clean_image(label(seed, index), shift(1), shift(2));
    let noise = Random::new(seed, 1);
    for (pixel, value) in (index * IMAGE_PIXELS as u64..).zip(&mut image) {
        *value += noise.f32_in(pixel, -NOISE, NOISE);
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_stay_inside_and_differ() {
        for digit in 0..10 {
            let ink: u32 = GLYPHS[digit].iter().map(|row| row.count_ones()).sum();
            for shift in 0..=2 * SHIFT {
                let image = clean_image(digit, shift, shift);
                let inked = image.iter().filter(|&&value| value == INK).count();
                assert_eq!(inked, ink as usize * ENLARGED * ENLARGED);
            }
            assert!(GLYPHS[..digit].iter().all(|other| *other != GLYPHS[digit]));
        }
    }

    #[test]
    fn every_digit_comes_up() {
        let shown: std::collections::BTreeSet<_> = (0..200).map(|i| label(1, i)).collect();
        assert_eq!(shown.len(), 10);
    }
}
