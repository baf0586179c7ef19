//! Blocks on several threads of the host, where they cannot see each other.
//!
//! Each thread runs blocks on a memory of its own ([`crate::memory`]), and afterwards what they stored is put in place. That
//! gives the bytes of blocks that run one after the other: no block has read what another has stored, and no two threads have
//! stored to the same word. Where that does not hold, a thread did something wrong, or something was printed, the launch
//! begins anew, one block after the other, and so does every later launch of its kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::residents::{Patience, Residents};
use crate::ast::Space;
use crate::exec::service::Output;
use crate::exec::step::StepTotals;
use crate::ir::code::{AccessKind, Code, MatrixInst, MemoryInst, Service};
use crate::ir::op::Op;
use crate::launch::Launch;
use crate::memory::{
    Allocation, DeviceMemory, Part, Spare, Stored, Uses, WORD_BYTES, put_in_place,
};

/// Threads of a launch times instructions of its kernel from which on it is worth it: less than what starting threads costs.
const WORK_MIN: u64 = 1 << 17;
/// Allocations up to which it is.
const ALLOCATIONS_MAX: usize = 256;
/// Shares of the blocks that each worker takes, one after the other.
const SHARES: u64 = 8;

/// Runs all blocks of `launch`, if it may run so, and counts what was executed. After `None` it is to run in turns.
pub(super) fn run(
    launch: &Launch,
    patience: Patience,
    memory: &mut DeviceMemory,
) -> Option<StepTotals> {
    if !may_run(launch, memory) {
        return None;
    }
    let allocations = Arc::new(std::mem::take(&mut memory.allocations));
    let ended = run_parts(launch, patience, &allocations, &memory.spare);
    // The parts, which shared them, have ended.
    memory.allocations = Arc::into_inner(allocations).unwrap_or_default();
    let mut totals = StepTotals::default();
    let is_done = ended.is_some_and(|parts| {
        let (counts, stored): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        counts.iter().for_each(|part| totals.add(part));
        put_in_place(&mut memory.allocations, stored, &memory.spare)
    });
    if !is_done {
        launch.kernel.have_met.store(true, Ordering::Relaxed);
        return None;
    }
    memory.note_write();
    Some(totals)
}

fn may_run(launch: &Launch, memory: &DeviceMemory) -> bool {
    let code = &launch.kernel.code;
    let threads = launch.blocks() * u64::from(launch.threads);
    let work = threads.saturating_mul(code.functional.insts.len() as u64);
    launch.workers > 1
        && launch.blocks() > 1
        && work >= WORK_MIN
        && memory.allocations.len() <= ALLOCATIONS_MAX
        && memory.checker.is_none()
        && !memory.is_watched()
        && launch.cluster_blocks() == 1
        && !launch.kernel.have_met.load(Ordering::Relaxed)
        && may_be_apart(code)
}

/// Whether all that the kernel does to memory that blocks share are loads and stores of whole words.
fn may_be_apart(code: &Code) -> bool {
    let is_own = |inst: &MemoryInst| matches!(inst.space, Space::Shared | Space::Local);
    let by_words = |inst: &MemoryInst| usize::from(inst.element_bytes) >= WORD_BYTES;
    let mut insts = code.functional.insts.iter();
    insts.all(|inst| match inst.op {
        Op::Load | Op::Store | Op::Atomic => {
            let memory = &code.memory[inst.aux as usize];
            match memory.kind {
                AccessKind::Load => true,
                AccessKind::Store => is_own(memory) || by_words(memory),
                AccessKind::Atomic | AccessKind::Reduction => is_own(memory),
            }
        }
        Op::Matrix => match &code.matrices[inst.aux as usize] {
            MatrixInst::Load(load) => load.space == Space::Shared,
            MatrixInst::Multiply(_) | MatrixInst::Tile(_) => true,
        },
        Op::Service => matches!(code.services[inst.aux as usize], Service::GrowStack { .. }),
        Op::Texture | Op::Arrival => false,
        _ => true,
    }) && !code.barriers.iter().any(|barrier| barrier.is_of_cluster())
}

type Ended = (StepTotals, Vec<Option<Stored>>);

/// What each worker executed and stored; `None` if any has met another, or has not ended well.
fn run_parts(
    launch: &Launch,
    patience: Patience,
    allocations: &Arc<Vec<Allocation>>,
    spare: &Spare,
) -> Option<Vec<Ended>> {
    let uses = Arc::new(Uses::new(allocations.len()));
    let next = AtomicU64::new(0);
    let workers = launch.blocks().min(launch.workers as u64);
    let share = launch.blocks().div_ceil(workers * SHARES);
    std::thread::scope(|scope| {
        let work = || {
            let mut memory = DeviceMemory::new();
            let shared = (0..allocations.len()).map(|at| Allocation::shared(allocations, at));
            memory.allocations = shared.collect();
            memory.part = Some(Box::new(Part::new(&uses, spare)));
            let mut residents = Residents::default();
            let mut output = Output::default();
            loop {
                let first = next.fetch_add(share, Ordering::Relaxed);
                if first >= launch.blocks() {
                    break;
                }
                residents.clusters = first..(first + share).min(launch.blocks());
                let ended = residents.run(launch, patience, &mut memory, &mut output);
                if !ended.unwrap_or(false) || uses.have_met() || !output.is_empty() {
                    return None;
                }
            }
            let stored = memory.part?.into_stored(memory.allocations);
            Some((residents.totals, stored))
        };
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        // This thread works too: a new one starts at once only where a core is idle.
        let own = work();
        let others = others.into_iter().map(|part| part.join().ok().flatten());
        let ended: Vec<_> = std::iter::once(own).chain(others).collect();
        ended.into_iter().collect()
    })
}

#[cfg(test)]
mod tests;
