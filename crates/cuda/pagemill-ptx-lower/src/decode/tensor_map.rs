//! Changes of tensor maps by kernels: `tensormap.replace` and `tensormap.cp_fenceproxy`.

use super::context::Decoder;
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, CacheHint};
use pagemill_ptx_ir::op::Op;
use pagemill_ptx_ir::tensor::TENSOR_MAP_BYTES;
use pagemill_ptx_ir::tensor::field::{field, insert, insert_form};

const FIELDS: [&str; 10] = [
    "global_address",
    "rank",
    "box_dim",
    "global_dim",
    "global_stride",
    "element_stride",
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "fill_mode",
];

pub(super) fn tensormap(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    match modifiers.take_one(&["replace", "cp_fenceproxy"]) {
        Some("replace") => replace(decoder, modifiers),
        Some(_) => copy(decoder, modifiers),
        None => Err(decoder.bad_form()),
    }
}

/// Puts a value into a field.
fn replace(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("tile");
    let name = modifiers.take_one(&FIELDS);
    let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
    let ty = match modifiers.take("b1024") {
        true => modifiers.take_type(),
        false => None,
    };
    let (Some(name), Some(ty @ (Type::B32 | Type::B64))) = (name, ty) else {
        return Err(decoder.bad_form());
    };
    let last = decoder.operand_count().saturating_sub(1);
    let number = match (last, decoder.operand(1)?) {
        (2, Operand::Integer(number)) => *number,
        (1, _) => 0,
        _ => return Err(decoder.bad_form()),
    };
    let field = field(name, number).ok_or_else(|| decoder.bad_form())?;
    let value = decoder.source(last, ty)?;
    let Place::Memory {
        base,
        offset,
        space,
    } = place(decoder, decoder.operand(0)?, space)?
    else {
        return Err(decoder.fail("a tensor map that is a parameter cannot be changed"));
    };
    let word = decoder.temporary(Class::Wide);
    let at = (base, offset.wrapping_add(8 * field.word as i64), space);
    access(decoder, AccessKind::Load, at, &[word])?;
    let immediate = field.shift | field.bits << 8;
    // A kernel may make a map of zero bytes: what sets a field of the form marks it as one.
    let put = if field.word == 0 { insert_form } else { insert };
    decoder.scalar(put, immediate, word, &[Value::Reg(word), value]);
    access(decoder, AccessKind::Store, at, &[word])
}

/// Loads or stores words.
fn access(
    decoder: &mut Decoder<'_>,
    kind: AccessKind,
    (base, offset, space): (Value, i64, Space),
    words: &[VReg],
) -> Result<(), Fail> {
    let (class, hint) = (Class::Wide, CacheHint::Default);
    let count = words.len();
    let aux = memory_aux(decoder, kind, space, offset, Type::B64, class, count, hint)?;
    match kind {
        AccessKind::Load => decoder.push(Op::Load, words, &[base], Aux::Memory(aux)),
        _ => {
            let values = words.iter().map(|&word| Value::Reg(word));
            let srcs: Vec<Value> = std::iter::once(base).chain(values).collect();
            decoder.push(Op::Store, &[], &srcs, Aux::Memory(aux));
        }
    }
    Ok(())
}

/// Copies a map from shared to global memory, and is a fence.
fn copy(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take_all();
    let size = decoder.source(2, Type::B32)?;
    if decoder.literal(size) != Some(TENSOR_MAP_BYTES as u64) {
        return Err(decoder.bad_form());
    }
    let to = place(decoder, decoder.operand(0)?, Space::Global)?;
    let from = place(decoder, decoder.operand(1)?, Space::Shared)?;
    let (
        Place::Memory {
            base: to,
            offset: to_offset,
            space: to_space,
        },
        Place::Memory {
            base: from,
            offset: from_offset,
            space: from_space,
        },
    ) = (to, from)
    else {
        return Err(decoder.fail("parameters are not copied"));
    };
    for ahead in (0..TENSOR_MAP_BYTES as i64).step_by(32) {
        let words: Vec<VReg> = (0..4).map(|_| decoder.temporary(Class::Wide)).collect();
        let from = (from, from_offset.wrapping_add(ahead), from_space);
        access(decoder, AccessKind::Load, from, &words)?;
        let to = (to, to_offset.wrapping_add(ahead), to_space);
        access(decoder, AccessKind::Store, to, &words)?;
    }
    decoder.push(Op::Fence, &[], &[], Aux::None);
    Ok(())
}
