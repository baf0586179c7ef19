//! What programs may ask of a tensor map, by the rules of `cuTensorMapEncodeTiled`.

use pagemill_ptx::{RANK_MAX, Swizzle, TensorDimension, TensorElement, TensorMap};

use crate::error::{CudaError, Fault};

/// The smallest compute capability with tensor maps.
pub(crate) const CAPABILITY_MIN: u32 = 90;

/// Alignment of a `CUtensorMap`.
pub(crate) const MAP_ALIGN: usize = 64;

const SIZE_MAX: u64 = 1 << 32;
const STRIDE_END_BYTES: u64 = 1 << 40;
const BOX_MAX: u32 = 256;
const STEP_MAX: u32 = 8;
const ALIGN_BYTES: u64 = 16;

/// `CUtensorMapDataType`, by number. Three more pack values of 4 and 6 bits.
const ELEMENTS: [TensorElement; 13] = {
    use TensorElement::*;
    [
        U8, U16, U32, S32, U64, S64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz,
    ]
};
const PACKED_ELEMENTS: u32 = 3;

/// `CUtensorMapSwizzle`, by number. Three more move larger chunks.
const SWIZZLES: [Swizzle; 4] = [
    Swizzle::None,
    Swizzle::Bytes32,
    Swizzle::Bytes64,
    Swizzle::Bytes128,
];
const LARGER_SWIZZLES: u32 = 3;

/// The arguments of `cuTensorMapEncodeTiled` but the map, enumerations as their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Tiled {
    pub element: u32,
    pub address: u64,
    /// Of each dimension: elements, elements of the box, step.
    pub dimensions: Vec<(u64, u32, u32)>,
    /// In bytes, of each dimension but the first.
    pub strides: Vec<u64>,
    pub interleave: u32,
    pub swizzle: u32,
    pub l2_promotion: u32,
    pub fill: u32,
}

fn missing(what: &str) -> Fault {
    let message = format!("{what} are missing in tensor maps here");
    Fault::new(CudaError::NOT_SUPPORTED, message)
}

/// An error with `message` unless `holds`.
fn expect(holds: bool, message: impl FnOnce() -> String) -> Result<(), Fault> {
    match holds {
        true => Ok(()),
        false => Err(Fault::invalid(message())),
    }
}

/// The entry of `known` that `number` is, if it is not one of the `more` behind them.
fn known<T: Copy>(known: &[T], number: u32, more: u32, what: &str) -> Result<T, Fault> {
    match known.get(number as usize) {
        Some(entry) => Ok(*entry),
        None if number < known.len() as u32 + more => Err(missing(what)),
        None => Err(Fault::invalid(format!(
            "there are no {what} of number {number}"
        ))),
    }
}

impl Tiled {
    /// The map, if hardware would take it.
    pub(crate) fn map(&self) -> Result<TensorMap, Fault> {
        let rank = self.dimensions.len();
        expect((1..=RANK_MAX).contains(&rank), || {
            format!("a tensor has 1 to {RANK_MAX} dimensions, not {rank}")
        })?;
        let element = known(&ELEMENTS, self.element, PACKED_ELEMENTS, "packed elements")?;
        expect(self.interleave == 0 || rank >= 3, || {
            format!("an interleaved tensor has at least 3 dimensions, not {rank}")
        })?;
        known(&[()], self.interleave, 2, "interleaved layouts")?;
        let swizzle = known(
            &SWIZZLES,
            self.swizzle,
            LARGER_SWIZZLES,
            "swizzles of larger chunks",
        )?;
        let address = self.address;
        expect(address.is_multiple_of(ALIGN_BYTES), || {
            format!("the tensor begins at {address:#x}, no multiple of {ALIGN_BYTES}")
        })?;
        expect(self.l2_promotion <= 3, || {
            format!(
                "there is no promotion {} to the L2 cache",
                self.l2_promotion
            )
        })?;
        expect(
            self.fill == 0 || self.fill == 1 && element.is_float(),
            || {
                format!(
                    "elements outside cannot be filled by way {} in this type",
                    self.fill
                )
            },
        )?;
        let dimensions = (0..rank).map(|at| self.dimension(at, element));
        let map = TensorMap {
            address,
            element,
            dimensions: dimensions.collect::<Result<_, _>>()?,
            swizzle,
            fills_with_nan: self.fill == 1,
        };
        check_row(&map)?;
        Ok(map)
    }

    fn dimension(&self, at: usize, element: TensorElement) -> Result<TensorDimension, Fault> {
        let (size, box_size, step) = self.dimensions[at];
        expect((1..=SIZE_MAX).contains(&size), || {
            format!("dimension {at} has 1 to 2^32 elements, not {size}")
        })?;
        expect((1..=BOX_MAX).contains(&box_size), || {
            format!("the box has 1 to {BOX_MAX} elements of dimension {at}, not {box_size}")
        })?;
        // The step of the first dimension means nothing without interleaving.
        let step = if at == 0 { 1 } else { step };
        expect((1..=STEP_MAX).contains(&step), || {
            format!("the step of dimension {at} is 1 to {STEP_MAX}, not {step}")
        })?;
        let stride_bytes = match at {
            0 => element.bytes(),
            at => self.strides[at - 1],
        };
        let is_good = stride_bytes.is_multiple_of(ALIGN_BYTES) && stride_bytes < STRIDE_END_BYTES;
        expect(at == 0 || is_good, || {
            format!(
                "stride {} is {stride_bytes} bytes, no multiple of {ALIGN_BYTES} below 2^40",
                at - 1
            )
        })?;
        Ok(TensorDimension {
            size,
            stride_bytes,
            box_size,
            step,
        })
    }
}

/// Checks the bytes of a row of the box.
fn check_row(map: &TensorMap) -> Result<(), Fault> {
    let row_bytes = u64::from(map.dimensions[0].box_size) * map.element.bytes();
    expect(row_bytes.is_multiple_of(ALIGN_BYTES), || {
        format!("a row of the box has {row_bytes} bytes, no multiple of {ALIGN_BYTES}")
    })?;
    let span = map.swizzle.span_bytes().unwrap_or(u64::MAX);
    expect(row_bytes <= span, || {
        format!("a row of the box has {row_bytes} bytes, the swizzle allows {span}")
    })
}

#[cfg(test)]
mod tests;
