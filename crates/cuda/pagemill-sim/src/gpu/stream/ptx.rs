//! A kernel compiled to PTX as a stream of warp steps.

use crate::gpu::machine::InstructionTimings;
use crate::gpu::sm::schedule::schedule;
use crate::gpu::stream::{AccessKind, BarrierPhase, StepEnd};
use crate::gpu::{GridShape, GridStream, Step};
use pagemill_ptx::{
    Ahead, Block, DeviceMemory, InstructionCosts, Kernel, Launch, Output, Patience, Trap,
};

/// Instructions a warp executes at most before other warps get their turn.
const STEP_BUDGET: u32 = 4096;

/// One launch of a PTX kernel over the program's memory.
#[derive(Debug)]
pub struct PtxGrid<'a> {
    launch: &'a Launch,
    costs: &'a InstructionCosts,
    output: &'a mut Output,
    steps: Steps<'a>,
}

/// Who makes the steps of its warps.
#[derive(Debug)]
enum Steps<'a> {
    /// The resident blocks, each step when it is asked for.
    InTime(&'a mut DeviceMemory, Vec<Block>),
    /// Blocks that cannot see each other.
    Ahead(Box<Ahead<'a>>),
}

impl<'a> PtxGrid<'a> {
    /// `launch` over `memory`; what it prints goes to `output`. `costs` are those of its kernel, from [`kernel_costs`].
    pub fn new(
        launch: &'a Launch,
        costs: &'a InstructionCosts,
        memory: &'a mut DeviceMemory,
        output: &'a mut Output,
    ) -> Self {
        Self {
            launch,
            costs,
            output,
            steps: Steps::InTime(memory, Vec::new()),
        }
    }

    /// The same before it begins, with steps made ahead of their time where that changes none of them.
    pub(in crate::gpu) fn ahead_of_time(self, patience: Patience) -> Self {
        let (launch, costs) = (self.launch, self.costs);
        // Blocks that cannot see each other make the same steps at any time, so they may be
        // executed ahead and on other cores (ADR 0034).
        let steps = match self.steps {
            Steps::InTime(memory, blocks) => match Ahead::executes(launch, patience, memory) {
                true => Steps::Ahead(Box::new(Ahead::new(launch, costs, STEP_BUDGET, memory))),
                false => Steps::InTime(memory, blocks),
            },
            ahead => ahead,
        };
        Self { steps, ..self }
    }

    /// The same, where its blocks have begun; something else may have changed memory since.
    pub(in crate::gpu) fn with_blocks(mut self, begun: Vec<Block>) -> Self {
        if let Steps::InTime(memory, blocks) = &mut self.steps {
            // What others wrote may be what it waits for: states that it was in before say nothing any more (ADR 0033).
            memory.changed_by_others();
            *blocks = begun;
        }
        self
    }

    /// The blocks, to go on with later. Those whose steps were made ahead wait for nothing.
    pub(in crate::gpu) fn into_blocks(self) -> Vec<Block> {
        match self.steps {
            Steps::InTime(_, blocks) => blocks,
            Steps::Ahead(_) => Vec::new(),
        }
    }

    fn drain_output(&mut self, slot: u32) {
        if let Steps::InTime(_, blocks) = &mut self.steps {
            self.output.append(blocks[slot as usize].output());
        }
    }
}

/// What the instructions of `kernel` cost on a machine with these timings.
pub fn kernel_costs(kernel: &Kernel, timings: &InstructionTimings) -> InstructionCosts {
    let costs = schedule(kernel.instructions(), timings);
    InstructionCosts::new(kernel, |index, _| {
        (costs[index].issue_cycles, costs[index].latency_cycles)
    })
}

/// Whether the lanes of a warp that change one word are joined before they leave the SM: those that add integers and the
/// like, whose order does not matter.
fn is_combined(opcode: &str) -> bool {
    let parts: Vec<&str> = opcode.split('.').collect();
    let is_ordered = parts.contains(&"cas") || parts.contains(&"exch");
    let ty = parts.last().copied().unwrap_or("");
    !is_ordered && ty.starts_with(['u', 's', 'b']) && !ty.starts_with("bf")
}

/// What the blocks of `launch` need.
pub(in crate::gpu) fn grid_shape(launch: &Launch) -> GridShape {
    GridShape {
        blocks: launch.blocks(),
        threads_per_block: launch.threads_per_block(),
        warps_per_block: launch.warps_per_block(),
        registers_per_thread: launch.kernel().registers_per_thread,
        shared_bytes_per_block: launch.shared_bytes(),
        cluster_blocks: launch.cluster_blocks(),
    }
}

impl GridStream for PtxGrid<'_> {
    type Error = Box<Trap>;

    fn shape(&self) -> GridShape {
        grid_shape(self.launch)
    }

    fn prepare(&mut self, slots: u32) {
        match &mut self.steps {
            Steps::InTime(_, blocks) => {
                *blocks = (0..slots)
                    .map(|place| Block::at_place(self.launch, place))
                    .collect();
            }
            Steps::Ahead(ahead) => ahead.prepare(slots),
        }
    }

    fn start_block(&mut self, slot: u32, block: u64) {
        match &mut self.steps {
            Steps::InTime(_, blocks) => blocks[slot as usize].start(self.launch, block),
            Steps::Ahead(ahead) => ahead.start_block(slot, block),
        }
    }

    fn block_of_cluster(&self, cluster: u64, rank: u32) -> u64 {
        self.launch.block_of_cluster(cluster, rank)
    }

    #[inline]
    fn advance(&mut self, slot: u32, warp: u32, step: &mut Step) -> Result<(), Box<Trap>> {
        let (memory, blocks) = match &mut self.steps {
            Steps::InTime(memory, blocks) => (memory, blocks),
            Steps::Ahead(ahead) => return ahead.advance(slot, warp, step),
        };
        let block = &mut blocks[slot as usize];
        let advanced = block.advance(self.launch, warp, memory, self.costs, STEP_BUDGET, step);
        if advanced.is_err() {
            self.drain_output(slot);
        }
        if step.end == StepEnd::Memory
            && matches!(step.access.kind, AccessKind::Atomic | AccessKind::Reduction)
        {
            let instruction = step.access.instruction as usize;
            let info = self.launch.kernel().instructions().get(instruction);
            step.access.combines = info.is_some_and(|info| is_combined(&info.opcode));
        }
        advanced
    }

    #[inline]
    fn warm(&self, warp: u32) {
        match &self.steps {
            Steps::InTime(_, blocks) => {
                let warps = self.launch.warps_per_block();
                blocks[(warp / warps) as usize].warm(warp % warps);
            }
            Steps::Ahead(ahead) => ahead.warm(warp),
        }
    }

    fn instructions(&self) -> usize {
        let instructions = self.launch.kernel().instructions();
        // Without lines of a source there is nothing to book to.
        match instructions.iter().any(|info| info.source.is_some()) {
            true => instructions.len(),
            false => 0,
        }
    }

    fn source_of(&self, instruction: u32) -> Option<(String, u32)> {
        let (file, line) = self.launch.kernel().source_of(instruction)?;
        Some((file.to_owned(), line))
    }

    fn stands_still(&mut self, slot: u32) -> bool {
        match &mut self.steps {
            Steps::InTime(memory, blocks) => blocks[slot as usize].stands_still(memory),
            Steps::Ahead(_) => false,
        }
    }

    fn is_over(&mut self, slot: u32, phase: BarrierPhase) -> bool {
        match &mut self.steps {
            Steps::InTime(memory, blocks) => blocks[slot as usize].is_over(phase, memory),
            Steps::Ahead(_) => true,
        }
    }

    fn end_block(&mut self, slot: u32) {
        if let Steps::Ahead(ahead) = &mut self.steps {
            ahead.end_block(slot);
        }
        self.drain_output(slot);
    }
}

#[cfg(test)]
mod tests;
