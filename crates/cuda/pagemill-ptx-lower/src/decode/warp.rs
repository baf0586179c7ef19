//! Instructions in which lanes see each other.

use super::context::Decoder;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::code::WarpWide;
use pagemill_ptx_ir::functions::integer::{combine_float, combine_integer};
use pagemill_ptx_ir::op::Op;

/// The pieces of a warp-wide operation; what it does not have stays empty.
struct Exchange {
    kind: WarpWide,
    dst: Option<VReg>,
    dst_predicate: Option<VReg>,
    srcs: Vec<Value>,
    members: Option<Value>,
    negated: bool,
}

fn emit(decoder: &mut Decoder<'_>, exchange: Exchange) -> Result<(), Fail> {
    let dst = exchange
        .dst
        .unwrap_or_else(|| decoder.temporary(Class::Narrow));
    let predicate = exchange
        .dst_predicate
        .unwrap_or_else(|| decoder.temporary(Class::Predicate));
    let mut srcs = exchange.srcs;
    let filler = decoder.bits(Class::Narrow, 0)?;
    // The machine reads three operands of each kind, and the members behind them.
    srcs.resize(3, filler);
    srcs.extend(exchange.members);
    let aux = Aux::WarpWide {
        kind: exchange.kind,
        members: exchange.members.is_some(),
        negated: exchange.negated,
    };
    decoder.push(Op::WarpWide, &[dst, predicate], &srcs, aux);
    Ok(())
}

/// `value` of lane `lane`, whose warp has all lanes.
pub(super) fn shuffle(decoder: &mut Decoder<'_>, value: Value, lane: Value) -> Result<Value, Fail> {
    // The third operand of `shfl`: lanes up to 31, all in one segment.
    let last = decoder.bits(Class::Narrow, 31)?;
    let all = decoder.bits(Class::Narrow, u64::from(u32::MAX))?;
    let dst = decoder.temporary(Class::Narrow);
    emit(
        decoder,
        Exchange {
            kind: WarpWide::ShuffleIndex,
            dst: Some(dst),
            dst_predicate: None,
            srcs: vec![value, lane, last],
            members: Some(all),
            negated: false,
        },
    )?;
    Ok(Value::Reg(dst))
}

/// A destination of the form `value|predicate`.
fn pair_destination(
    decoder: &mut Decoder<'_>,
    ty: Type,
) -> Result<(Option<VReg>, Option<VReg>), Fail> {
    match decoder.operand(0)? {
        Operand::Pair(value, predicate) => {
            let value = decoder.destination_of(value, ty)?;
            let predicate = decoder.destination_of(predicate, Type::Pred)?;
            Ok((Some(value), Some(predicate)))
        }
        _ => Ok((Some(decoder.destination(0, ty)?), None)),
    }
}

pub(super) fn shfl(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let sync = modifiers.take("sync");
    let kind = match modifiers.take_one(&["up", "down", "bfly", "idx"]) {
        Some("up") => WarpWide::ShuffleUp,
        Some("down") => WarpWide::ShuffleDown,
        Some("bfly") => WarpWide::ShuffleButterfly,
        Some("idx") => WarpWide::ShuffleIndex,
        _ => return Err(decoder.bad_form()),
    };
    modifiers
        .take_type()
        .filter(|ty| ty.bytes() == 4)
        .ok_or_else(|| decoder.bad_form())?;
    let srcs = vec![
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        decoder.source(3, Type::B32)?,
    ];
    let members = if sync {
        Some(decoder.source(4, Type::B32)?)
    } else {
        None
    };
    let (dst, dst_predicate) = pair_destination(decoder, Type::B32)?;
    emit(
        decoder,
        Exchange {
            kind,
            dst,
            dst_predicate,
            srcs,
            members,
            negated: false,
        },
    )
}

pub(super) fn vote(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let sync = modifiers.take("sync");
    let kind = match modifiers.take_one(&["all", "any", "uni", "ballot"]) {
        Some("all") => WarpWide::VoteAll,
        Some("any") => WarpWide::VoteAny,
        Some("uni") => WarpWide::VoteUniform,
        Some("ballot") => WarpWide::Ballot,
        _ => return Err(decoder.bad_form()),
    };
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let (predicate, negated) = decoder.predicate(1)?;
    let members = if sync {
        Some(decoder.source(2, Type::B32)?)
    } else {
        None
    };
    let (dst, dst_predicate) = match (kind, ty) {
        (WarpWide::Ballot, Type::B32) => (Some(decoder.destination(0, Type::B32)?), None),
        (WarpWide::VoteAll | WarpWide::VoteAny | WarpWide::VoteUniform, Type::Pred) => {
            (None, Some(decoder.destination(0, Type::Pred)?))
        }
        _ => return Err(decoder.bad_form()),
    };
    emit(
        decoder,
        Exchange {
            kind,
            dst,
            dst_predicate,
            srcs: vec![Value::Reg(predicate)],
            members,
            negated,
        },
    )
}

pub(super) fn activemask(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    modifiers.take_type();
    let dst = Some(decoder.destination(0, Type::B32)?);
    let kind = WarpWide::ActiveMask;
    emit(
        decoder,
        Exchange {
            kind,
            dst,
            dst_predicate: None,
            srcs: Vec::new(),
            members: None,
            negated: false,
        },
    )
}

pub(super) fn match_lanes(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let all = modifiers
        .take_one(&["any", "all"])
        .ok_or_else(|| decoder.bad_form())?
        == "all";
    if !modifiers.take("sync") {
        return Err(decoder.bad_form());
    }
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let kind = match (all, ty.bytes()) {
        (false, 4) => WarpWide::MatchAny32,
        (false, 8) => WarpWide::MatchAny64,
        (true, 4) => WarpWide::MatchAll32,
        (true, 8) => WarpWide::MatchAll64,
        _ => return Err(decoder.bad_form()),
    };
    let srcs = vec![decoder.source(1, ty)?];
    let members = Some(decoder.source(2, Type::B32)?);
    let (dst, dst_predicate) = pair_destination(decoder, Type::B32)?;
    emit(
        decoder,
        Exchange {
            kind,
            dst,
            dst_predicate,
            srcs,
            members,
            negated: false,
        },
    )
}

pub(super) fn redux(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if !modifiers.take("sync") {
        return Err(decoder.bad_form());
    }
    let name = modifiers
        .take_one(&["add", "min", "max", "and", "or", "xor"])
        .ok_or_else(|| decoder.bad_form())?;
    let (absolute, nan) = (modifiers.take("abs"), modifiers.take("NaN"));
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let combine = match ty {
        Type::F32 => combine_float(name, absolute, nan),
        _ if absolute || nan => None,
        ty => combine_integer(name, ty),
    };
    let kind = WarpWide::Redux(combine.ok_or_else(|| decoder.bad_form())?);
    let srcs = vec![decoder.source(1, ty)?];
    let members = Some(decoder.source(2, Type::B32)?);
    let dst = Some(decoder.destination(0, ty)?);
    emit(
        decoder,
        Exchange {
            kind,
            dst,
            dst_predicate: None,
            srcs,
            members,
            negated: false,
        },
    )
}

pub(super) fn elect(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("sync");
    let members = Some(decoder.source(1, Type::B32)?);
    let (dst, dst_predicate) = pair_destination(decoder, Type::B32)?;
    let kind = WarpWide::Elect;
    emit(
        decoder,
        Exchange {
            kind,
            dst,
            dst_predicate,
            srcs: Vec::new(),
            members,
            negated: false,
        },
    )
}
