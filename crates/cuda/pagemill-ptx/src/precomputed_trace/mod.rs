//! Steps of a timed launch that are made ahead of their time, where its blocks cannot see each other.
//!
//! A machine has thousands of resident warps, and in the order of time each step is of another one: their registers pass
//! through the host's caches once for each step. Where no block reads what another has stored ([`crate::functional`] has
//! found that out, and left what the launch stores), a warp's steps do not depend on time. So each warp makes many in a row
//! when its block starts, and what the timing model has to know of each is one line of the host's cache:
//!
//! ```text
//! start of a block:  warp 0: step step step ... end    warp 1: step step ... end      registers stay near
//! in order of time:  warp 7 reads its next step, warp 2 its next, ...                 64 bytes each
//! ```

mod kept;

use crate::block::Block;
use crate::exec::step::Step;
use crate::exec::trap::Trap;
use crate::functional::{Patience, speculation};
use crate::launch::Launch;
use crate::launch::cost::InstructionCosts;
use crate::memory::DeviceMemory;
use kept::KeptSteps;

/// The steps of the blocks of one launch.
#[derive(Debug)]
pub struct Ahead<'a> {
    launch: &'a Launch,
    costs: &'a InstructionCosts,
    budget: u32,
    /// Has what the launch stores already: its blocks store the same once more.
    memory: &'a mut DeviceMemory,
    /// By number of the warp among those of all slots.
    steps: KeptSteps,
    warps_per_block: u32,
    /// Of each slot, the block whose warps have more steps to make.
    blocks: Vec<Option<Block>>,
    /// Blocks whose warps have all ended, the last one on top: what it used is still near.
    spare: Vec<Block>,
    /// Reused.
    step: Step,
}

impl<'a> Ahead<'a> {
    /// Executes `launch` if its steps can be made ahead: `memory` then has all that it stores. Otherwise `launch` is to be run
    /// in time.
    pub fn executes(launch: &Launch, patience: Patience, memory: &mut DeviceMemory) -> bool {
        speculation::run_before(launch, patience, memory)
    }

    /// The steps of `launch`, which was executed. They stop as with [`Block::advance`] and `budget`.
    pub fn new(
        launch: &'a Launch,
        costs: &'a InstructionCosts,
        budget: u32,
        memory: &'a mut DeviceMemory,
    ) -> Self {
        Self {
            launch,
            costs,
            budget,
            memory,
            steps: KeptSteps::default(),
            warps_per_block: launch.warps_per_block(),
            blocks: Vec::new(),
            spare: Vec::new(),
            step: Step::default(),
        }
    }

    /// Makes room for `slots` blocks at once.
    pub fn prepare(&mut self, slots: u32) {
        self.blocks.resize(slots as usize, None);
        self.steps.prepare((slots * self.warps_per_block) as usize);
    }

    /// Block `index` of the launch starts in `slot`.
    pub fn start_block(&mut self, slot: u32, index: u64) {
        let mut block = (self.spare.pop()).unwrap_or_else(|| Block::new(self.launch));
        block.start(self.launch, index);
        let mut have_ended = true;
        for warp in 0..self.warps_per_block {
            have_ended &= self.make(slot, warp, &mut block);
        }
        match have_ended {
            true => self.spare.push(block),
            false => self.blocks[slot as usize] = Some(block),
        }
    }

    #[inline]
    fn place(&self, slot: u32, warp: u32) -> usize {
        (slot * self.warps_per_block + warp) as usize
    }

    /// Warp `warp` of `block` makes its next steps; whether they are its last.
    fn make(&mut self, slot: u32, warp: u32, block: &mut Block) -> bool {
        let at = self.place(slot, warp);
        let (launch, costs, budget) = (self.launch, self.costs, self.budget);
        let memory = &mut *self.memory;
        self.steps.make(at, &mut self.step, |step| {
            block.advance(launch, warp, memory, costs, budget, step)
        })
    }

    #[cold]
    fn make_more(&mut self, slot: u32, warp: u32) {
        if let Some(mut block) = self.blocks[slot as usize].take() {
            self.make(slot, warp, &mut block);
            self.blocks[slot as usize] = Some(block);
        }
    }

    /// Asks for the next step of a warp, by its number among those of all slots, before it is taken.
    #[inline]
    pub fn warm(&self, warp: u32) {
        self.steps.warm(warp as usize);
    }

    /// As [`Block::advance`], of warp `warp` of the block in `slot`.
    ///
    /// # Errors
    /// What a thread did wrong.
    #[inline]
    pub fn advance(&mut self, slot: u32, warp: u32, step: &mut Step) -> Result<(), Box<Trap>> {
        let at = self.place(slot, warp);
        if self.steps.are_used_up(at) {
            self.make_more(slot, warp);
        }
        self.steps.take(at, step)
    }

    /// The block in `slot` has ended.
    pub fn end_block(&mut self, slot: u32) {
        self.spare.extend(self.blocks[slot as usize].take());
    }
}

#[cfg(test)]
mod tests;
