//! Numbers as the bytes and bit patterns a kernel sees.

use half::{bf16, f16};

/// A number that lies in device memory.
pub trait Value: Copy + std::fmt::Debug + 'static {
    /// Size in bytes.
    const BYTES: usize;
    /// Its bit pattern, zero-extended.
    fn to_bits64(self) -> u64;
    /// The number whose pattern is in the low bits.
    fn from_bits64(bits: u64) -> Self;
    /// Whether `bits` is this number; every NaN is as good as another.
    fn is_pattern(self, bits: u64) -> bool {
        self.to_bits64() == bits
    }
}

macro_rules! integers {
    ($($ty:ty as $unsigned:ty),*) => {$(
        impl Value for $ty {
            const BYTES: usize = size_of::<$ty>();
            fn to_bits64(self) -> u64 {
                self as $unsigned as u64
            }
            fn from_bits64(bits: u64) -> Self {
                bits as $ty
            }
        }
    )*};
}

integers!(
    u8 as u8, i8 as u8, u16 as u16, i16 as u16, u32 as u32, i32 as u32, u64 as u64, i64 as u64
);

macro_rules! floats {
    ($($ty:ty as $unsigned:ty),*) => {$(
        impl Value for $ty {
            const BYTES: usize = size_of::<$ty>();
            fn to_bits64(self) -> u64 {
                self.to_bits().into()
            }
            fn from_bits64(bits: u64) -> Self {
                <$ty>::from_bits(bits as $unsigned)
            }
            fn is_pattern(self, bits: u64) -> bool {
                self.to_bits64() == bits || (self.is_nan() && Self::from_bits64(bits).is_nan())
            }
        }
    )*};
}

floats!(f16 as u16, bf16 as u16, f32 as u32, f64 as u64);

impl Value for bool {
    const BYTES: usize = 1;
    fn to_bits64(self) -> u64 {
        self.into()
    }
    fn from_bits64(bits: u64) -> Self {
        bits != 0
    }
}

/// Two narrow floats in one word, low half first.
#[derive(Clone, Copy, Debug)]
pub struct Pair<T>(pub T, pub T);

impl<T: Value> Value for Pair<T> {
    const BYTES: usize = 2 * T::BYTES;
    fn to_bits64(self) -> u64 {
        self.0.to_bits64() | self.1.to_bits64() << (8 * T::BYTES)
    }
    fn from_bits64(bits: u64) -> Self {
        Self(T::from_bits64(bits), T::from_bits64(bits >> (8 * T::BYTES)))
    }
    fn is_pattern(self, bits: u64) -> bool {
        let low_mask = (1 << (8 * T::BYTES)) - 1;
        self.0.is_pattern(bits & low_mask) && self.1.is_pattern(bits >> (8 * T::BYTES))
    }
}
