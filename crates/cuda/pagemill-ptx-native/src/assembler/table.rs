//! Numbers that compiled code reads: index vectors at fixed places, and constants collected on the way.

use crate::assembler::encode::{Mem, R11, at};

/// Bytes from lane to lane times the lane's number, for elements of 1, 2, 4, 8, 16 and 32 bytes: in 64 bits.
const STEPS: i32 = 0;
/// The same in 32 bits.
const STEPS_NARROW: i32 = 1536;
/// Indices of 32-bit halves in two registers of 64-bit lanes.
pub(crate) const LOW_HALVES: i32 = 2304;
pub(crate) const HIGH_HALVES: i32 = 2368;
/// Indices that alternate between the lanes of two registers, for the lower and the upper eight.
pub(crate) const JOIN_LOWER: i32 = 2432;
pub(crate) const JOIN_UPPER: i32 = 2496;
/// The same four for registers of 64-bit elements.
pub(crate) const EVEN_WIDE: i32 = 2560;
pub(crate) const ODD_WIDE: i32 = 2624;
pub(crate) const JOIN_LOWER_WIDE: i32 = 2688;
pub(crate) const JOIN_UPPER_WIDE: i32 = 2752;
const FIXED_BYTES: usize = 2816;

/// The table under construction.
#[derive(Debug)]
pub(crate) struct Table {
    bytes: Vec<u8>,
}

impl Table {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::with_capacity(FIXED_BYTES);
        for step in [1, 2, 4, 8, 16, 32] {
            bytes.extend((0..32u64).flat_map(|lane| (lane * step).to_le_bytes()));
        }
        for step in [1, 2, 4, 8, 16, 32] {
            bytes.extend((0..32u32).flat_map(|lane| (lane * step).to_le_bytes()));
        }
        let indices: [&dyn Fn(u32) -> u32; 4] = [
            &|lane| 2 * lane,
            &|lane| 2 * lane + 1,
            &|lane| lane / 2 + 16 * (lane % 2),
            &|lane| 8 + lane / 2 + 16 * (lane % 2),
        ];
        for index in indices {
            bytes.extend((0..16).flat_map(|lane| index(lane).to_le_bytes()));
        }
        let indices: [&dyn Fn(u64) -> u64; 4] = [
            &|lane| 2 * lane,
            &|lane| 2 * lane + 1,
            &|lane| lane / 2 + 8 * (lane % 2),
            &|lane| 4 + lane / 2 + 8 * (lane % 2),
        ];
        for index in indices {
            bytes.extend((0..8).flat_map(|lane| index(lane).to_le_bytes()));
        }
        debug_assert_eq!(bytes.len(), FIXED_BYTES);
        Self { bytes }
    }

    /// Where the offsets of eight 64-bit or sixteen 32-bit addresses begin.
    pub(crate) fn steps(lane_bytes: u8, is_wide: bool, part: usize) -> Mem {
        let size = lane_bytes.trailing_zeros() as i32;
        let first = match is_wide {
            true => STEPS + 256 * size,
            false => STEPS_NARROW + 128 * size,
        };
        at(R11, first + 64 * part as i32)
    }

    /// A constant of 4 bytes.
    pub(crate) fn constant32(&mut self, bits: u32) -> Mem {
        self.constant(&bits.to_le_bytes())
    }

    /// A constant of 8 bytes.
    pub(crate) fn constant64(&mut self, bits: u64) -> Mem {
        self.constant(&bits.to_le_bytes())
    }

    /// Sixteen numbers of 32 bits, aligned like a vector.
    pub(crate) fn vector32(&mut self, numbers: &[u32]) -> Mem {
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let known = self.bytes.chunks_exact(64).position(|chunk| chunk == bytes);
        let place = known.map_or(self.bytes.len().next_multiple_of(64), |chunk| 64 * chunk);
        if known.is_none() {
            self.bytes.resize(place, 0);
            self.bytes.extend_from_slice(&bytes);
        }
        at(R11, place as i32)
    }

    fn constant(&mut self, bytes: &[u8]) -> Mem {
        let known = self.bytes[FIXED_BYTES..]
            .chunks_exact(8)
            .position(|chunk| chunk.starts_with(bytes));
        let place = match known {
            Some(chunk) => FIXED_BYTES + 8 * chunk,
            None => {
                let place = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                self.bytes.resize(place + 8, 0);
                place
            }
        };
        at(R11, place as i32)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
