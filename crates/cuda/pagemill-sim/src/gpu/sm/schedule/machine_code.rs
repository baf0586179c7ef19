//! Instructions of PTX whose machine code is not what their class says: nothing, or a sequence.

use super::pipe::Pipe;
use crate::gpu::machine::{InstructionTiming, InstructionTimings, MachineCode};
use pagemill_ptx::{InstructionClass, InstructionInfo};

pub(super) const NOTHING: InstructionTiming = InstructionTiming {
    issue_cycles: 0,
    latency_cycles: 0,
};

/// Divisions of 64-bit integers take as long as so many of 32 bits.
const WIDE_DIVIDE: u32 = 4;

/// What `info` costs if it is not what its class does.
pub(super) fn timing_of(
    info: &InstructionInfo,
    timings: &InstructionTimings,
    code: &MachineCode,
) -> Option<(Pipe, InstructionTiming)> {
    if info.is_erased || info.opcode.starts_with("ld.param") {
        return Some((Pipe::Integer, NOTHING));
    }
    let parts: Vec<&str> = info.opcode.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let ty = *parts.last()?;
    match *parts.first()? {
        // A generic address of global memory is the same number: machine code has nothing for it.
        "cvta" => Some((Pipe::Integer, NOTHING)),
        "add" | "sub" | "and" | "or" | "xor" | "not" | "shl" | "shr" | "setp" | "selp"
            if info.class == InstructionClass::Integer && ty.ends_with("64") =>
        {
            Some((Pipe::Integer, twice(timings.integer)))
        }
        "tex" | "tld4" => Some((Pipe::Texture, code.texture)),
        "popc" | "clz" | "bfind" | "brev" => Some((Pipe::Special, code.bit_count)),
        "cvt" => conversion(&parts, timings, code),
        "mul" | "mad" if info.class == InstructionClass::IntegerMultiply && ty.ends_with("64") => {
            Some((Pipe::Multiply, code.wide_multiply))
        }
        "div" | "rem" if is_integer(ty) => {
            let times = if ty.ends_with("64") { WIDE_DIVIDE } else { 1 };
            let InstructionTiming {
                issue_cycles,
                latency_cycles,
            } = code.integer_divide;
            let timing = InstructionTiming {
                issue_cycles: issue_cycles * times,
                latency_cycles: latency_cycles * times,
            };
            Some((Pipe::Multiply, timing))
        }
        "div" | "sqrt" | "rcp" | "rsqrt" if ty == "f64" => {
            Some((Pipe::Float64, code.float64_divide))
        }
        "div" if ty == "f32" && has("rn") => Some((Pipe::Float32, code.float32_divide)),
        "sqrt" | "rcp" if ty == "f32" && has("rn") => Some((Pipe::Float32, code.float32_root)),
        // Approximations: the special unit's result, and what single precision does before and after it.
        name if ty == "f32" => {
            let steps = steps_beside(name, has("full"), has("ftz"))?;
            let InstructionTiming {
                issue_cycles,
                latency_cycles,
            } = timings.special;
            let timing = InstructionTiming {
                issue_cycles,
                latency_cycles: latency_cycles + steps * timings.float32.latency_cycles,
            };
            Some((Pipe::Special, timing))
        }
        _ => None,
    }
}

/// One for each half of a register pair.
fn twice(timing: InstructionTiming) -> InstructionTiming {
    InstructionTiming {
        issue_cycles: 2 * timing.issue_cycles,
        latency_cycles: timing.latency_cycles + timing.issue_cycles,
    }
}

/// Instructions of single precision before and after an approximation, each waiting for the one before: they scale
/// numbers that the special unit takes for zero, unless `ftz` does. As `ptxas` 13.0 translates them for `sm_90`.
fn steps_beside(name: &str, is_full: bool, flushes: bool) -> Option<u32> {
    match (name, is_full, flushes) {
        ("rcp", _, false) => Some(5),
        ("div", true, false) => Some(4),
        ("div", true, true) | ("div" | "ex2" | "lg2" | "sqrt" | "rsqrt", _, false) => Some(3),
        ("div" | "sin" | "cos", ..) => Some(1),
        _ => None,
    }
}

fn conversion(
    parts: &[&str],
    timings: &InstructionTimings,
    code: &MachineCode,
) -> Option<(Pipe, InstructionTiming)> {
    let [.., to, from] = parts else { return None };
    let is_half = |ty: &str| ty.starts_with("f16") || ty.starts_with("bf16");
    match (is_integer(to), is_integer(from)) {
        (true, true)
            if matches!(
                (*to, *from),
                ("u64" | "s64", "u32") | ("u32" | "s32", "u64" | "s64")
            ) =>
        {
            // A register of the pair is taken or filled: what reads it takes it so, or a constant for the upper half.
            Some((Pipe::Integer, NOTHING))
        }
        (true, true) => Some((Pipe::Integer, timings.integer)),
        (false, true) if *to == "f32" => Some((Pipe::Integer, code.integer_to_float)),
        (false, false) if is_half(to) || is_half(from) => Some((Pipe::Integer, timings.integer)),
        _ => None,
    }
}

fn is_integer(ty: &str) -> bool {
    ty.starts_with(['s', 'u']) && ty[1..].parse::<u32>().is_ok()
}
