//! Blocks on several threads of the host, where they cannot see each other.
//!
//! Each thread runs blocks on a memory of its own ([`crate::memory`]), and afterwards what they stored is put in place. That
//! gives the bytes of blocks that run one after the other: no block has read what another has stored, and no two threads have
//! stored to the same word. Where that does not hold, a thread did something wrong, or something was printed, the launch
//! begins anew, one block after the other, and so does every later launch of its kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::residents::{Patience, Residents};
use crate::exec::service::Output;
use crate::exec::step::StepTotals;
use crate::launch::Launch;
use crate::memory::{Allocation, DeviceMemory, Part, Spare, Stored, Uses, put_in_place};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{AccessKind, Code, MatrixInst, MemoryInst, Service, WORD_BYTES};
use pagemill_ptx_ir::op::Op;
use pagemill_types::WARPS_HELD;

/// Threads of a launch times instructions of its kernel from which on it is worth it: less than what starting threads costs.
const WORK_MIN: u64 = 1 << 17;
/// The same for a timed launch: less than what compiling its kernel for that costs.
const WORK_MIN_BEFORE: u64 = 1 << 21;
/// Instructions for each access up to which to execute a launch takes little of its time, and as how many of them one counts
/// that goes lane by lane.
const WORK_PER_ACCESS: usize = 32;
const LANE_BY_LANE_WORK: usize = 32;
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
    let may_run = launch.workers > 1 && may_run(launch, memory);
    let run = may_run.then(|| run_apart(launch, patience, memory));
    run.flatten().map(|run| run.totals)
}

/// Runs all blocks of a launch that is timed then, if each of its warps makes the same steps whenever it makes them: no block
/// reads what another has stored, and each word is stored once, so that no order of stores can be told. False leaves memory as
/// it was, or with what the launch will store.
pub(crate) fn run_before(launch: &Launch, patience: Patience, memory: &mut DeviceMemory) -> bool {
    if !is_worth_it_before(launch) || !are_warps_apart(launch) || !may_run(launch, memory) {
        return false;
    }
    let run = run_apart(launch, patience, memory);
    let stores_once = run.is_some_and(|run| run.stores_once);
    if !stores_once {
        launch
            .kernel
            .seen
            .depends_on_order
            .store(true, Ordering::Relaxed);
    }
    stores_once
}

/// Whether the registers of the warps that are resident at once are more than the host's caches hold, the launch is long, and
/// to execute it takes little of what its accesses take to time.
fn is_worth_it_before(launch: &Launch) -> bool {
    let resident = launch.resident_blocks.min(launch.blocks());
    let threads = launch.blocks() * u64::from(launch.threads);
    let insts = launch.kernel.code.functional.insts.len() as u64;
    resident * u64::from(launch.warps_per_block()) > WARPS_HELD as u64
        && threads.saturating_mul(insts) >= WORK_MIN_BEFORE
        && is_mostly_accesses(&launch.kernel.code)
        && !launch.kernel.seen.depends_on_order.load(Ordering::Relaxed)
}

fn is_mostly_accesses(code: &Code) -> bool {
    let (mut accesses, mut work) = (0, 0);
    for inst in &code.functional.insts {
        match inst.op {
            Op::Load | Op::Store => accesses += 1,
            Op::Scalar | Op::Matrix => work += LANE_BY_LANE_WORK,
            _ => work += 1,
        }
    }
    work <= accesses * WORK_PER_ACCESS
}

/// A launch whose blocks ran apart.
struct Run {
    totals: StepTotals,
    /// Whether it stored each word once at most.
    stores_once: bool,
}

fn run_apart(launch: &Launch, patience: Patience, memory: &mut DeviceMemory) -> Option<Run> {
    let allocations = Arc::new(std::mem::take(&mut memory.allocations));
    let ended = run_parts(launch, patience, &allocations, &memory.spare);
    // The parts, which shared them, have ended.
    memory.allocations = Arc::into_inner(allocations).unwrap_or_default();
    let run = ended.and_then(|parts| {
        let mut totals = StepTotals::default();
        parts.iter().for_each(|part| totals.add(&part.totals));
        let stored_words: u64 = parts.iter().map(|part| part.stored_words).sum();
        let stored = parts.into_iter().map(|part| part.stored).collect();
        let words = put_in_place(&mut memory.allocations, stored, &memory.spare)?;
        Some(Run {
            totals,
            stores_once: words == stored_words,
        })
    });
    match run {
        Some(_) => memory.note_write(),
        None => launch.kernel.seen.have_met.store(true, Ordering::Relaxed),
    }
    run
}

fn may_run(launch: &Launch, memory: &DeviceMemory) -> bool {
    let code = &launch.kernel.code;
    let threads = launch.blocks() * u64::from(launch.threads);
    let work = threads.saturating_mul(code.functional.insts.len() as u64);
    launch.blocks() > 1
        && work >= WORK_MIN
        && memory.allocations.len() <= ALLOCATIONS_MAX
        && memory.checker.is_none()
        && !memory.is_watched()
        && launch.cluster_blocks() == 1
        && !launch.kernel.seen.have_met.load(Ordering::Relaxed)
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

/// Whether warps share nothing but memory that blocks share, and threads keep nothing in memory of their own, which lies
/// elsewhere for each place of a block.
fn are_warps_apart(launch: &Launch) -> bool {
    let code = &launch.kernel.code;
    let is_shared = |inst: &MemoryInst| matches!(inst.space, Space::Shared | Space::Local);
    let mut insts = code.functional.insts.iter();
    launch.shared_bytes == 0
        && launch.local_words() == 0
        && code.barriers.is_empty()
        && code.stack.is_none()
        && insts.all(|inst| match inst.op {
            Op::Load | Op::Store | Op::Atomic => !is_shared(&code.memory[inst.aux as usize]),
            Op::Matrix => matches!(code.matrices[inst.aux as usize], MatrixInst::Multiply(_)),
            Op::Service => false,
            _ => true,
        })
}

/// A worker's part of a launch.
struct Ended {
    totals: StepTotals,
    stored: Vec<Option<Stored>>,
    stored_words: u64,
}

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
            let part = memory.part?;
            Some(Ended {
                totals: residents.totals,
                stored_words: part.stored_words,
                stored: part.into_stored(memory.allocations),
            })
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
pub(crate) mod tests;
