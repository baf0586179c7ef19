//! The step loop, compiled for three instruction sets; which one runs is decided once per process.

use super::run::{Machine, Stop, run_loop};
use super::step::StepTotals;
use super::width::{Level, level};
use crate::exec::trap::Fault;

/// Runs `machine` until it stops. On a fault the warp's path points at the faulting instruction.
pub(crate) fn run(machine: &mut Machine<'_>, totals: &mut StepTotals) -> Result<Stop, Box<Fault>> {
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` found on this processor every feature the function is compiled for.
        Level::Avx512 => unsafe { run_avx512(machine, totals) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` found AVX2, and what else this function is compiled for, on this processor.
        Level::Avx2 => unsafe { run_avx2(machine, totals) },
        Level::Baseline => run_loop(machine, totals),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c"
)]
fn run_avx512(machine: &mut Machine<'_>, totals: &mut StepTotals) -> Result<Stop, Box<Fault>> {
    run_loop(machine, totals)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c")]
fn run_avx2(machine: &mut Machine<'_>, totals: &mut StepTotals) -> Result<Stop, Box<Fault>> {
    run_loop(machine, totals)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
