//! Instructions of PTX whose machine code is not what their class says: nothing, or a sequence.

use super::pipe::Pipe;
use crate::gpu::machine::{InstructionTiming, InstructionTimings, MachineCode};
use pagemill_ptx::{InstructionClass, InstructionInfo};

const NOTHING: InstructionTiming = InstructionTiming {
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
        (true, true) => Some((Pipe::Integer, timings.integer)),
        (false, true) if *to == "f32" => Some((Pipe::Integer, code.integer_to_float)),
        (false, false) if is_half(to) || is_half(from) => Some((Pipe::Integer, timings.integer)),
        _ => None,
    }
}

fn is_integer(ty: &str) -> bool {
    ty.starts_with(['s', 'u']) && ty[1..].parse::<u32>().is_ok()
}
