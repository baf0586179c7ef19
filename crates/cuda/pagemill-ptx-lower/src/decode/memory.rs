//! Loads, stores, atomics, and parameters.

use super::call_params;
use super::context::Decoder;
use super::modifiers::Modifiers;
use crate::expand::inline::Storage;
use crate::expand::signature::param_layout;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, MemoryAux, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, CacheHint, Constant};
use pagemill_ptx_ir::info::InstructionClass;
use pagemill_ptx_ir::op::Op;

/// Orders and scopes: all accesses here are sequentially consistent, so each of them is satisfied.
pub(super) const ORDERS: [&str; 12] = [
    "weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "cta", "cluster",
    "gpu", "sys", "sc",
];

/// Space, ordering and cache operators of a memory instruction.
pub(super) struct Form {
    pub space: Space,
    pub hint: CacheHint,
    pub ty: Type,
    pub count: u8,
}

impl Form {
    fn take(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Self, Fail> {
        let mut hint = CacheHint::Default;
        while let Some(order) = modifiers.take_one(&ORDERS) {
            // Others write there meanwhile: an old line of L1 must not serve it.
            if matches!(order, "volatile" | "mmio" | "relaxed" | "acquire") {
                hint = CacheHint::Volatile;
            }
        }
        let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
        while let Some(found) = modifiers.take_map(cache_hint) {
            // What the order says stays: an access that others have to see is not one to keep near.
            if found != CacheHint::Default && hint == CacheHint::Default {
                hint = found;
            }
        }
        let count = vector_count(modifiers).unwrap_or(1);
        let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
        Ok(Self {
            space,
            hint,
            ty,
            count,
        })
    }
}

/// How many elements a vector has, if it is one.
pub(super) fn vector_count(modifiers: &mut Modifiers<'_>) -> Option<u8> {
    modifiers.take_map(|part| match part {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    })
}

pub(super) fn space_of(part: &str) -> Option<Space> {
    Some(match part {
        "global" => Space::Global,
        // Addresses of other blocks of a cluster are offsets beyond the own shared memory.
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

fn cache_hint(part: &str) -> Option<CacheHint> {
    Some(match part {
        "ca"
        | "wb"
        | "L1::evict_normal"
        | "L2::64B"
        | "L2::128B"
        | "L2::256B"
        | "L1::evict_last"
        | "L2::evict_last"
        | "L1::evict_unchanged"
        | "L2::evict_normal"
        | "L2::cache_hint" => CacheHint::Default,
        "cg" => CacheHint::GlobalLevel,
        "cs" | "lu" | "L1::no_allocate" | "L1::evict_first" | "L2::evict_first" => {
            CacheHint::Streaming
        }
        "cv" | "wt" => CacheHint::Volatile,
        "nc" => CacheHint::ReadOnly,
        _ => return None,
    })
}

/// Base and offset of an address operand.
pub(super) enum Place {
    /// Offset in the kernel's arguments, known now.
    Argument(u64),
    /// Offset in a parameter of an expanded call.
    CallParam(usize, u64),
    Memory {
        space: Space,
        base: Value,
        offset: i64,
    },
}

pub(super) fn place<'a>(
    decoder: &mut Decoder<'a>,
    operand: &'a Operand,
    space: Space,
) -> Result<Place, Fail> {
    let (base, offset) = match operand {
        Operand::Address(address) => {
            if !address.coordinates.is_empty() {
                return Err(decoder.fail("texture coordinates are not supported"));
            }
            (&address.base, &address.offset)
        }
        // `ld.global.u32 %r1, a[2]`: an element of an array.
        Operand::Symbol(..) => (operand, &0),
        _ => return Err(decoder.fail("the address must stand in brackets")),
    };
    match base {
        Operand::Register(register) => {
            let ty = decoder.register_type(*register);
            let base = decoder.value(base, ty)?;
            let narrow = ty.bytes() == 4 && ty != Type::Pred;
            if !(ty.bytes() == 8
                || narrow
                    && matches!(
                        space,
                        Space::Shared | Space::Local | Space::Const | Space::Param
                    ))
            {
                return Err(decoder.fail(format!(
                    "a {}-bit register cannot hold an address of this space",
                    8 * ty.bytes()
                )));
            }
            Ok(Place::Memory {
                space,
                base,
                offset: *offset,
            })
        }
        Operand::Symbol(name, addend) => {
            variable(decoder, name, addend.wrapping_add(*offset), space)
        }
        Operand::Integer(address) => {
            let base = decoder.bits(Class::Wide, *address)?;
            Ok(Place::Memory {
                space,
                base,
                offset: *offset,
            })
        }
        _ => Err(decoder.fail("the address must be a register, a variable or a number")),
    }
}

/// The place `total` bytes behind where variable `name` begins.
fn variable(
    decoder: &mut Decoder<'_>,
    name: &str,
    total: i64,
    space: Space,
) -> Result<Place, Fail> {
    let on_stack = |base, offset: u32| Place::Memory {
        space: Space::Local,
        base: Value::Reg(base),
        offset: total.wrapping_add(offset.into()),
    };
    Ok(match decoder.storage(name) {
        Some(Storage::KernelParam { offset, .. }) => {
            Place::Argument(u64::from(offset).wrapping_add(total as u64))
        }
        Some(Storage::CallParam(param)) => Place::CallParam(param, total as u64),
        Some(Storage::Frame(offset)) => on_stack(decoder.program.stack().frame, offset),
        Some(Storage::Argument(offset)) => on_stack(decoder.program.stack().arguments, offset),
        _ => Place::Memory {
            space,
            base: decoder.symbol(name, 0, Class::Wide)?,
            offset: total,
        },
    })
}

fn class_of_space(space: Space) -> InstructionClass {
    match space {
        Space::Shared => InstructionClass::SharedMemory,
        Space::Local => InstructionClass::LocalMemory,
        Space::Const | Space::Param => InstructionClass::ConstMemory,
        _ => InstructionClass::GlobalMemory,
    }
}

/// One operand per element.
fn elements<'a>(
    decoder: &Decoder<'a>,
    operand: &'a Operand,
    count: u8,
) -> Result<Vec<&'a Operand>, Fail> {
    match operand {
        Operand::Vector(parts) if parts.len() == usize::from(count) => Ok(parts.iter().collect()),
        Operand::Vector(parts) => Err(decoder.fail(format!(
            "a vector of {} registers for {count} elements",
            parts.len()
        ))),
        operand if count == 1 => Ok(vec![operand]),
        _ => Err(decoder.fail(format!("{count} elements need a vector operand"))),
    }
}

/// Loads and stores may name registers wider than the type.
pub(super) fn class_for(
    decoder: &Decoder<'_>,
    operand: &Operand,
    ty: Type,
) -> Result<(Class, u64), Fail> {
    match operand {
        Operand::Register(register) => {
            let found = decoder.register_type(*register);
            if found == Type::Pred || found.bytes() < ty.bytes() {
                return Err(decoder.wrong_size(*register, ty));
            }
            Ok((
                if found.bytes() >= 8 {
                    Class::Wide
                } else {
                    Class::Narrow
                },
                found.bytes(),
            ))
        }
        _ => Ok((
            if ty.bytes() >= 8 {
                Class::Wide
            } else {
                Class::Narrow
            },
            ty.bytes(),
        )),
    }
}

pub(super) fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}

pub(super) fn ld(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let form = Form::take(decoder, modifiers)?;
    decoder.info().class = class_of_space(form.space);
    let targets = elements(decoder, decoder.operand(0)?, form.count)?;
    match place(decoder, decoder.operand(1)?, form.space)? {
        Place::Argument(offset) => load_argument(decoder, &form, &targets, offset),
        Place::CallParam(param, offset) => {
            call_params::load(decoder, &form, &targets, param, offset)
        }
        Place::Memory {
            space,
            base,
            offset,
        } => load_memory(decoder, &form, &targets, space, base, offset),
    }
}

fn load_argument<'a>(
    decoder: &mut Decoder<'a>,
    form: &Form,
    targets: &[&'a Operand],
    offset: u64,
) -> Result<(), Fail> {
    decoder.info().class = InstructionClass::ConstMemory;
    let bytes = form.ty.bytes();
    for (index, &target) in (0u64..).zip(targets) {
        let (class, _) = class_for(decoder, target, form.ty)?;
        let dst = wide_destination(decoder, target, class)?;
        let offset = u32::try_from(offset + index * bytes)
            .map_err(|_| decoder.fail("the parameter offset is out of range"))?;
        let total = param_layout(decoder.flat.scopes[0].function)
            .last()
            .map_or(0, |(at, size)| at + size);
        if u64::from(offset) + bytes > u64::from(total) || bytes > 8 {
            return Err(decoder.fail(format!(
                "bytes {offset} to {} are outside the parameters, which take {total}",
                u64::from(offset) + bytes
            )));
        }
        // Arguments do not change while a kernel runs: a constant of the launch, and no load.
        let constant = Constant::Param {
            offset,
            bytes: bytes as u8,
            signed: is_signed(form.ty),
        };
        let value = decoder.constant(class, constant)?;
        decoder.copy(dst, value);
        mask_to_register(decoder, target, form.ty, dst)?;
    }
    Ok(())
}

/// The destination register whatever its declared size.
pub(super) fn wide_destination<'a>(
    decoder: &mut Decoder<'a>,
    operand: &'a Operand,
    class: Class,
) -> Result<VReg, Fail> {
    match operand {
        Operand::Register(register) => Ok(decoder.register(*register)),
        Operand::Sink => Ok(decoder.temporary(class)),
        _ => Err(decoder.fail("the destination must be a register")),
    }
}

/// 16-bit registers are held zero-extended: a sign-extended byte is cut.
pub(super) fn mask_to_register(
    decoder: &mut Decoder<'_>,
    operand: &Operand,
    ty: Type,
    dst: VReg,
) -> Result<(), Fail> {
    let Operand::Register(register) = operand else {
        return Ok(());
    };
    let bytes = decoder.register_type(*register).bytes();
    if bytes < 4 && is_signed(ty) {
        let mask = decoder.bits(Class::Narrow, (1 << (8 * bytes)) - 1)?;
        decoder.op(Op::And32, dst, &[Value::Reg(dst), mask]);
    }
    Ok(())
}

pub(super) fn load_memory<'a>(
    decoder: &mut Decoder<'a>,
    form: &Form,
    targets: &[&'a Operand],
    space: Space,
    base: Value,
    offset: i64,
) -> Result<(), Fail> {
    let mut dsts = Vec::new();
    let (class, element) = if form.ty == Type::B128 {
        for &target in targets {
            dsts.extend(decoder.halves(target)?);
        }
        (Class::Wide, Type::B64)
    } else {
        let first = targets
            .iter()
            .find(|target| matches!(target, Operand::Register(_)))
            .copied();
        let (class, _) = class_for(decoder, first.unwrap_or(targets[0]), form.ty)?;
        for &target in targets {
            if matches!(target, Operand::Register(_))
                && class_for(decoder, target, form.ty)?.0 != class
            {
                return Err(decoder.fail("the registers of a vector must be of one size"));
            }
            dsts.push(wide_destination(decoder, target, class)?);
        }
        (class, form.ty)
    };
    let aux = memory_aux(
        decoder,
        AccessKind::Load,
        space,
        offset,
        element,
        class,
        dsts.len(),
        form.hint,
    )?;
    decoder.push(Op::Load, &dsts, &[base], Aux::Memory(aux));
    for (&target, dst) in targets.iter().zip(dsts) {
        if form.ty != Type::B128 {
            mask_to_register(decoder, target, form.ty, dst)?;
        }
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the parts of one access")]
pub(super) fn memory_aux(
    decoder: &Decoder<'_>,
    kind: AccessKind,
    space: Space,
    offset: i64,
    ty: Type,
    class: Class,
    count: usize,
    hint: CacheHint,
) -> Result<MemoryAux, Fail> {
    // A lane moves 32 bytes at most: eight elements of 32 bits, or four of 64.
    if count > pagemill_ptx_ir::code::VECTOR_MAX || count as u64 * ty.bytes() > 32 {
        return Err(decoder.bad_form());
    }
    Ok(MemoryAux {
        kind,
        space,
        offset,
        element_bytes: ty.bytes() as u8,
        signed: is_signed(ty),
        wide: class == Class::Wide,
        count: count as u8,
        atomic: None,
        slot: None,
        hint,
        untimed: false,
    })
}

/// A store; the space that it names, and the bytes of a lane.
pub(super) fn store(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(Space, u64), Fail> {
    let form = Form::take(decoder, modifiers)?;
    decoder.info().class = class_of_space(form.space);
    let sources = elements(decoder, decoder.operand(1)?, form.count)?;
    let (space, base, offset) = match place(decoder, decoder.operand(0)?, form.space)? {
        Place::Argument(_) => return Err(decoder.fail("kernel parameters cannot be written")),
        Place::CallParam(param, offset) => {
            call_params::store(decoder, &form, &sources, param, offset)?;
            return Ok((form.space, 0));
        }
        Place::Memory {
            space,
            base,
            offset,
        } => (space, base, offset),
    };
    let mut srcs = vec![base];
    let (class, element) = if form.ty == Type::B128 {
        for &source in &sources {
            srcs.extend(decoder.halves(source)?.map(Value::Reg));
        }
        (Class::Wide, Type::B64)
    } else {
        let first = sources
            .iter()
            .find(|source| matches!(source, Operand::Register(_)))
            .copied();
        let (class, bytes) = class_for(decoder, first.unwrap_or(sources[0]), form.ty)?;
        for &source in &sources {
            srcs.push(stored_value(decoder, source, form.ty, class, bytes)?);
        }
        (class, form.ty)
    };
    let aux = memory_aux(
        decoder,
        AccessKind::Store,
        space,
        offset,
        element,
        class,
        srcs.len() - 1,
        form.hint,
    )?;
    decoder.push(Op::Store, &[], &srcs, Aux::Memory(aux));
    Ok((form.space, u64::from(form.count) * form.ty.bytes()))
}

/// A value to be stored, from a register that may be wider than the type.
pub(super) fn stored_value<'a>(
    decoder: &mut Decoder<'a>,
    operand: &'a Operand,
    ty: Type,
    class: Class,
    bytes: u64,
) -> Result<Value, Fail> {
    match operand {
        Operand::Register(register) => {
            if class_for(decoder, operand, ty)?.0 != class {
                return Err(decoder.fail("the registers of a vector must be of one size"));
            }
            Ok(Value::Reg(decoder.register(*register)))
        }
        _ => {
            let wide_type = match (class, ty, bytes) {
                (_, Type::F32 | Type::F64, _) => ty,
                (Class::Wide, ..) => Type::B64,
                _ => Type::B32,
            };
            decoder.value(operand, wide_type)
        }
    }
}
