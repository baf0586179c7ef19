//! Single and double precision arithmetic.

use super::arithmetic::{Arithmetic, Sign};
use super::context::Decoder;
use super::half;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, VReg, Value};
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::functions::float as functions;
use pagemill_ptx_ir::functions::rounding::{self, Operation, Rounding};
use pagemill_ptx_ir::info::InstructionClass;
use pagemill_ptx_ir::op::Op;

/// Modifiers that most single-precision instructions share.
#[derive(Clone, Copy, Debug)]
struct Form {
    ty: Type,
    rounding: Option<Rounding>,
    ftz: bool,
    saturate: bool,
}

impl Form {
    fn take(
        decoder: &mut Decoder<'_>,
        modifiers: &mut Modifiers<'_>,
        ty: Type,
    ) -> Result<Self, Fail> {
        if !matches!(ty, Type::F32 | Type::F64) {
            return Err(decoder.bad_form());
        }
        let rounding = take_rounding(modifiers);
        let single = ty == Type::F32;
        let (ftz, saturate) = (
            single && modifiers.take("ftz"),
            single && modifiers.take("sat"),
        );
        decoder.info().class = class_of(ty);
        Ok(Self {
            ty,
            rounding,
            ftz,
            saturate,
        })
    }

    fn class(self) -> Class {
        if self.ty == Type::F64 {
            Class::Wide
        } else {
            Class::Narrow
        }
    }

    fn pick(self, single: Op, double: Op) -> Op {
        if self.ty == Type::F64 { double } else { single }
    }

    fn source(self, decoder: &mut Decoder<'_>, index: usize) -> Result<Value, Fail> {
        let value = decoder.source(index, self.ty)?;
        Ok(if self.ftz {
            decoder.fresh(self.flush(), self.class(), &[value])
        } else {
            value
        })
    }

    fn flush(self) -> Op {
        self.pick(Op::FlushF32, Op::FlushF64)
    }

    /// The approximations of double precision may flush too.
    fn or_flushing_double(self, modifiers: &mut Modifiers<'_>, approximate: bool) -> Self {
        let flushes = self.ty == Type::F64 && approximate && modifiers.take("ftz");
        Self {
            ftz: self.ftz || flushes,
            ..self
        }
    }

    /// `dst = op(srcs)`, then what the modifiers ask for.
    fn finish(self, decoder: &mut Decoder<'_>, op: Op, srcs: &[Value]) -> Result<(), Fail> {
        let dst = decoder.destination(0, self.ty)?;
        if !self.ftz && !self.saturate {
            decoder.op(op, dst, srcs);
            return Ok(());
        }
        let value = decoder.fresh(op, self.class(), srcs);
        self.store(decoder, dst, value);
        Ok(())
    }

    fn store(self, decoder: &mut Decoder<'_>, dst: VReg, value: Value) {
        match (self.ftz, self.saturate) {
            (true, true) => {
                let flushed = decoder.fresh(self.flush(), self.class(), &[value]);
                decoder.op(Op::SaturateF32, dst, &[flushed]);
            }
            (true, false) => decoder.op(self.flush(), dst, &[value]),
            (false, true) => decoder.op(Op::SaturateF32, dst, &[value]),
            (false, false) => decoder.copy(dst, value),
        }
    }

    /// The operation under this form's rounding: the vector one for the nearest, else lane by lane.
    fn rounded(
        self,
        decoder: &mut Decoder<'_>,
        op: Op,
        operation: Operation,
        srcs: &[Value],
    ) -> Result<(), Fail> {
        let dst = decoder.destination(0, self.ty)?;
        self.rounded_to(decoder, dst, (op, operation), srcs);
        Ok(())
    }

    fn rounded_to(
        self,
        decoder: &mut Decoder<'_>,
        dst: VReg,
        (op, operation): (Op, Operation),
        srcs: &[Value],
    ) {
        let rounding = self.rounding.unwrap_or(Rounding::Nearest);
        let value = match (rounding, self.ty) {
            (Rounding::Nearest, _) if !self.ftz && !self.saturate => {
                return decoder.op(op, dst, srcs);
            }
            (Rounding::Nearest, _) => decoder.fresh(op, self.class(), srcs),
            (_, ty) => {
                let function = match ty {
                    Type::F64 => rounding::double,
                    _ => rounding::single,
                };
                let code = rounding::code(operation, rounding);
                decoder.scalar_fresh(function, code, self.class(), srcs)
            }
        };
        self.store(decoder, dst, value);
    }
}

/// The same operation on both singles of 64 bits.
fn two_singles(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    (op, operation): (Op, Operation),
    operands: usize,
) -> Result<(), Fail> {
    let form = Form::take(decoder, modifiers, Type::F32)?;
    let mut halves = [Vec::new(), Vec::new()];
    for index in 1..=operands {
        let both = decoder.source(index, Type::B64)?;
        for (half, part) in halves.iter_mut().zip([Op::Truncate64, Op::HighHalf64]) {
            let single = decoder.fresh(part, Class::Narrow, &[both]);
            half.push(match form.ftz {
                true => decoder.fresh(Op::FlushF32, Class::Narrow, &[single]),
                false => single,
            });
        }
    }
    let dst = decoder.destination(0, Type::B64)?;
    let results = halves.map(|srcs| {
        let result = decoder.temporary(Class::Narrow);
        form.rounded_to(decoder, result, (op, operation), &srcs);
        Value::Reg(result)
    });
    decoder.op(Op::Join64, dst, &results);
    Ok(())
}

pub(super) fn take_rounding(modifiers: &mut Modifiers<'_>) -> Option<Rounding> {
    Some(match modifiers.take_one(&["rn", "rz", "rm", "rp"])? {
        "rn" => Rounding::Nearest,
        "rz" => Rounding::Zero,
        "rm" => Rounding::Down,
        _ => Rounding::Up,
    })
}

fn class_of(ty: Type) -> InstructionClass {
    if ty == Type::F64 {
        InstructionClass::Float64
    } else {
        InstructionClass::Float32
    }
}

pub(super) fn arithmetic(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    kind: Arithmetic,
) -> Result<(), Fail> {
    if half::is_half(ty) {
        return half::arithmetic(decoder, modifiers, ty, kind);
    }
    let form = Form::take(decoder, modifiers, ty)?;
    let srcs = [form.source(decoder, 1)?, form.source(decoder, 2)?];
    let (op, operation) = match kind {
        Arithmetic::Add => (form.pick(Op::AddF32, Op::AddF64), Operation::Add),
        Arithmetic::Sub => (form.pick(Op::SubF32, Op::SubF64), Operation::Sub),
        Arithmetic::Mul => (form.pick(Op::MulF32, Op::MulF64), Operation::Mul),
    };
    form.rounded(decoder, op, operation, &srcs)
}

/// `add`, `sub` and `mul` of `f32x2`.
pub(super) fn arithmetic_of_two(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    kind: Arithmetic,
) -> Result<(), Fail> {
    let operation = match kind {
        Arithmetic::Add => (Op::AddF32, Operation::Add),
        Arithmetic::Sub => (Op::SubF32, Operation::Sub),
        Arithmetic::Mul => (Op::MulF32, Operation::Mul),
    };
    two_singles(decoder, modifiers, operation, 2)
}

pub(super) fn fma(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if modifiers.take("f32x2") {
        return two_singles(decoder, modifiers, (Op::FmaF32, Operation::Fma), 3);
    }
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if half::is_half(ty) {
        return half::fma(decoder, modifiers, ty);
    }
    multiply_add(decoder, modifiers, ty)
}

pub(super) fn multiply_add(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
) -> Result<(), Fail> {
    let form = Form::take(decoder, modifiers, ty)?;
    let srcs = [
        form.source(decoder, 1)?,
        form.source(decoder, 2)?,
        form.source(decoder, 3)?,
    ];
    form.rounded(
        decoder,
        form.pick(Op::FmaF32, Op::FmaF64),
        Operation::Fma,
        &srcs,
    )
}

pub(super) fn divide(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
) -> Result<(), Fail> {
    // `full` may be off by 2 units in the last place (PTX manual): the rounded quotient is one of the results that it allows.
    let approximate = modifiers.take_one(&["approx", "full"]) == Some("approx");
    let form = Form::take(decoder, modifiers, ty)?;
    decoder.info().class = InstructionClass::Special;
    let srcs = [form.source(decoder, 1)?, form.source(decoder, 2)?];
    if approximate {
        return form.finish(decoder, Op::DivApproxF32, &srcs);
    }
    form.rounded(
        decoder,
        form.pick(Op::DivF32, Op::DivF64),
        Operation::Div,
        &srcs,
    )
}

pub(super) fn rcp(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let approximate = modifiers.take("approx");
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let form = Form::take(decoder, modifiers, ty)?.or_flushing_double(modifiers, approximate);
    decoder.info().class = InstructionClass::Special;
    // Rounded, where `approx` allows an error of one unit in the last place: exact results do not depend on a chip.
    let one = if ty == Type::F64 {
        1.0f64.to_bits()
    } else {
        u64::from(1.0f32.to_bits())
    };
    let srcs = [decoder.bits(form.class(), one)?, form.source(decoder, 1)?];
    form.rounded(
        decoder,
        form.pick(Op::DivF32, Op::DivF64),
        Operation::Div,
        &srcs,
    )
}

pub(super) fn sqrt(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("approx");
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let form = Form::take(decoder, modifiers, ty)?;
    decoder.info().class = InstructionClass::Special;
    let srcs = [form.source(decoder, 1)?];
    form.rounded(
        decoder,
        form.pick(Op::SqrtF32, Op::SqrtF64),
        Operation::Sqrt,
        &srcs,
    )
}

pub(super) fn rsqrt(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if !modifiers.take("approx") {
        return Err(decoder.bad_form());
    }
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let form = Form::take(decoder, modifiers, ty)?.or_flushing_double(modifiers, true);
    decoder.info().class = InstructionClass::Special;
    let source = form.source(decoder, 1)?;
    if ty == Type::F32 {
        return form.finish(decoder, Op::RsqrtF32, &[source]);
    }
    let root = decoder.fresh(Op::SqrtF64, Class::Wide, &[source]);
    let one = decoder.bits(Class::Wide, 1.0f64.to_bits())?;
    form.finish(decoder, Op::DivF64, &[one, root])
}

pub(super) fn ex2(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if !modifiers.take("approx") {
        return Err(decoder.bad_form());
    }
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if half::is_half(ty) {
        return half::unary(decoder, modifiers, ty, half::EX2);
    }
    let form = Form::take(decoder, modifiers, ty)?;
    if ty == Type::F64 {
        return Err(decoder.bad_form());
    }
    decoder.info().class = InstructionClass::Special;
    let source = form.source(decoder, 1)?;
    form.finish(decoder, Op::Exp2F32, &[source])
}

pub(super) fn sine(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let function = if modifiers.name == "sin" {
        functions::sin
    } else {
        functions::cos
    };
    transcendental(decoder, modifiers, function)
}

pub(super) fn lg2(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    transcendental(decoder, modifiers, functions::log2)
}

pub(super) fn tanh(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    // The type stands last, and says which decoder takes the parts before it.
    let mut types = Modifiers::new(&decoder.inst.opcode);
    match types.take_type() {
        Some(ty) if half::is_half(ty) => {
            modifiers.take("approx");
            modifiers.take_type();
            half::unary(decoder, modifiers, ty, half::TANH)
        }
        _ => transcendental(decoder, modifiers, functions::tanh),
    }
}

fn transcendental(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    function: pagemill_ptx_ir::code::ScalarFn,
) -> Result<(), Fail> {
    if !modifiers.take("approx") || modifiers.take_type() != Some(Type::F32) {
        return Err(decoder.bad_form());
    }
    let form = Form::take(decoder, modifiers, Type::F32)?;
    decoder.info().class = InstructionClass::Special;
    let source = form.source(decoder, 1)?;
    let dst = decoder.destination(0, Type::F32)?;
    let value = decoder.scalar_fresh(function, 0, Class::Narrow, &[source]);
    form.store(decoder, dst, value);
    Ok(())
}

pub(super) fn sign(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    sign: Sign,
) -> Result<(), Fail> {
    if half::is_half(ty) {
        return half::sign(decoder, modifiers, ty, sign);
    }
    let form = Form::take(decoder, modifiers, ty)?;
    let source = form.source(decoder, 1)?;
    // By the bit: 0 - 0 is +0, and arithmetic may change a NaN.
    let top: u64 = if ty == Type::F64 { 1 << 63 } else { 1 << 31 };
    let dst = decoder.destination(0, ty)?;
    let (op, mask) = match sign {
        Sign::Clear => (form.pick(Op::And32, Op::And64), top - 1),
        Sign::Flip => (form.pick(Op::Xor32, Op::Xor64), top),
    };
    let mask = decoder.bits(form.class(), mask)?;
    decoder.op(op, dst, &[source, mask]);
    Ok(())
}

pub(super) fn extreme(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    ty: Type,
    max: bool,
) -> Result<(), Fail> {
    let nan = modifiers.take("NaN");
    let xorsign = modifiers.take("xorsign") && modifiers.take("abs");
    let three = decoder.operand_count() == 4;
    let form = Form::take(decoder, modifiers, ty)?;
    let (a, b) = (form.source(decoder, 1)?, form.source(decoder, 2)?);
    if nan || xorsign || three {
        if ty != Type::F32 {
            return Err(decoder.bad_form());
        }
        let flags =
            u32::from(max) | u32::from(nan) << 1 | u32::from(xorsign) << 2 | u32::from(three) << 3;
        let c = if three { form.source(decoder, 3)? } else { a };
        let dst = decoder.destination(0, ty)?;
        let value = decoder.scalar_fresh(functions::extreme, flags, Class::Narrow, &[a, b, c]);
        form.store(decoder, dst, value);
        return Ok(());
    }
    let op = if max {
        form.pick(Op::MaxF32, Op::MaxF64)
    } else {
        form.pick(Op::MinF32, Op::MinF64)
    };
    form.finish(decoder, op, &[a, b])
}

pub(super) fn copysign(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let form = Form::take(decoder, modifiers, ty)?;
    // The sign comes first, unlike in C.
    let (sign, magnitude) = (form.source(decoder, 1)?, form.source(decoder, 2)?);
    let dst = decoder.destination(0, ty)?;
    let top: u64 = if ty == Type::F64 { 1 << 63 } else { 1 << 31 };
    let (top, rest) = (
        decoder.bits(form.class(), top)?,
        decoder.bits(form.class(), top - 1)?,
    );
    let and = form.pick(Op::And32, Op::And64);
    let sign = decoder.fresh(and, form.class(), &[sign, top]);
    let magnitude = decoder.fresh(and, form.class(), &[magnitude, rest]);
    decoder.op(form.pick(Op::Or32, Op::Or64), dst, &[sign, magnitude]);
    Ok(())
}

pub(super) fn testp(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    const TESTS: [&str; 6] = [
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ];
    let test = modifiers
        .take_one(&TESTS)
        .ok_or_else(|| decoder.bad_form())?;
    let ty = modifiers
        .take_type()
        .filter(|ty| matches!(ty, Type::F32 | Type::F64))
        .ok_or_else(|| decoder.bad_form())?;
    let source = decoder.source(1, ty)?;
    let dst = decoder.destination(0, Type::Pred)?;
    let index = TESTS.iter().position(|name| *name == test).unwrap_or(0) as u32;
    decoder.scalar(
        functions::test_property,
        index | u32::from(ty == Type::F64) << 8,
        dst,
        &[source],
    );
    Ok(())
}
