//! What the bits of a register say of the elements of a matrix.

use super::narrow_floats;
use crate::code::Element;
use crate::float::{canonical32, canonical64};
use half::f16;

impl Element {
    /// Elements in a register.
    #[inline]
    pub fn per_register(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 4,
            Self::S4 | Self::U4 => 8,
            Self::B1 => 32,
            Self::Tf32 | Self::F32 | Self::F64 | Self::S32 => 1,
        }
    }

    /// Cells of a matrix in a register: elements, but words where elements are bits.
    #[inline]
    pub fn cells(self) -> usize {
        match self {
            Self::B1 => 1,
            _ => self.per_register(),
        }
    }

    /// Element `index` of a register. Products of matrices, which need hundreds, have it in their loops.
    #[inline(always)]
    pub fn float(self, register: u64, index: usize) -> f64 {
        let bits = register as u32;
        match self {
            Self::Bf16 => f32::from_bits(bits >> (16 * index) << 16).into(),
            // The lower bits of the fraction are not looked at.
            Self::Tf32 => f32::from_bits(bits & 0xffff_e000).into(),
            Self::F64 => f64::from_bits(register),
            Self::F16 | Self::E5m2 | Self::E4m3 => self.narrow_float(bits, index),
            _ => f32::from_bits(bits).into(),
        }
    }

    #[inline]
    fn narrow_float(self, register: u32, index: usize) -> f64 {
        match self {
            Self::E5m2 => {
                narrow_floats::decode((register >> (8 * index)) as u8, narrow_floats::E5M2)
            }
            Self::E4m3 => {
                narrow_floats::decode((register >> (8 * index)) as u8, narrow_floats::E4M3)
            }
            _ => f16::from_bits((register >> (16 * index)) as u16).to_f64(),
        }
    }

    #[inline]
    pub fn integer(self, register: u64, index: usize) -> i64 {
        let bits = (register >> (32 / self.cells() * index)) as u32;
        match self {
            Self::B1 => i64::from(bits),
            Self::S8 => i64::from(bits as i8),
            Self::U8 => i64::from(bits as u8),
            Self::S4 => i64::from((bits << 28) as i32 >> 28),
            Self::U4 => i64::from(bits & 15),
            _ => i64::from(bits as i32),
        }
    }

    /// The register's bits of `value`, shifted to element `index`.
    #[inline]
    pub fn encode(self, value: f64, index: usize) -> u64 {
        match self {
            Self::F16 if value.is_nan() => 0x7fff << (16 * index),
            Self::F16 => u64::from(f16::from_f64(value).to_bits()) << (16 * index),
            Self::F64 => canonical64(value).to_bits(),
            _ => canonical32(value as f32).to_bits().into(),
        }
    }
}
