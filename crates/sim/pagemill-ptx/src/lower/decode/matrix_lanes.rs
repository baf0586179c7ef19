//! `movmatrix` and `stmatrix`, made of exchanges between lanes and of stores.
//!
//! Of a matrix of 8 by 8 elements of 16 bits, lane 4 r + c holds the elements 2 c and 2 c + 1 of row r.

use super::super::Fail;
use super::super::ir::{Aux, Class, Value};
use super::context::Decoder;
use super::matrix::{matrix_count, parts};
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use super::warp::shuffle;
use crate::ast::{Space, Type};
use crate::code::{AccessKind, CacheHint, Preset};
use crate::exec::op::Op;

pub(super) fn movmatrix(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    modifiers.take("aligned");
    let is_known = ["sync", "m8n8", "trans", "b16"]
        .iter()
        .all(|part| modifiers.take(part));
    if !is_known {
        return Err(decoder.bad_form());
    }
    let word = decoder.source(1, Type::B32)?;
    let dst = decoder.destination(0, Type::B32)?;
    let word = transposed(decoder, word)?;
    decoder.copy(dst, word);
    Ok(())
}

/// Lanes 8 i to 8 i + 7 have the addresses of the rows of matrix i. Each lane stores its own word of each.
pub(super) fn stmatrix(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    modifiers.take("aligned");
    let count = matrix_count(modifiers);
    let transposes = modifiers.take("trans");
    let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
    let is_known = ["sync", "m8n8", "b16"]
        .iter()
        .all(|part| modifiers.take(part));
    let words = parts(decoder.operand(1)?);
    if !is_known || Some(words.len()) != count || !matches!(space, Space::Shared | Space::Generic) {
        return Err(decoder.bad_form());
    }
    let Place::Memory { base, offset, .. } = place(decoder, decoder.operand(0)?, space)? else {
        return Err(decoder.fail("a matrix is stored to shared memory"));
    };
    let row = lane_bits(decoder, 2, 7)?;
    let place = lane_bits(decoder, 0, 3)?;
    let four = decoder.bits(Class::Narrow, 4)?;
    let place = decoder.fresh(Op::Mul32, Class::Narrow, &[place, four]);
    for (matrix, word) in (0..).zip(words) {
        let mut word = decoder.value(word, Type::B32)?;
        if transposes {
            word = transposed(decoder, word)?;
        }
        let first = decoder.bits(Class::Narrow, 8 * matrix)?;
        let holder = decoder.fresh(Op::Add32, Class::Narrow, &[row, first]);
        let address = address_behind(decoder, (base, offset), holder, place)?;
        let (kind, class, hint) = (AccessKind::Store, Class::Narrow, CacheHint::Default);
        let aux = memory_aux(decoder, kind, space, offset, Type::B32, class, 1, hint)?;
        decoder.push(Op::Store, &[], &[address, word], Aux::Memory(aux));
    }
    Ok(())
}

/// The row's address in lane `holder`, and `place` behind it. A row that does not begin at 16 bytes gives an odd address, which
/// stops the kernel.
fn address_behind(
    decoder: &mut Decoder<'_>,
    (base, offset): (Value, i64),
    holder: Value,
    place: Value,
) -> Result<Value, Fail> {
    let is_narrow = match base {
        Value::Reg(register) => decoder.program.class(register) == Class::Narrow,
        Value::Narrow(_) => true,
        Value::Wide(_) => false,
    };
    let low = match is_narrow {
        true => base,
        false => decoder.fresh(Op::Truncate64, Class::Narrow, &[base]),
    };
    let low = shuffle(decoder, low, holder)?;
    let offset = decoder.bits(Class::Narrow, u64::from(offset as u32))?;
    let start = decoder.fresh(Op::Add32, Class::Narrow, &[low, offset]);
    let bit = |decoder: &mut Decoder<'_>, number| {
        let (number, one) = (
            decoder.bits(Class::Narrow, number)?,
            decoder.bits(Class::Narrow, 1)?,
        );
        let shifted = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[start, number]);
        Ok::<_, Fail>(decoder.fresh(Op::And32, Class::Narrow, &[shifted, one]))
    };
    let off_row = [bit(decoder, 2)?, bit(decoder, 3)?];
    let off_row = decoder.fresh(Op::Or32, Class::Narrow, &off_row);
    let place = decoder.fresh(Op::Add32, Class::Narrow, &[place, off_row]);
    if is_narrow {
        return Ok(decoder.fresh(Op::Add32, Class::Narrow, &[low, place]));
    }
    let high = decoder.fresh(Op::HighHalf64, Class::Narrow, &[base]);
    let high = shuffle(decoder, high, holder)?;
    let base = decoder.fresh(Op::Join64, Class::Wide, &[low, high]);
    let place = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[place]);
    Ok(decoder.fresh(Op::Add64, Class::Wide, &[base, place]))
}

/// The lane's word of the transposed matrix: element l / 4 of row 2 (l % 4), and of the next. Row r lies in lanes 4 r to 4 r + 3.
fn transposed(decoder: &mut Decoder<'_>, word: Value) -> Result<Value, Fail> {
    let row = lane_bits(decoder, 0, 3)?;
    let pair = lane_bits(decoder, 3, 3)?;
    let half = lane_bits(decoder, 2, 1)?;
    let eight = decoder.bits(Class::Narrow, 8)?;
    let four = decoder.bits(Class::Narrow, 4)?;
    let rows = decoder.fresh(Op::Mul32, Class::Narrow, &[row, eight]);
    let first = decoder.fresh(Op::Add32, Class::Narrow, &[rows, pair]);
    let next = decoder.fresh(Op::Add32, Class::Narrow, &[first, four]);
    let (first, next) = (
        shuffle(decoder, word, first)?,
        shuffle(decoder, word, next)?,
    );
    // The lower halves of both, or the upper ones.
    let (lower, step) = (0x5410, 0x2222);
    let step = decoder.bits(Class::Narrow, step)?;
    let lower = decoder.bits(Class::Narrow, lower)?;
    let step = decoder.fresh(Op::Mul32, Class::Narrow, &[half, step]);
    let selector = decoder.fresh(Op::Add32, Class::Narrow, &[lower, step]);
    Ok(decoder.fresh(Op::PermuteBytes, Class::Narrow, &[first, next, selector]))
}

/// The bits of `mask` of the lane's number, `shift` bits from its right.
fn lane_bits(decoder: &mut Decoder<'_>, shift: u64, mask: u64) -> Result<Value, Fail> {
    let lane = Value::Reg(decoder.program.preset(Preset::Lane));
    let shift = decoder.bits(Class::Narrow, shift)?;
    let mask = decoder.bits(Class::Narrow, mask)?;
    let shifted = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[lane, shift]);
    Ok(decoder.fresh(Op::And32, Class::Narrow, &[shifted, mask]))
}
