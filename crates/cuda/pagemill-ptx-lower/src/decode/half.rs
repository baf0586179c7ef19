//! Half precision and bfloat16: every operation is a lane function on the raw bits.

use super::arithmetic::{Arithmetic, Sign};
use super::context::Decoder;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, Value};
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::functions::half as functions;
use pagemill_ptx_ir::info::InstructionClass;

pub(super) use functions::{EX2, TANH};

pub(super) fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
}

/// The flags that tell the format.
fn format(ty: Type) -> u32 {
    match ty {
        Type::F16x2 => functions::PAIR,
        Type::Bf16 => functions::BF16,
        Type::Bf16x2 => functions::BF16 | functions::PAIR,
        _ => 0,
    }
}

fn take_flags(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>, ty: Type) -> u32 {
    // Timed as single precision, in whose pipes it runs.
    decoder.info().class = InstructionClass::Float32;
    let mut flags = format(ty);
    // The one rounding that PTX has for halves.
    modifiers.take("rn");
    for (name, flag) in [
        ("ftz", functions::FTZ),
        ("sat", functions::SATURATE),
        ("relu", functions::RELU),
    ] {
        if modifiers.take(name) {
            flags |= flag;
        }
    }
    flags
}

fn emit(decoder: &mut Decoder<'_>, ty: Type, code: u32, count: usize) -> Result<(), Fail> {
    let mut srcs = Vec::new();
    for index in 0..count {
        srcs.push(decoder.source(index + 1, ty)?);
    }
    let dst = decoder.destination(0, ty)?;
    decoder.scalar(functions::compute, code, dst, &srcs);
    Ok(())
}

pub(super) fn arithmetic(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    kind: Arithmetic,
) -> Result<(), Fail> {
    let flags = take_flags(decoder, modifiers, ty);
    let operation = match kind {
        Arithmetic::Add => functions::ADD,
        Arithmetic::Sub => functions::SUB,
        Arithmetic::Mul => functions::MUL,
    };
    emit(decoder, ty, operation | flags, 2)
}

pub(super) fn fma(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
) -> Result<(), Fail> {
    let flags = take_flags(decoder, modifiers, ty);
    emit(decoder, ty, functions::FMA | flags, 3)
}

pub(super) fn sign(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    sign: Sign,
) -> Result<(), Fail> {
    let flags = take_flags(decoder, modifiers, ty);
    let operation = if sign == Sign::Clear {
        functions::ABS
    } else {
        functions::NEG
    };
    emit(decoder, ty, operation | flags, 1)
}

pub(super) fn extreme(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    max: bool,
    relu: bool,
) -> Result<(), Fail> {
    let mut flags = take_flags(decoder, modifiers, ty);
    if relu {
        flags |= functions::RELU;
    }
    if modifiers.take("NaN") {
        flags |= functions::NAN;
    }
    if modifiers.take("xorsign") && modifiers.take("abs") {
        flags |= functions::XORSIGN;
    }
    emit(
        decoder,
        ty,
        if max { functions::MAX } else { functions::MIN } | flags,
        2,
    )
}

pub(super) fn unary(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    operation: u32,
) -> Result<(), Fail> {
    let flags = take_flags(decoder, modifiers, ty);
    decoder.info().class = InstructionClass::Special;
    emit(decoder, ty, operation | flags, 1)
}

/// A half value as single precision, exactly.
pub(super) fn widen(decoder: &mut Decoder<'_>, ty: Type, value: Value, ftz: bool) -> Value {
    let flags = format(ty) | if ftz { functions::FTZ } else { 0 };
    decoder.scalar_fresh(functions::to_single, flags, Class::Narrow, &[value])
}
