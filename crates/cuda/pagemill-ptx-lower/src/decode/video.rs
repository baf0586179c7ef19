//! `vadd` and its like, on words, two halfwords or four bytes.

use super::context::Decoder;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::Class;
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::functions::video as functions;

/// The operation and the bits of an element, out of the opcode's name.
fn operation(name: &str) -> Option<u32> {
    let (name, bits) = match name.split_at(name.len() - 1) {
        (name, "2") => (name, 16),
        (name, "4") => (name, 8),
        _ => (name, 32),
    };
    let operation = match name {
        "vadd" => functions::ADD,
        "vsub" => functions::SUB,
        "vavrg" => functions::AVERAGE,
        "vabsdiff" => functions::DIFFERENCE,
        "vmin" => functions::MIN,
        "vmax" => functions::MAX,
        _ => return None,
    };
    Some(operation | bits << functions::BITS_AT)
}

/// `op.dtype.atype.btype[.sat][.add|.min|.max] d, a, b[, c]`, without selectors of parts of the operands.
pub(super) fn video(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let mut code = operation(modifiers.name).ok_or_else(|| decoder.bad_form())?;
    for sign in [functions::SIGNED, functions::SIGNED_A, functions::SIGNED_B] {
        match modifiers.take_type() {
            Some(Type::S32) => code |= sign,
            Some(Type::U32) => {}
            _ => return Err(decoder.bad_form()),
        }
    }
    if modifiers.take("sat") {
        code |= functions::SATURATE;
    }
    // The forms of two and four parts only accumulate.
    let words = code >> functions::BITS_AT & 0xff == 32;
    code |= match modifiers.take_one(&["add", "min", "max"]) {
        None => 0,
        Some("add") => functions::ACCUMULATE,
        Some("min") if words => functions::THEN_MIN,
        Some("max") if words => functions::THEN_MAX,
        Some(_) => return Err(decoder.bad_form()),
    };
    let c = match decoder.operand_count() {
        // Without an operation on it, `c` is what elements outside of a mask come from.
        4 => decoder.source(3, Type::B32)?,
        _ => decoder.bits(Class::Narrow, 0)?,
    };
    let srcs = [
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        c,
    ];
    let dst = decoder.destination(0, Type::B32)?;
    decoder.scalar(functions::compute, code, dst, &srcs);
    Ok(())
}
