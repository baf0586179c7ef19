//! Fields of a tensor map that `tensormap.replace` changes.

use super::{ADDRESS, DIMENSIONS, MARK, RANK_MAX, STRIDES};

/// Where a field lies: its word, and the bits of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub word: usize,
    pub shift: u32,
    pub bits: u32,
}

/// The field of that name; of those that each dimension has, the one of dimension `number`, or of stride `number`.
pub fn field(name: &str, number: u64) -> Option<Field> {
    let number = usize::try_from(number).ok()?;
    let of_form = |shift, bits| Field {
        word: 0,
        shift,
        bits,
    };
    let of_dimension = |shift, bits| {
        let word = DIMENSIONS + number;
        (number < RANK_MAX).then_some(Field { word, shift, bits })
    };
    Some(match name {
        "elemtype" => of_form(0, 8),
        "rank" => of_form(8, 4),
        "swizzle_mode" => of_form(12, 4),
        "fill_mode" => of_form(16, 4),
        "interleave_layout" => of_form(20, 4),
        "global_address" => Field {
            word: ADDRESS,
            shift: 0,
            bits: 64,
        },
        "global_dim" => of_dimension(0, 40)?,
        "box_dim" => of_dimension(40, 16)?,
        "element_stride" => of_dimension(56, 8)?,
        "global_stride" if number < RANK_MAX - 1 => Field {
            word: STRIDES + number,
            shift: 0,
            bits: 64,
        },
        _ => return None,
    })
}

/// `word` with `value` in the field of `place`, which is its shift, and its bits eight bits higher.
pub fn insert(word: u64, value: u64, _: u64, place: u32) -> u64 {
    let (shift, bits) = (place & 0xff, place >> 8);
    let mask = match bits {
        64 => u64::MAX,
        bits => (1 << bits) - 1,
    };
    word & !(mask << shift) | (value & mask) << shift
}

/// The same of the form. A kernel may make a map of 128 zero bytes by setting all of its fields: the form makes it one.
pub fn insert_form(word: u64, value: u64, _: u64, place: u32) -> u64 {
    let form = insert(word, value, 0, place);
    match word >> 32 {
        0 => form | MARK << 32,
        _ => form,
    }
}

#[cfg(test)]
mod tests;
