//! `cvt`.

use super::context::Decoder;
use super::float::take_rounding;
use super::half;
use super::int::Int;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::functions::convert as functions;
use pagemill_ptx_ir::functions::half as half_functions;
use pagemill_ptx_ir::functions::narrow_floats;
use pagemill_ptx_ir::functions::rounding::{self, Operation, Rounding};
use pagemill_ptx_ir::op::Op;

/// Modifiers of one conversion.
struct Form {
    rounding: Option<Rounding>,
    to_integer: Option<&'static str>,
    ftz: bool,
    saturate: bool,
    relu: bool,
}

pub(super) fn cvt(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if modifiers.take("pack") {
        return pack(decoder, modifiers);
    }
    if let Some(format) = modifiers.take_map(narrow_format) {
        return narrow_pairs(decoder, modifiers, format);
    }
    if modifiers.take("ue8m0x2") {
        return powers_of_two(decoder, modifiers);
    }
    if modifiers.take("tf32") {
        modifiers.take_one(&["rna", "rn", "rz"]);
        modifiers
            .take_type()
            .filter(|ty| *ty == Type::F32)
            .ok_or_else(|| decoder.bad_form())?;
        let source = decoder.source(1, Type::F32)?;
        let dst = decoder.destination(0, Type::B32)?;
        decoder.scalar(functions::to_tf32, 0, dst, &[source]);
        return Ok(());
    }
    let form = Form {
        to_integer: modifiers.take_one(&["rni", "rzi", "rmi", "rpi"]),
        rounding: take_rounding(modifiers),
        ftz: modifiers.take("ftz"),
        saturate: modifiers.take("sat"),
        relu: modifiers.take("relu"),
    };
    let to = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let from = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if matches!(to, Type::F16x2 | Type::Bf16x2) {
        return pack_halves(decoder, &form, to, from);
    }
    let source = decoder.operand(1)?;
    match (Int::of(to), Int::of(from)) {
        (Some(to), Some(from)) => integers(decoder, &form, to, from, source),
        (None, Some(from)) => integer_to_float(decoder, &form, to, from, source),
        (Some(to), None) => float_to_integer(decoder, &form, to, from),
        (None, None) => floats(decoder, &form, to, from),
    }
}

/// The source extended to 32 bits, or as it is when 64; registers may be wider than the type.
fn integer_source<'a>(
    decoder: &mut Decoder<'a>,
    from: Int,
    operand: &'a Operand,
) -> Result<Value, Fail> {
    let value = match operand {
        Operand::Register(register) => {
            let bytes = decoder.register_type(*register).bytes();
            if bytes < from.bytes || decoder.register_type(*register) == Type::Pred {
                return Err(decoder.wrong_size(*register, from.ty));
            }
            let value = Value::Reg(decoder.register(*register));
            if bytes == 8 && from.bytes < 8 {
                decoder.fresh(Op::Truncate64, Class::Narrow, &[value])
            } else {
                value
            }
        }
        _ => decoder.value(operand, from.ty)?,
    };
    extend(decoder, from, value)
}

/// The low bits of a narrow value, extended to 32.
fn extend(decoder: &mut Decoder<'_>, int: Int, value: Value) -> Result<Value, Fail> {
    Ok(match (int.bytes, int.signed) {
        (1, true) => decoder.fresh(Op::SignExtend8, Class::Narrow, &[value]),
        (2, true) => decoder.fresh(Op::SignExtend16, Class::Narrow, &[value]),
        (bytes @ 1..=2, false) => {
            let mask = decoder.bits(Class::Narrow, (1 << (8 * bytes)) - 1)?;
            decoder.fresh(Op::And32, Class::Narrow, &[value, mask])
        }
        _ => value,
    })
}

fn widen(decoder: &mut Decoder<'_>, signed: bool, value: Value) -> Value {
    decoder.fresh(
        if signed {
            Op::SignExtend32
        } else {
            Op::ZeroExtend32
        },
        Class::Wide,
        &[value],
    )
}

/// The destination and its size, which may exceed the type's.
fn integer_destination(decoder: &mut Decoder<'_>, to: Int) -> Result<(VReg, u64), Fail> {
    match decoder.operand(0)? {
        Operand::Register(register) => {
            let bytes = decoder.register_type(*register).bytes();
            if bytes < to.bytes || decoder.register_type(*register) == Type::Pred {
                return Err(decoder.wrong_size(*register, to.ty));
            }
            Ok((decoder.register(*register), bytes))
        }
        Operand::Sink => Ok((decoder.temporary(to.class()), to.bytes)),
        _ => Err(decoder.fail("the destination must be a register")),
    }
}

/// Stores an integer of type `to`, given in a value of its class, extending it to the register.
fn store_integer(decoder: &mut Decoder<'_>, to: Int, value: Value) -> Result<(), Fail> {
    let (dst, bytes) = integer_destination(decoder, to)?;
    if to.bytes == 8 {
        decoder.copy(dst, value);
        return Ok(());
    }
    let value = extend(decoder, to, value)?;
    match bytes {
        8 => {
            let value = widen(decoder, to.signed, value);
            decoder.copy(dst, value);
        }
        4 => decoder.copy(dst, value),
        _ => super::integer::cut(decoder, dst, value)?,
    }
    Ok(())
}

fn integers<'a>(
    decoder: &mut Decoder<'a>,
    form: &Form,
    to: Int,
    from: Int,
    operand: &'a Operand,
) -> Result<(), Fail> {
    let source = integer_source(decoder, from, operand)?;
    // Widened first: one function for all sizes, and no bound that 64 bits do not hold.
    if form.saturate {
        let wide = if from.bytes == 8 {
            source
        } else {
            widen(decoder, from.signed, source)
        };
        let code = functions::integer_code(to.bytes, to.signed, from.signed);
        let value = decoder.scalar_fresh(functions::saturate, code, to.class(), &[wide]);
        return store_integer(decoder, to, value);
    }
    let value = match (from.bytes, to.bytes) {
        (8, 8) => source,
        (_, 8) => widen(decoder, from.signed, source),
        (8, _) => decoder.fresh(Op::Truncate64, Class::Narrow, &[source]),
        _ => source,
    };
    store_integer(decoder, to, value)
}

fn integer_to_float<'a>(
    decoder: &mut Decoder<'a>,
    form: &Form,
    to: Type,
    from: Int,
    operand: &'a Operand,
) -> Result<(), Fail> {
    let source = integer_source(decoder, from, operand)?;
    let dst = decoder.destination(0, to)?;
    let nearest = form
        .rounding
        .is_none_or(|rounding| rounding == Rounding::Nearest);
    let op = match (to, from.bytes == 8, from.signed) {
        (Type::F32, false, true) if nearest => Some(Op::S32ToF32),
        (Type::F32, false, false) if nearest => Some(Op::U32ToF32),
        // A double holds 32 bits exactly, so there is nothing to round.
        (Type::F64, false, true) => Some(Op::S32ToF64),
        (Type::F64, false, false) => Some(Op::U32ToF64),
        (Type::F64, true, true) if nearest => Some(Op::S64ToF64),
        (Type::F64, true, false) if nearest => Some(Op::U64ToF64),
        _ => None,
    };
    let class = if to == Type::F64 {
        Class::Wide
    } else {
        Class::Narrow
    };
    let value = match op {
        Some(op) => decoder.fresh(op, class, &[source]),
        None => {
            let wide = if from.bytes == 8 {
                source
            } else {
                widen(decoder, from.signed, source)
            };
            let rounding = form.rounding.unwrap_or(Rounding::Nearest);
            let code = functions::float_code(to, from.signed, rounding)
                .ok_or_else(|| decoder.bad_form())?;
            decoder.scalar_fresh(functions::integer_to_float, code, class, &[wide])
        }
    };
    if form.saturate {
        let op = match to {
            Type::F32 => Op::SaturateF32,
            Type::F64 => Op::SaturateF64,
            _ => return Err(decoder.bad_form()),
        };
        decoder.op(op, dst, &[value]);
        return Ok(());
    }
    decoder.copy(dst, value);
    Ok(())
}

/// The source as single or double precision; halves become singles.
fn float_source(decoder: &mut Decoder<'_>, form: &Form, from: Type) -> Result<(Value, bool), Fail> {
    let value = decoder.source(1, from)?;
    Ok(match from {
        Type::F64 => (value, true),
        Type::F32 if form.ftz => (decoder.fresh(Op::FlushF32, Class::Narrow, &[value]), false),
        Type::F32 => (value, false),
        Type::F16 | Type::Bf16 => (half::widen(decoder, from, value, false), false),
        _ => return Err(decoder.bad_form()),
    })
}

/// Rounds to an integral value as `.rni` and its like ask.
fn round_to_integral(decoder: &mut Decoder<'_>, how: &str, value: Value, double: bool) -> Value {
    let (single_op, double_op) = match how {
        "rni" => (Op::RintF32, Op::RintF64),
        "rmi" => (Op::FloorF32, Op::FloorF64),
        "rpi" => (Op::CeilF32, Op::CeilF64),
        _ => (Op::TruncF32, Op::TruncF64),
    };
    match double {
        true => decoder.fresh(double_op, Class::Wide, &[value]),
        false => decoder.fresh(single_op, Class::Narrow, &[value]),
    }
}

fn float_to_integer(
    decoder: &mut Decoder<'_>,
    form: &Form,
    to: Int,
    from: Type,
) -> Result<(), Fail> {
    let how = form
        .to_integer
        .ok_or_else(|| decoder.fail("a conversion to an integer needs .rni, .rzi, .rmi or .rpi"))?;
    let (source, double) = float_source(decoder, form, from)?;
    // The conversions themselves truncate.
    let source = if how == "rzi" {
        source
    } else {
        round_to_integral(decoder, how, source, double)
    };
    let op = match (to.bytes, to.signed, double) {
        (4, true, false) => Op::F32ToS32,
        (4, false, false) => Op::F32ToU32,
        (4, true, true) => Op::F64ToS32,
        (4, false, true) => Op::F64ToU32,
        _ => {
            let wide = if double {
                source
            } else {
                decoder.fresh(Op::F32ToF64, Class::Wide, &[source])
            };
            let code = functions::integer_code(to.bytes, to.signed, double);
            let value =
                decoder.scalar_fresh(functions::float_to_integer, code, to.class(), &[wide]);
            return store_integer(decoder, to, value);
        }
    };
    let value = decoder.fresh(op, Class::Narrow, &[source]);
    store_integer(decoder, to, value)
}

fn floats(decoder: &mut Decoder<'_>, form: &Form, to: Type, from: Type) -> Result<(), Fail> {
    let (source, double) = float_source(decoder, form, from)?;
    let dst = decoder.destination(0, to)?;
    let source = match form.to_integer {
        Some(how) => round_to_integral(decoder, how, source, double),
        None => source,
    };
    let rounding = form.rounding.unwrap_or(Rounding::Nearest);
    let value = match (to, double) {
        (Type::F64, true) | (Type::F32, false) => source,
        (Type::F64, false) => decoder.fresh(Op::F32ToF64, Class::Wide, &[source]),
        (Type::F32, true) if rounding == Rounding::Nearest => {
            decoder.fresh(Op::F64ToF32, Class::Narrow, &[source])
        }
        (Type::F32, true) => {
            let code = rounding::code(Operation::Narrow, rounding);
            decoder.scalar_fresh(rounding::double, code, Class::Narrow, &[source])
        }
        // From a double in any case: to widen a single is exact, so that the value is rounded once.
        (Type::F16 | Type::Bf16, _) => {
            let wide = if double {
                source
            } else {
                decoder.fresh(Op::F32ToF64, Class::Wide, &[source])
            };
            let code = half_code(form, to, rounding);
            decoder.scalar(half_functions::from_double, code, dst, &[wide]);
            return Ok(());
        }
        _ => return Err(decoder.bad_form()),
    };
    finish_float(decoder, form, to, dst, value)
}

fn half_code(form: &Form, to: Type, rounding: Rounding) -> u32 {
    let mut code = rounding as u32;
    for (wanted, flag) in [
        (
            matches!(to, Type::Bf16 | Type::Bf16x2),
            half_functions::BF16,
        ),
        (form.saturate, half_functions::SATURATE),
        (form.relu, half_functions::RELU),
    ] {
        if wanted {
            code |= flag;
        }
    }
    code
}

fn finish_float(
    decoder: &mut Decoder<'_>,
    form: &Form,
    to: Type,
    dst: VReg,
    value: Value,
) -> Result<(), Fail> {
    let single = to == Type::F32;
    let value = if form.ftz && single {
        decoder.fresh(Op::FlushF32, Class::Narrow, &[value])
    } else {
        value
    };
    if form.saturate {
        decoder.op(
            if single {
                Op::SaturateF32
            } else {
                Op::SaturateF64
            },
            dst,
            &[value],
        );
    } else {
        decoder.copy(dst, value);
    }
    Ok(())
}

/// `cvt.rn.f16x2.f32 d, high, low`.
fn pack_halves(decoder: &mut Decoder<'_>, form: &Form, to: Type, from: Type) -> Result<(), Fail> {
    if from != Type::F32 {
        return Err(decoder.bad_form());
    }
    let mut halves = [decoder.source(1, from)?, decoder.source(2, from)?];
    if form.ftz {
        halves = halves.map(|half| decoder.fresh(Op::FlushF32, Class::Narrow, &[half]));
    }
    let dst = decoder.destination(0, to)?;
    let code = half_code(form, to, form.rounding.unwrap_or(Rounding::Nearest));
    decoder.scalar(half_functions::pack_singles, code, dst, &halves);
    Ok(())
}

fn narrow_format(part: &str) -> Option<u32> {
    Some(match part {
        "e4m3x2" => narrow_floats::E4M3,
        "e5m2x2" => narrow_floats::E5M2,
        "e2m3x2" => narrow_floats::E2M3,
        "e3m2x2" => narrow_floats::E3M2,
        "e2m1x2" => narrow_floats::E2M1,
        _ => return None,
    })
}

/// `cvt.{rn rz}.satfinite[.relu].e4m3x2.{f32 f16x2 bf16x2}` and `cvt.rn[.relu].f16x2.e4m3x2`, and those of the other formats.
fn narrow_pairs(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    format: u32,
) -> Result<(), Fail> {
    let mut code = format;
    if modifiers.take_one(&["rn", "rz"]) == Some("rz") {
        code |= narrow_floats::TO_ZERO;
    }
    let narrows = modifiers.take("satfinite");
    if modifiers.take("relu") {
        code |= narrow_floats::RELU;
    }
    let pair = match format {
        // Two of four bits are a byte.
        narrow_floats::E2M1 => Type::B8,
        _ => Type::B16,
    };
    match (narrows, modifiers.take_type()) {
        (true, Some(Type::F32)) => {
            let srcs = [decoder.source(1, Type::F32)?, decoder.source(2, Type::F32)?];
            let dst = decoder.destination(0, pair)?;
            decoder.scalar(narrow_floats::from_singles, code, dst, &srcs);
        }
        (true, Some(from @ (Type::F16x2 | Type::Bf16x2))) => {
            if from == Type::Bf16x2 {
                code |= narrow_floats::BF16;
            }
            let source = decoder.source(1, Type::B32)?;
            let dst = decoder.destination(0, pair)?;
            decoder.scalar(narrow_floats::from_halves, code, dst, &[source]);
        }
        (false, Some(Type::F16x2)) if code & narrow_floats::TO_ZERO == 0 => {
            let source = decoder.source(1, pair)?;
            let dst = decoder.destination(0, Type::B32)?;
            decoder.scalar(narrow_floats::to_halves, code, dst, &[source]);
        }
        _ => return Err(decoder.bad_form()),
    }
    Ok(())
}

/// `cvt.{rz rp}[.satfinite].ue8m0x2.{f32 bf16x2}` and `cvt.rn.bf16x2.ue8m0x2`.
fn powers_of_two(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let rounding = modifiers.take_one(&["rz", "rp", "rn"]);
    let mut code = match rounding {
        Some("rp") => narrow_floats::UP,
        _ => 0,
    };
    if modifiers.take("satfinite") {
        code |= narrow_floats::FINITE;
    }
    match (rounding, modifiers.take_type()) {
        (Some("rz" | "rp"), Some(Type::F32)) => {
            let srcs = [decoder.source(1, Type::F32)?, decoder.source(2, Type::F32)?];
            let dst = decoder.destination(0, Type::B16)?;
            decoder.scalar(narrow_floats::powers_from_singles, code, dst, &srcs);
        }
        (Some("rz" | "rp"), Some(Type::Bf16x2)) => {
            let source = decoder.source(1, Type::B32)?;
            let dst = decoder.destination(0, Type::B16)?;
            decoder.scalar(narrow_floats::powers_from_halves, code, dst, &[source]);
        }
        (Some("rn"), Some(Type::Bf16x2)) if code == 0 => {
            let source = decoder.source(1, Type::B16)?;
            let dst = decoder.destination(0, Type::B32)?;
            decoder.scalar(narrow_floats::powers_to_halves, 0, dst, &[source]);
        }
        _ => return Err(decoder.bad_form()),
    }
    Ok(())
}

/// `cvt.pack.sat.type.s32 d, a, b [, c]`.
fn pack(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if !modifiers.take("sat") {
        return Err(decoder.bad_form());
    }
    let to = modifiers.take_one(&["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"]);
    let (signed, bits) = match to.map(|to| to.split_at(1)) {
        Some((sign, bits)) => (sign == "s", bits.parse().unwrap_or(16)),
        None => return Err(decoder.bad_form()),
    };
    if modifiers.take_type() != Some(Type::S32) {
        return Err(decoder.bad_form());
    }
    // A third type, b32, names the operand whose low part is shifted up.
    let joins = modifiers.take_type().is_some();
    let (a, b) = (decoder.source(1, Type::S32)?, decoder.source(2, Type::S32)?);
    let c = match joins {
        true => decoder.source(3, Type::B32)?,
        false => decoder.bits(Class::Narrow, 0)?,
    };
    let dst = decoder.destination(0, Type::B32)?;
    decoder.scalar(
        functions::pack,
        functions::pack_code(bits, signed),
        dst,
        &[a, b, c],
    );
    Ok(())
}
