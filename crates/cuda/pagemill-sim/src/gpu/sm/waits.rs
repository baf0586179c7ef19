//! For how long warps stand still for the results of each instruction.

use pagemill_types::Picos;

use crate::gpu::sm::warp::SLOTS;

/// Waiting times of a launch. Empty, and free, where the lines of its instructions are not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    pub(crate) of_instruction: Vec<Picos>,
    /// For each warp, which instruction last used each of its scoreboard slots.
    users: Vec<[u32; SLOTS]>,
}

impl Waits {
    /// Of `warps` resident warps; counts nothing if there are 0 `instructions`.
    pub(crate) fn new(instructions: usize, warps: usize) -> Self {
        let warps = if instructions == 0 { 0 } else { warps };
        Self {
            of_instruction: vec![Picos::ZERO; instructions],
            users: vec![[0; SLOTS]; warps],
        }
    }

    #[inline]
    pub(crate) fn are_counted(&self) -> bool {
        !self.of_instruction.is_empty()
    }

    /// The result of `instruction` arrives under `slot`.
    pub(crate) fn note(&mut self, warp: u32, slot: u8, instruction: u32) {
        if let Some(user) = self.users[warp as usize].get_mut(usize::from(slot)) {
            *user = instruction;
        }
    }

    /// A warp waited for what used `slot` last.
    pub(crate) fn add_slot(&mut self, warp: u32, slot: u8, waited: Picos) {
        if let Some(&instruction) = self.users[warp as usize].get(usize::from(slot)) {
            self.add(instruction, waited);
        }
    }

    /// A warp waited for a result of `instruction`.
    pub(crate) fn add(&mut self, instruction: u32, waited: Picos) {
        if let Some(sum) = self.of_instruction.get_mut(instruction as usize) {
            *sum += waited;
        }
    }
}
