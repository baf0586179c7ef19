//! Steps of a warp that were made and not asked for.

use crate::exec::step::{AccessSpace, LanePlaces, Step, StepEnd, StepTotals};
use crate::exec::trap::Trap;
use pagemill_ptx_ir::code::{AccessKind, CacheHint};
use pagemill_ptx_ir::line::LANES;
use pagemill_types::warm;
use std::collections::BTreeMap;

/// A step in one line of the host's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Kept {
    instructions: u32,
    thread_instructions: u32,
    issue_cycles: u32,
    latency_cycles: u32,
    places: LanePlaces,
    /// Of a wait; of an access whose lanes are listed, where.
    slots: u64,
    mask: u32,
    lane_bytes: u32,
    instruction: u32,
    kind: AccessKind,
    space: AccessSpace,
    cache_hint: CacheHint,
    slot: Option<u8>,
    end: End,
}

const _: () = assert!(size_of::<Kept>() == 64);

impl Kept {
    /// What `step` is; addresses that are listed go to `listed`.
    fn new(step: &Step, listed: &mut Vec<[u64; LANES]>) -> Self {
        let (totals, access) = (&step.totals, &step.access);
        let (end, slots) = match step.end {
            StepEnd::Memory => (End::Memory, 0),
            StepEnd::Wait { slots } => (End::Wait, slots),
            StepEnd::Exit => (End::Exit, 0),
            _ => (End::Budget, 0),
        };
        let place = listed.len() as u64;
        if end == End::Memory && access.places == LanePlaces::Listed {
            listed.push(access.listed);
        }
        Self {
            instructions: totals.instructions as u32,
            thread_instructions: totals.thread_instructions as u32,
            issue_cycles: totals.issue_cycles as u32,
            latency_cycles: totals.latency_cycles as u32,
            places: access.places,
            slots: match end {
                End::Memory => place,
                _ => slots,
            },
            mask: access.mask,
            lane_bytes: access.lane_bytes,
            instruction: access.instruction,
            kind: access.kind,
            space: access.space,
            cache_hint: access.cache_hint,
            slot: access.slot,
            end,
        }
    }

    /// Makes `step` what it was.
    #[inline]
    fn give(&self, listed: &[[u64; LANES]], step: &mut Step) {
        step.released_warps = 0;
        step.opens_cluster_barrier = false;
        step.totals = StepTotals {
            instructions: self.instructions.into(),
            thread_instructions: self.thread_instructions.into(),
            issue_cycles: self.issue_cycles.into(),
            latency_cycles: self.latency_cycles.into(),
            ..StepTotals::default()
        };
        step.end = match self.end {
            End::Memory => StepEnd::Memory,
            End::Wait => StepEnd::Wait { slots: self.slots },
            End::Budget => StepEnd::Budget,
            End::Exit => StepEnd::Exit,
        };
        if self.end != End::Memory {
            return;
        }
        let access = &mut step.access;
        access.kind = self.kind;
        access.space = self.space;
        access.lane_bytes = self.lane_bytes;
        access.mask = self.mask;
        access.places = self.places;
        access.slot = self.slot;
        access.cache_hint = self.cache_hint;
        access.instruction = self.instruction;
        access.combines = false;
        if self.places == LanePlaces::Listed {
            access.listed = listed[self.slots as usize];
        }
    }
}

/// How it ended: blocks that cannot see each other have few ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    Memory,
    Wait,
    #[default]
    Budget,
    Exit,
}

/// Steps that a warp makes in a row, at most.
const STEPS: usize = 16;

/// The steps of all warps that were made and not taken. Where the next one is can be told from a few bytes of each warp, which
/// stay near.
#[derive(Debug, Default)]
pub(super) struct KeptSteps {
    /// Of each warp the same number.
    kept: Vec<Kept>,
    /// Of each warp, how many were made and how many were taken.
    counts: Vec<[u8; 2]>,
    /// Of each warp, addresses of the accesses whose lanes are listed.
    listed: Vec<Vec<[u64; LANES]>>,
    /// Of warps that did something wrong, behind their last step.
    traps: BTreeMap<usize, Box<Trap>>,
}

impl KeptSteps {
    /// Makes room for `warps`.
    pub(super) fn prepare(&mut self, warps: usize) {
        self.kept.resize(warps * STEPS, Kept::default());
        self.counts.resize(warps, [0; 2]);
        self.listed.resize(warps, Vec::new());
    }

    /// Asks for the next step of `warp` before it is taken.
    #[inline]
    pub(super) fn warm(&self, warp: usize) {
        if let Some([_, taken]) = self.counts.get(warp)
            && let Some(next) = self.kept.get(warp * STEPS + usize::from(*taken))
        {
            warm(next);
        }
    }

    /// Lets `advance` make steps of `warp`, up to its end; whether it has come there. All that were made before have been taken.
    pub(super) fn make(
        &mut self,
        warp: usize,
        step: &mut Step,
        mut advance: impl FnMut(&mut Step) -> Result<(), Box<Trap>>,
    ) -> bool {
        let kept = &mut self.kept[warp * STEPS..][..STEPS];
        let listed = &mut self.listed[warp];
        listed.clear();
        for (made, kept) in (1..).zip(kept) {
            if let Err(trap) = advance(step) {
                self.traps.insert(warp, trap);
                return true;
            }
            *kept = Kept::new(step, listed);
            self.counts[warp] = [made, 0];
            if kept.end == End::Exit {
                return true;
            }
        }
        false
    }

    /// Whether all steps of `warp` that were made have been taken, and more can be made.
    #[inline]
    pub(super) fn are_used_up(&self, warp: usize) -> bool {
        let [made, taken] = self.counts[warp];
        made == taken && !self.traps.contains_key(&warp)
    }

    /// The next step of `warp`. Behind the last one it has ended.
    #[inline]
    pub(super) fn take(&mut self, warp: usize, step: &mut Step) -> Result<(), Box<Trap>> {
        let [made, taken] = &mut self.counts[warp];
        if taken == made {
            (step.totals, step.end) = (StepTotals::default(), StepEnd::Exit);
            return self.traps.remove(&warp).map_or(Ok(()), Err);
        }
        let kept = &self.kept[warp * STEPS + usize::from(*taken)];
        *taken += 1;
        kept.give(&self.listed[warp], step);
        Ok(())
    }
}
