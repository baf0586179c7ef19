//! Tensor maps: 128 bytes that say how a tensor lies in global memory, and how a box of it lies in shared memory.
//!
//! NVIDIA publishes no layout; this one is of pagemill. From word 0, each of 64 bits, little-endian:
//!
//! | word | holds |
//! |---|---|
//! | 0 | the form: element type (8 bits), dimensions less 1 (4), swizzle (4), fill (4), interleave (4); `MARK` in the upper half |
//! | 1 | address of the first element |
//! | 2 to 6 | of each dimension: elements (40 bits), elements of the box (16), step (8) |
//! | 7 to 10 | bytes from one element to the next, of each dimension but the first |
//!
//! Numbers of types, swizzles and fills are those of `tensormap.replace`.

pub mod field;
pub mod walk;

/// Dimensions of a tensor at most.
pub const RANK_MAX: usize = 5;

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;

/// What the upper half of word 0 holds, so that other bytes are not taken for a tensor map.
const MARK: u64 = 0x7465_6e73;

/// Word of the address, of the first dimension and of the stride of the second.
pub const ADDRESS: usize = 1;
pub const DIMENSIONS: usize = 2;
pub const STRIDES: usize = 7;

/// Words that mean something, rounded up to what two loads of four bring.
pub const WORDS: usize = 12;

/// What a tensor is made of. Elements of less than a byte are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the PTX ISA")]
#[repr(u8)]
pub enum TensorElement {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
}

impl TensorElement {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    fn of(form: u64) -> Option<Self> {
        Self::ALL.get((form & 0xff) as usize).copied()
    }

    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        self as u8 >= Self::F16 as u8
    }
}

/// How 16-byte chunks of shared memory change places, so that columns of a box lie in different banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Swizzle {
    /// They lie as the box has them.
    #[default]
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// Bytes within which chunks change places: rows of a box are not longer. `None` if there is no such limit.
    pub fn span_bytes(self) -> Option<u64> {
        match self {
            Self::None => None,
            swizzle => Some(16 << swizzle as u8),
        }
    }
}

/// A dimension of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorDimension {
    /// Elements, at most 2^32.
    pub size: u64,
    /// Bytes from one element to the next; of the first dimension, the size of an element.
    pub stride_bytes: u64,
    /// Elements that a box spans, 1 to 256.
    pub box_size: u32,
    /// A box has each `step`-th of them, 1 to 8; the first dimension has all.
    pub step: u32,
}

/// A tensor in global memory, and the boxes that are copied of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Address of the first element.
    pub address: u64,
    /// What it is made of.
    pub element: TensorElement,
    /// Its dimensions, 1 to [`RANK_MAX`], the one whose elements are neighbors first.
    pub dimensions: Vec<TensorDimension>,
    /// How boxes lie in shared memory.
    pub swizzle: Swizzle,
    /// Whether elements outside of the tensor are read as a NaN rather than 0.
    pub fills_with_nan: bool,
}

impl TensorMap {
    /// The map as kernels take it.
    pub fn to_words(&self) -> [u64; TENSOR_MAP_BYTES / 8] {
        let mut words = [0; TENSOR_MAP_BYTES / 8];
        let dimensions = self.dimensions.iter().take(RANK_MAX);
        words[0] = self.element as u64
            | (dimensions.len().max(1) as u64 - 1) << 8
            | (self.swizzle as u64) << 12
            | u64::from(self.fills_with_nan) << 16
            | MARK << 32;
        words[ADDRESS] = self.address;
        for (at, dimension) in dimensions.enumerate() {
            words[DIMENSIONS + at] = dimension.size
                | u64::from(dimension.box_size) << 40
                | u64::from(dimension.step) << 56;
            if at > 0 {
                words[STRIDES + at - 1] = dimension.stride_bytes;
            }
        }
        words
    }

    /// Whether `words` are a tensor map.
    pub fn is_one(words: &[u64; TENSOR_MAP_BYTES / 8]) -> bool {
        words[0] >> 32 == MARK
    }

    /// Lets the tensor map `words` begin at another address.
    pub fn move_to(words: &mut [u64; TENSOR_MAP_BYTES / 8], address: u64) {
        words[ADDRESS] = address;
    }
}
