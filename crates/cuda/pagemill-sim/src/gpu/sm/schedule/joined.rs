//! Pairs of PTX instructions that `ptxas` makes one machine instruction of, as the disassembly of kernels for `sm_90`
//! shows them: an addition of three (IADD3), a shift and an addition (LEA), a product and an addition (IMAD.WIDE), logic
//! of three operands (LOP3), a comparison that continues a predicate, and signs as modifiers of operands.

use pagemill_ptx::InstructionInfo;

/// What an instruction does, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Add32,
    Add64,
    Shift32,
    WideProduct,
    Logic32,
    Compare,
    PredicateLogic,
    Sign,
    Float,
    Other,
}

/// For each instruction whether the one that reads its result does it too; numbers of registers are below `registers`.
/// Only a result that one instruction writes and one of the same basic block reads can vanish, and an instruction that
/// took one in cannot vanish itself.
pub(super) fn joined(instructions: &[InstructionInfo], registers: usize) -> Vec<bool> {
    let (mut reads, mut writes) = (vec![0u32; registers], vec![0u32; registers]);
    for info in instructions {
        info.reads.iter().for_each(|&at| reads[at as usize] += 1);
        info.writes.iter().for_each(|&at| writes[at as usize] += 1);
    }
    let is_single = |at: u32| reads[at as usize] == 1 && writes[at as usize] == 1;
    let deeds: Vec<Deed> = instructions.iter().map(deed).collect();
    let mut joined = vec![false; instructions.len()];
    let mut has_taken = vec![false; instructions.len()];
    // Who wrote a register in this block.
    let mut writer: Vec<Option<usize>> = vec![None; registers];
    for (index, info) in instructions.iter().enumerate() {
        // A value that crosses an edge has a register: another path may bring another value there.
        if info.block_leader {
            writer.fill(None);
        }
        for &register in &info.reads {
            let Some(before) = writer[register as usize].filter(|_| is_single(register)) else {
                continue;
            };
            // A sign costs its reader nothing: it may have one on each operand, and take in a result beside them.
            let is_modifier = deeds[before] == Deed::Sign;
            let is_free = !has_taken[before] && (is_modifier || !has_taken[index]);
            if is_free && is_one(deeds[before], deeds[index]) {
                joined[before] = true;
                has_taken[index] |= !is_modifier;
            }
        }
        for &register in &info.writes {
            writer[register as usize] = (info.writes.len() == 1).then_some(index);
        }
    }
    joined
}

/// Whether machine code has one instruction for `first` and a `second` that reads its result.
fn is_one(first: Deed, second: Deed) -> bool {
    use Deed::{Add32, Add64, Compare, Float, Logic32, PredicateLogic, Shift32, Sign, WideProduct};
    matches!(
        (first, second),
        (Add32 | Shift32, Add32)
            | (WideProduct, Add64)
            | (Logic32, Logic32)
            | (Compare, PredicateLogic)
            | (Sign, Float)
    )
}

fn deed(info: &InstructionInfo) -> Deed {
    let mut parts = info.opcode.split('.');
    let name = parts.next().unwrap_or_default();
    let ty = parts.next_back().unwrap_or_default();
    let is_saturated = parts.any(|part| part == "sat");
    match (name, ty) {
        (_, "s32" | "u32") if is_saturated => Deed::Other,
        ("add" | "sub", "s32" | "u32") => Deed::Add32,
        ("add" | "sub", "s64" | "u64") => Deed::Add64,
        // By a number: LEA takes no register for it.
        ("shl", "b32") if info.reads.len() == 1 => Deed::Shift32,
        ("mul", "s32" | "u32") if info.opcode.starts_with("mul.wide") => Deed::WideProduct,
        ("and" | "or" | "xor" | "not", "b32") => Deed::Logic32,
        ("and" | "or" | "xor" | "not", "pred") => Deed::PredicateLogic,
        ("setp", _) => Deed::Compare,
        ("neg" | "abs", "f32" | "f64") => Deed::Sign,
        ("add" | "sub" | "mul" | "fma", "f32" | "f64") => Deed::Float,
        _ => Deed::Other,
    }
}
