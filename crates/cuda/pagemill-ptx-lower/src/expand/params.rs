//! Parameters of calls that were expanded: registers where every access agrees, else local memory.

use crate::expand::inline::{Flat, FlatInst, Scope, Storage};
use crate::expand::signature::STACK_ALIGN;
use pagemill_ptx_ir::ast::{Instruction, Operand, Type};
use std::collections::BTreeMap;

/// How one parameter variable of a call is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamStorage {
    /// One register for each offset that is accessed.
    Registers,
    /// At this offset of the thread's local memory.
    Local(u32),
    /// At this offset of the subroutine's frame.
    Frame(u32),
}

/// Where parameters of calls and variables in local memory lie.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// By call parameter.
    pub params: Vec<ParamStorage>,
    /// By call parameter: offsets that are accessed, and bytes there.
    pub accesses: Vec<Vec<(u64, u64)>>,
    /// Of the kernel.
    pub local_bytes: u64,
    /// By subroutine.
    pub frame_bytes: Vec<u32>,
}

/// Decides for every call parameter of `flat`, and the local memory then needed.
pub(crate) fn place(flat: &Flat<'_>) -> Placed {
    let mut uses = vec![Uses::default(); flat.call_params.len()];
    for inst in &flat.insts {
        match *inst {
            FlatInst::Plain { scope, inst } => note(&flat.scopes[scope], inst, &mut uses),
            FlatInst::PassParam { param, .. } | FlatInst::TakeParam { param, .. } => {
                uses[param].access(0, flat.call_params[param].bytes);
            }
            _ => {}
        }
    }
    let mut local_bytes = flat.local_bytes;
    let frames = flat.subroutines.iter();
    let mut frames: Vec<u64> = frames.map(|subroutine| subroutine.frame_bytes).collect();
    let owned = flat.call_params.iter().zip(&flat.call_param_owners);
    let storage = uses.iter().zip(owned).map(|(uses, (variable, owner))| {
        // Nearly always: compilers store and load a parameter in the same pieces, so no byte of it has to have an address.
        if uses.is_consistent() {
            return ParamStorage::Registers;
        }
        let end = match owner {
            None => &mut local_bytes,
            Some(subroutine) => &mut frames[*subroutine],
        };
        // As the widest access, a vector of 16 bytes, wants it.
        let offset = end.next_multiple_of(variable.align.max(16));
        *end = offset.saturating_add(variable.bytes);
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        match owner {
            None => ParamStorage::Local(offset),
            Some(_) => ParamStorage::Frame(offset),
        }
    });
    let params = storage.collect();
    let in_frame =
        |bytes: &u64| u32::try_from(bytes.next_multiple_of(STACK_ALIGN)).unwrap_or(u32::MAX / 2);
    Placed {
        params,
        accesses: uses
            .into_iter()
            .map(|uses| uses.accesses.into_iter().collect())
            .collect(),
        local_bytes,
        frame_bytes: frames.iter().map(in_frame).collect(),
    }
}

/// How a parameter variable is accessed.
#[derive(Clone, Debug, Default)]
struct Uses {
    /// Bytes accessed at each offset.
    accesses: BTreeMap<u64, u64>,
    conflicting: bool,
    address_taken: bool,
}

impl Uses {
    fn access(&mut self, offset: u64, bytes: u64) {
        let known = *self.accesses.entry(offset).or_insert(bytes);
        self.conflicting |= known != bytes;
    }

    fn is_consistent(&self) -> bool {
        let ends = self.accesses.iter().zip(self.accesses.iter().skip(1));
        let overlapping = ends
            .into_iter()
            .any(|((start, bytes), (next, _))| start.saturating_add(*bytes) > *next);
        !self.conflicting && !self.address_taken && !overlapping
    }
}

fn note(scope: &Scope<'_>, inst: &Instruction, uses: &mut [Uses]) {
    let param = |name: &str| match scope.storage.get(name) {
        Some(Storage::CallParam(param)) => Some(*param),
        _ => None,
    };
    let is_param_access = inst.opcode.iter().any(|part| part.starts_with("param"));
    for operand in &inst.operands {
        match operand {
            Operand::Symbol(name, _) => {
                if let Some(param) = param(name) {
                    uses[param].address_taken = true;
                }
            }
            Operand::Address(address) => {
                let Operand::Symbol(name, addend) = &address.base else {
                    continue;
                };
                let Some(param) = param(name) else { continue };
                let ty = inst.opcode.iter().find_map(|part| Type::from_name(part));
                let Some(ty) = ty.filter(|_| is_param_access) else {
                    uses[param].address_taken = true;
                    continue;
                };
                let offset = addend.wrapping_add(address.offset) as u64;
                for element in 0..vector_count(&inst.opcode) {
                    uses[param].access(offset.wrapping_add(element * ty.bytes()), ty.bytes());
                }
            }
            _ => {}
        }
    }
}

/// 2, 4 or 8 for `.v2`, `.v4`, `.v8`; else 1.
pub(crate) fn vector_count(opcode: &[String]) -> u64 {
    let count = opcode.iter().find_map(|part| match part.as_str() {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    count.unwrap_or(1)
}
