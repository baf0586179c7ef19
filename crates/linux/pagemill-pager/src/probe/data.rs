use pagemill_types::random64;

use crate::UNIT_BYTES;
use crate::store::Unit;

/// Words of a unit.
const WORDS: u64 = UNIT_BYTES as u64 / 8;

/// Bytes that stand for those of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Records of 64 bytes that differ in a counter and a short number: LZ4 makes a fifth of them.
    Records,
    /// Numbers of 16 random bits in words of 64: LZ4 makes half of them, slowly.
    Numbers,
    /// Random bits: LZ4 leaves them as they are.
    Noise,
}

impl DataKind {
    /// All.
    pub const ALL: [Self; 3] = [Self::Records, Self::Numbers, Self::Noise];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Numbers => "numbers",
            Self::Noise => "noise",
        }
    }

    /// Word `index` of a memory of such bytes.
    pub fn word(self, index: u64) -> u64 {
        match (self, index % 8) {
            (Self::Records, 0) => index / 8 + 1,
            (Self::Records, 1) => random64(0, index) >> 52,
            (Self::Records, field) => 0x0101_0001_0000_0000 * field,
            (Self::Numbers, _) if index.is_multiple_of(4) => index / WORDS + 1,
            (Self::Numbers, _) => random64(0, index) >> 48,
            (Self::Noise, _) => random64(0, index),
        }
    }

    /// Unit `index` of that memory.
    pub(crate) fn unit(self, index: u64) -> Box<Unit> {
        let mut unit = Box::new([0; UNIT_BYTES]);
        for (number, bytes) in (0..).zip(unit.as_chunks_mut::<8>().0) {
            *bytes = self.word(index * WORDS + number).to_ne_bytes();
        }
        unit
    }
}
