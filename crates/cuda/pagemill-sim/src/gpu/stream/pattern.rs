//! The reads of the oversubscription benchmark as a stream of warp steps.

use pagemill_ptx::LanePlaces;
use std::convert::Infallible;

use crate::gpu::{AccessKind, GridShape, GridStream, Step, StepEnd};
use pagemill_policy::residency::{
    ELEMENT_BYTES, PatternSpec, Variant, WARP_LANES, WarpRead, WarpReader,
};

/// What a warp does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Read,
    Wait,
    Barrier,
    Exit,
}

/// Scoreboard slot of all reads.
const SLOT: u8 = 0;

/// A grid that reads an allocation in the order of a pattern. Blocks in lock-step meet at a barrier after each read. The
/// first warp of a block writes its result at the end.
#[derive(Debug)]
pub struct PatternGrid {
    spec: PatternSpec,
    base: u64,
    variant: Variant,
    readers: Vec<Option<WarpReader>>,
    turns: Vec<Turn>,
    /// For each slot, the warps that wait at its barrier, and those that have not ended.
    waiting: Vec<u64>,
    live: Vec<u64>,
}

impl PatternGrid {
    /// The reads of `spec` of the allocation at address `base`.
    pub fn new(spec: PatternSpec, variant: Variant, base: u64) -> Self {
        Self {
            spec,
            base,
            variant,
            readers: Vec::new(),
            turns: Vec::new(),
            waiting: Vec::new(),
            live: Vec::new(),
        }
    }

    fn warps(&self) -> usize {
        self.spec.warps_per_block as usize
    }

    fn read(&mut self, index: usize, step: &mut Step) -> bool {
        let Some(read) = self.readers[index].as_mut().and_then(Iterator::next) else {
            return false;
        };
        step.access.kind = AccessKind::Load;
        step.access.slot = Some(SLOT);
        self.access(read, step);
        true
    }

    fn access(&self, read: WarpRead, step: &mut Step) {
        step.end = StepEnd::Memory;
        step.access.lane_bytes = ELEMENT_BYTES as u32;
        let lanes = u64::from(read.bytes) / ELEMENT_BYTES;
        step.access.mask = ((1u64 << lanes.min(WARP_LANES)) - 1) as u32;
        step.access.places = LanePlaces::Row {
            first: self.base + read.start,
        };
    }

    /// The warps of `slot` that a barrier lets go, once all that live have come.
    fn released(&mut self, slot: usize) -> u64 {
        // A warp that has ended is not waited for, so an exit may open the barrier, too.
        match self.live[slot] & !self.waiting[slot] {
            0 => std::mem::take(&mut self.waiting[slot]),
            _ => 0,
        }
    }
}

impl GridStream for PatternGrid {
    type Error = Infallible;

    fn shape(&self) -> GridShape {
        GridShape {
            blocks: u64::from(self.spec.blocks),
            threads_per_block: self.spec.warps_per_block * WARP_LANES as u32,
            warps_per_block: self.spec.warps_per_block,
            registers_per_thread: 16,
            shared_bytes_per_block: 0,
            cluster_blocks: 1,
        }
    }

    fn prepare(&mut self, slots: u32) {
        let slots = slots as usize;
        self.readers = vec![None; slots * self.warps()];
        self.turns = vec![Turn::Exit; slots * self.warps()];
        self.waiting = vec![0; slots];
        self.live = vec![0; slots];
    }

    fn start_block(&mut self, slot: u32, block: u64) {
        let warps = self.spec.warps_per_block;
        for warp in 0..warps {
            let index = slot as usize * self.warps() + warp as usize;
            self.readers[index] = Some(self.spec.reader(block as u32, warp));
            self.turns[index] = Turn::Read;
        }
        self.waiting[slot as usize] = 0;
        self.live[slot as usize] = (1 << warps) - 1;
    }

    fn advance(&mut self, slot: u32, warp: u32, step: &mut Step) -> Result<(), Infallible> {
        *step = Step::default();
        step.totals.instructions = 1;
        step.totals.thread_instructions = WARP_LANES;
        step.totals.issue_cycles = 1;
        let slot = slot as usize;
        let index = slot * self.warps() + warp as usize;
        let after_data = match self.variant {
            Variant::LockStep => Turn::Barrier,
            Variant::FreeRunning => Turn::Read,
        };
        let turn = self.turns[index];
        if turn == Turn::Read && self.read(index, step) {
            self.turns[index] = Turn::Wait;
            return Ok(());
        }
        match turn {
            Turn::Wait => {
                step.end = StepEnd::Wait { slots: 1 << SLOT };
                self.turns[index] = after_data;
            }
            Turn::Barrier => {
                self.waiting[slot] |= 1 << warp;
                self.turns[index] = Turn::Read;
                step.released_warps = self.released(slot);
                step.end = StepEnd::Barrier {
                    id: 0,
                    released: step.released_warps != 0,
                };
            }
            Turn::Read if warp == 0 => {
                step.access.kind = AccessKind::Store;
                self.access(self.spec.result_write(), step);
                self.turns[index] = Turn::Exit;
            }
            Turn::Read | Turn::Exit => {
                self.live[slot] &= !(1 << warp);
                step.released_warps = self.released(slot);
                step.end = StepEnd::Exit;
            }
        }
        Ok(())
    }
}
