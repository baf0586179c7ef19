//! Branches, ends, barriers, calls of the system.

use super::context::Decoder;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, ServiceAux, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::code::{BarrierScope, Reduce, WarpWide};
use pagemill_ptx_ir::op::Op;

/// Hints and orderings without effect here: memory operations take effect one after the other.
pub(super) fn ignore(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take_all();
    decoder.push(Op::Nop, &[], &[], Aux::None);
    Ok(())
}

/// Memory is sequentially consistent here; a fence has a meaning only for the search for races.
pub(super) fn fence(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take_all();
    decoder.push(Op::Fence, &[], &[], Aux::None);
    Ok(())
}

pub(super) fn bra(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("uni");
    let Operand::Symbol(name, 0) = decoder.operand(0)? else {
        return Err(decoder.fail("the branch target must be a label"));
    };
    let target = decoder.label(name)?;
    decoder.push(Op::Branch, &[], &[], Aux::Target(target));
    Ok(())
}

pub(super) fn brx(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("uni");
    if !modifiers.take("idx") {
        return Err(decoder.bad_form());
    }
    let index = decoder.source(0, Type::U32)?;
    let Operand::Symbol(table, 0) = decoder.operand(1)? else {
        return Err(decoder.fail("the second operand must be the label of a .branchtargets"));
    };
    let function = decoder.flat.scopes[decoder.scope].function;
    let Some((_, names)) = function
        .branch_targets
        .iter()
        .find(|(name, _)| name == table)
    else {
        return Err(decoder.fail(format!("no .branchtargets has the label `{table}`")));
    };
    let targets = names
        .iter()
        .map(|name| decoder.label(name))
        .collect::<Result<_, _>>()?;
    decoder.push(Op::BranchTable, &[], &[index], Aux::Targets(targets));
    Ok(())
}

pub(super) fn exit(decoder: &mut Decoder<'_>, _: &mut Modifiers<'_>) -> Result<(), Fail> {
    decoder.push(Op::Exit, &[], &[], Aux::None);
    Ok(())
}

pub(super) fn ret(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("uni");
    match decoder.flat.scopes[decoder.scope].return_label {
        // In a function that is expanded: to behind its call.
        Some(label) => decoder.push(Op::Branch, &[], &[], Aux::Target(label)),
        None => decoder.leave()?,
    }
    Ok(())
}

pub(super) fn trap(decoder: &mut Decoder<'_>, _: &mut Modifiers<'_>) -> Result<(), Fail> {
    decoder.push(Op::Service, &[], &[], Aux::Service(ServiceAux::Trap));
    Ok(())
}

pub(super) fn misplaced_call(decoder: &mut Decoder<'_>, _: &mut Modifiers<'_>) -> Result<(), Fail> {
    Err(decoder.bad_form())
}

pub(super) fn bar(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    modifiers.take("cta");
    modifiers.take("aligned");
    if modifiers.take("warp") {
        return warp_barrier(decoder, modifiers);
    }
    if modifiers.take("red") {
        return reducing_barrier(decoder, modifiers);
    }
    if modifiers.take("cluster") {
        return cluster_barrier(decoder, modifiers);
    }
    let waits = match modifiers.take_one(&["sync", "arrive"]) {
        Some(kind) => kind == "sync",
        None => return Err(decoder.bad_form()),
    };
    let mut srcs = vec![decoder.source(0, Type::U32)?];
    let counted = decoder.operand_count() > 1;
    if counted {
        srcs.push(decoder.source(1, Type::U32)?);
    }
    if !waits && !counted {
        return Err(decoder.fail("an arrival needs a thread count"));
    }
    decoder.push(
        Op::Barrier,
        &[],
        &srcs,
        Aux::Barrier {
            counted,
            waits,
            reduction: None,
        },
    );
    Ok(())
}

/// `barrier.cluster.arrive` and `barrier.cluster.wait`.
fn cluster_barrier(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let waits = match modifiers.take_one(&["arrive", "wait"]) {
        Some(kind) => kind == "wait",
        None => return Err(decoder.bad_form()),
    };
    while modifiers
        .take_one(&["release", "relaxed", "acquire", "aligned"])
        .is_some()
    {}
    let zero = decoder.bits(Class::Narrow, 0)?;
    let scope = BarrierScope::Cluster;
    decoder.push(
        Op::Barrier,
        &[],
        &[zero],
        Aux::ScopedBarrier { scope, waits },
    );
    Ok(())
}

fn warp_barrier(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if !modifiers.take("sync") {
        return Err(decoder.bad_form());
    }
    let members = decoder.source(0, Type::B32)?;
    let zero = decoder.bits(Class::Narrow, 0)?;
    // It gives nothing; the machine's form of such an exchange has two results.
    let dsts = [
        decoder.temporary(Class::Narrow),
        decoder.temporary(Class::Predicate),
    ];
    let aux = Aux::WarpWide {
        kind: WarpWide::Barrier,
        members: true,
        negated: false,
    };
    decoder.push(Op::WarpWide, &dsts, &[zero, zero, zero, members], aux);
    Ok(())
}

fn reducing_barrier(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let (kind, ty) = match modifiers.take_one(&["popc", "and", "or"]) {
        Some("popc") => (Reduce::Count, Type::U32),
        Some("and") => (Reduce::And, Type::Pred),
        Some("or") => (Reduce::Or, Type::Pred),
        _ => return Err(decoder.bad_form()),
    };
    if modifiers.take_type() != Some(ty) {
        return Err(decoder.bad_form());
    }
    let counted = decoder.operand_count() > 3;
    let (predicate, negated) = decoder.predicate(if counted { 3 } else { 2 })?;
    let mut srcs = vec![decoder.source(1, Type::U32)?];
    if counted {
        srcs.push(decoder.source(2, Type::U32)?);
    }
    srcs.push(Value::Reg(predicate));
    let dst = decoder.destination(0, ty)?;
    decoder.push(
        Op::Barrier,
        &[dst],
        &srcs,
        Aux::Barrier {
            counted,
            waits: true,
            reduction: Some((kind, negated)),
        },
    );
    Ok(())
}
