//! What need not be executed: copies of constants, copies of registers, results that are never read.
//!
//! The instructions still count: PTX instructions are counted by position, not by what is left of them.

use crate::flow::cfg::Graph;
use crate::flow::program::{Class, Micro, Program, VReg, Value};
use pagemill_ptx_ir::info::{InstructionClass, InstructionInfo};
use pagemill_ptx_ir::op::Op;

/// Follows registers that only ever hold a constant or a preset, and drops the copies.
pub(crate) fn run(program: &mut Program) {
    let counts = definition_counts(program);
    let mut alias: Vec<Option<Value>> = vec![None; program.classes.len()];
    let mut is_preset = vec![false; program.classes.len()];
    for (_, register) in &program.presets {
        is_preset[register.index()] = true;
    }
    for micro in &program.micros {
        let Some((dst, source)) = copy_of(micro) else {
            continue;
        };
        // Written once and without a guard, it has this value wherever it is read.
        if counts[dst.index()] != 1 || class_of(program, source) != program.class(dst) {
            continue;
        }
        let source = resolve(&alias, source);
        let constant = match source {
            Value::Reg(register) => is_preset[register.index()],
            Value::Narrow(_) | Value::Wide(_) => true,
        };
        if constant {
            alias[dst.index()] = Some(source);
        }
    }
    apply(program, &alias);
}

/// Replaces registers that are copies of others, both defined once, where the copy dominates every use.
pub(crate) fn propagate_copies(program: &mut Program, graph: &Graph) {
    let counts = definition_counts(program);
    let place = definition_places(program, graph);
    let mut alias: Vec<Option<Value>> = vec![None; program.classes.len()];
    let mut candidate = vec![false; program.classes.len()];
    for micro in &program.micros {
        let Some((dst, Value::Reg(source))) = copy_of(micro) else {
            continue;
        };
        let single = counts[dst.index()] == 1 && counts[source.index()] == 1;
        if single
            && program.class(dst) == program.class(source)
            // Both are written once, so the source still has the value wherever the copy has it.
            && before(graph, place[source.index()], place[dst.index()])
        {
            candidate[dst.index()] = true;
        }
    }
    for (block, bounds) in graph.blocks.iter().enumerate() {
        for at in bounds.start..bounds.end {
            for source in program.micros[at].sources() {
                if candidate[source.index()]
                    && !before(graph, place[source.index()], Some((block, at)))
                {
                    candidate[source.index()] = false;
                }
            }
        }
    }
    for micro in &program.micros {
        if let Some((dst, source)) = copy_of(micro)
            && candidate[dst.index()]
        {
            alias[dst.index()] = Some(resolve(&alias, source));
        }
    }
    apply(program, &alias);
}

/// Whether the definition at `a` comes before `b` on every path.
fn before(graph: &Graph, a: Option<(usize, usize)>, b: Option<(usize, usize)>) -> bool {
    match (a, b) {
        (Some((a_block, a_at)), Some((b_block, b_at))) if a_block == b_block => a_at < b_at,
        (Some((a_block, _)), Some((b_block, _))) => graph.dominates(a_block, b_block),
        _ => false,
    }
}

fn definition_places(program: &Program, graph: &Graph) -> Vec<Option<(usize, usize)>> {
    let mut places = vec![None; program.classes.len()];
    for (block, bounds) in graph.blocks.iter().enumerate() {
        for at in bounds.start..bounds.end {
            for dst in &program.micros[at].dsts {
                places[dst.index()] = Some((block, at));
            }
        }
    }
    places
}

/// Turns micro-operations without effect, whose results are never read, into nothing.
pub(crate) fn remove_dead(program: &mut Program) {
    let mut uses = vec![0u32; program.classes.len()];
    for micro in &program.micros {
        micro.sources().for_each(|source| uses[source.index()] += 1);
    }
    // Backwards, so that a chain of dead operations goes in one pass.
    for micro in program.micros.iter_mut().rev() {
        if micro.is_pure() && micro.dsts.iter().all(|dst| uses[dst.index()] == 0) {
            let guard = micro.guard.map(|(register, _)| register);
            // The guard stays in use: it says for how many threads the instruction counts.
            for source in micro.sources().filter(|source| Some(*source) != guard) {
                uses[source.index()] -= 1;
            }
            erase(micro);
        }
    }
}

/// Tells which instructions have nothing left that is executed.
pub(crate) fn note_erased(program: &Program, infos: &mut [InstructionInfo]) {
    let mut left = vec![false; infos.len()];
    for micro in &program.micros {
        left[micro.info as usize] |= micro.op != Op::Nop || micro.guard.is_some();
    }
    for (info, left) in infos.iter_mut().zip(left) {
        let computes = !matches!(
            info.class,
            InstructionClass::Control | InstructionClass::Barrier
        );
        info.is_erased = computes && !left;
    }
}

/// Leaves nothing of an operation but its guard, which decides for how many threads it counts.
fn erase(micro: &mut Micro) {
    micro.op = Op::Nop;
    micro.dsts.clear();
    micro.srcs.clear();
    micro.aux = crate::flow::program::Aux::None;
}

fn definition_counts(program: &Program) -> Vec<u32> {
    let mut counts = vec![0; program.classes.len()];
    for dst in program.micros.iter().flat_map(|micro| &micro.dsts) {
        counts[dst.index()] += 1;
    }
    counts
}

/// Destination and source of an unguarded copy.
fn copy_of(micro: &Micro) -> Option<(VReg, Value)> {
    let is_copy = matches!(micro.op, Op::Move32 | Op::Move64) && micro.guard.is_none();
    is_copy.then(|| (micro.dsts[0], micro.srcs[0]))
}

fn class_of(program: &Program, value: Value) -> Class {
    match value {
        Value::Reg(register) => program.class(register),
        Value::Narrow(_) => Class::Narrow,
        Value::Wide(_) => Class::Wide,
    }
}

fn resolve(alias: &[Option<Value>], mut value: Value) -> Value {
    while let Value::Reg(register) = value
        && let Some(next) = alias[register.index()]
    {
        value = next;
    }
    value
}

/// Puts aliases in place and erases the copies that made them.
fn apply(program: &mut Program, alias: &[Option<Value>]) {
    for micro in &mut program.micros {
        for source in &mut micro.srcs {
            *source = resolve(alias, *source);
        }
        if let Some((dst, _)) = copy_of(micro)
            && alias[dst.index()].is_some()
        {
            erase(micro);
        }
    }
}
