//! Memory on the stack of the current function: `alloca`, and the stack pointer to come back to.

use super::context::Decoder;
use super::modifiers::Modifiers;
use crate::expand::signature::STACK_ALIGN;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, ServiceAux, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::op::Op;

fn address_type(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Type, Fail> {
    let ty = modifiers.take_type();
    let ty = ty.filter(|ty| matches!(ty, Type::U32 | Type::U64 | Type::B32 | Type::B64));
    ty.ok_or_else(|| decoder.bad_form())
}

/// A value of 32 bits out of one of `ty`.
fn narrow(decoder: &mut Decoder<'_>, value: Value, ty: Type) -> Value {
    match ty.bytes() {
        8 => decoder.fresh(Op::Truncate64, Class::Narrow, &[value]),
        _ => value,
    }
}

/// A value of 32 bits into destination 0.
fn give(decoder: &mut Decoder<'_>, value: Value, ty: Type) -> Result<(), Fail> {
    let dst = decoder.destination(0, ty)?;
    match ty.bytes() {
        8 => decoder.op(Op::ZeroExtend32, dst, &[value]),
        _ => decoder.copy(dst, value),
    }
    Ok(())
}

pub(super) fn alloca(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ty = address_type(decoder, modifiers)?;
    let align = match decoder.optional(2) {
        None => STACK_ALIGN,
        Some(Operand::Integer(align)) if align.is_power_of_two() && *align <= 1 << 16 => {
            (*align).max(STACK_ALIGN)
        }
        Some(_) => return Err(decoder.fail("the alignment must be a power of two")),
    };
    let pointer = decoder.program.stack().pointer;
    let size = decoder.source(1, ty)?;
    // What is too large for the stack in any case shall not wrap around.
    if ty.bytes() == 8 {
        let most = decoder.bits(Class::Wide, 1 << 30)?;
        let bounded = decoder.fresh(Op::MinU64, Class::Wide, &[size, most]);
        let size = narrow(decoder, bounded, ty);
        return allocate(decoder, ty, pointer, size, align);
    }
    let most = decoder.bits(Class::Narrow, 1 << 30)?;
    let size = decoder.fresh(Op::MinU32, Class::Narrow, &[size, most]);
    allocate(decoder, ty, pointer, size, align)
}

fn allocate(
    decoder: &mut Decoder<'_>,
    ty: Type,
    pointer: crate::flow::program::VReg,
    size: Value,
    align: u64,
) -> Result<(), Fail> {
    let old = Value::Reg(pointer);
    let start = aligned(decoder, old, align)?;
    let end = decoder.fresh(Op::Add32, Class::Narrow, &[start, size]);
    let end = aligned(decoder, end, STACK_ALIGN)?;
    let service = Aux::Service(ServiceAux::GrowStack);
    decoder.push(Op::Service, &[], &[end], service);
    decoder.op(Op::Move32, pointer, &[end]);
    give(decoder, start, ty)
}

/// The next multiple of `align`.
fn aligned(decoder: &mut Decoder<'_>, value: Value, align: u64) -> Result<Value, Fail> {
    let more = decoder.bits(Class::Narrow, align - 1)?;
    let mask = decoder.bits(Class::Narrow, !(align - 1))?;
    let sum = decoder.fresh(Op::Add32, Class::Narrow, &[value, more]);
    Ok(decoder.fresh(Op::And32, Class::Narrow, &[sum, mask]))
}

pub(super) fn stacksave(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let ty = address_type(decoder, modifiers)?;
    let pointer = Value::Reg(decoder.program.stack().pointer);
    // Not a copy, which could be taken for the stack pointer of later.
    let zero = decoder.bits(Class::Narrow, 0)?;
    let value = decoder.fresh(Op::Add32, Class::Narrow, &[pointer, zero]);
    give(decoder, value, ty)
}

pub(super) fn stackrestore(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let ty = address_type(decoder, modifiers)?;
    let pointer = decoder.program.stack().pointer;
    let value = decoder.source(0, ty)?;
    let value = narrow(decoder, value, ty);
    let service = Aux::Service(ServiceAux::GrowStack);
    decoder.push(Op::Service, &[], &[value], service);
    decoder.op(Op::Move32, pointer, &[value]);
    Ok(())
}
