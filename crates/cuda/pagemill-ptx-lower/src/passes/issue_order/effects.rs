//! What may change places with what.

use crate::flow::program::{Aux, MemoryAux, Micro, VReg, Value};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::AccessKind;
use pagemill_ptx_ir::info::InstructionInfo;
use pagemill_ptx_ir::op::Op;
use std::collections::HashMap;
use std::ops::Range;

/// What an instruction does beyond its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Reads(Place),
    Writes(Place),
    /// Nothing passes it.
    Fence,
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    space: Space,
    /// A register, and which of its values in this block.
    base: Option<(Value, u32)>,
    first: i64,
    end: i64,
    /// Whether the program says that nothing writes there while it runs.
    is_constant: bool,
}

impl Place {
    /// Whether a write to one may be seen through the other.
    fn meets(&self, other: &Self) -> bool {
        if self.is_constant || other.is_constant {
            return false;
        }
        if self.space != other.space {
            return self.space == Space::Generic || other.space == Space::Generic;
        }
        // Two offsets from the same value of the same register tell; two registers may hold one address.
        let is_apart = self.end <= other.first || other.end <= self.first;
        !(self.base.is_some() && self.base == other.base && is_apart)
    }
}

impl Effect {
    /// Whether the one must stay behind the other.
    pub(super) fn follows(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Writes(a), Self::Writes(b) | Self::Reads(b))
            | (Self::Reads(a), Self::Writes(b)) => a.meets(b),
            _ => false,
        }
    }
}

/// A PTX instruction: operations that follow one another.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) micros: Range<usize>,
    pub(super) info: u32,
    pub(super) effect: Effect,
    /// Cycles until its result is there, roughly.
    pub(super) latency: u32,
}

/// The instructions of a block.
pub(super) fn units(micros: &[Micro], infos: &[InstructionInfo], scattered: &[bool]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut values = HashMap::new();
    for (at, micro) in micros.iter().enumerate() {
        let info = &infos[micro.info as usize];
        let effect = match scattered[micro.info as usize] {
            true => Effect::Fence,
            false => effect(micro, &info.opcode, &values),
        };
        match units.last_mut() {
            Some(unit) if unit.info == micro.info => {
                unit.micros.end = at + 1;
                unit.effect = both(unit.effect, effect);
                unit.latency = unit.latency.max(latency(micro));
            }
            _ => units.push(Unit {
                micros: at..at + 1,
                info: micro.info,
                effect,
                latency: latency(micro),
            }),
        }
        // From here on, an address by this register is another one.
        for dst in &micro.dsts {
            *values.entry(*dst).or_insert(0) += 1;
        }
    }
    units
}

/// Of an instruction of several operations.
fn both(a: Effect, b: Effect) -> Effect {
    match (a, b) {
        (Effect::Nothing, other) | (other, Effect::Nothing) => other,
        _ => Effect::Fence,
    }
}

fn effect(micro: &Micro, opcode: &str, values: &HashMap<VReg, u32>) -> Effect {
    let has = |part: &str| opcode.split('.').any(|own| own == part);
    match &micro.aux {
        Aux::Memory(memory) if !memory.untimed && memory.atomic.is_none() => {
            let is_ordered = ["volatile", "acquire", "release", "relaxed", "mmio"];
            let is_plain = opcode.starts_with("ld") || opcode.starts_with("st.");
            if !is_plain || is_ordered.into_iter().any(has) {
                return Effect::Fence;
            }
            let place = place(micro, memory, has("nc"), values);
            match memory.kind {
                AccessKind::Load => Effect::Reads(place),
                AccessKind::Store => Effect::Writes(place),
                AccessKind::Atomic | AccessKind::Reduction => Effect::Fence,
            }
        }
        Aux::Product(_) if opcode.starts_with("mma") || opcode.starts_with("wmma.mma") => {
            Effect::Nothing
        }
        Aux::WarpWide { .. } => Effect::Nothing,
        Aux::Texture { .. } if opcode.starts_with("tex") || opcode.starts_with("tld4") => {
            Effect::Nothing
        }
        _ if micro.is_pure() || matches!(micro.op, Op::CheckDivisor) => Effect::Nothing,
        Aux::None if micro.op == Op::Nop => Effect::Nothing,
        _ => Effect::Fence,
    }
}

fn place(
    micro: &Micro,
    memory: &MemoryAux,
    is_constant: bool,
    values: &HashMap<VReg, u32>,
) -> Place {
    let base = micro.srcs.first().map(|&value| match value {
        Value::Reg(register) => (value, values.get(&register).copied().unwrap_or(0)),
        Value::Narrow(_) | Value::Wide(_) => (value, 0),
    });
    let bytes = i64::from(memory.element_bytes) * i64::from(memory.count.max(1));
    Place {
        space: memory.space,
        base,
        first: memory.offset,
        end: memory.offset + bytes,
        is_constant: is_constant || matches!(memory.space, Space::Const | Space::Param),
    }
}

fn latency(micro: &Micro) -> u32 {
    // Not those of a machine, since code is lowered once for all: only which of two chains is the longer one decides.
    match &micro.aux {
        Aux::Memory(memory) if memory.kind == AccessKind::Store => 4,
        Aux::Memory(memory) => match memory.space {
            Space::Shared => 30,
            Space::Const | Space::Param => 8,
            _ => 300,
        },
        Aux::Texture { .. } => 300,
        Aux::WarpWide { .. } | Aux::Product(_) => 24,
        _ if micro.op == Op::Nop => 0,
        _ => 4,
    }
}
