//! Launches without time: each block to its end, or in turns with others where it waits for them.

use crate::Block;
use crate::exec::service::Output;
use crate::exec::step::StepTotals;
use crate::launch::{Executor, Launch};
use crate::memory::DeviceMemory;
use crate::native::Unavailable;
use crate::trap::Trap;
use std::ops::Range;

/// PTX instructions of the resident blocks without the end of one of them, after which more of them begin. Blocks that are
/// seen to wait do not need so many.
const PATIENCE_INSTRUCTIONS: u64 = 1 << 20;

/// What a functional run executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionalTotals {
    /// Blocks run.
    pub blocks: u64,
    /// PTX instructions issued by warps.
    pub instructions: u64,
    /// PTX instructions times the lanes that were active and whose guard held.
    pub thread_instructions: u64,
}

/// Runs every block of `launch` to its end without time. Blocks run in their order, one after the other; while none of
/// them gets on, the next ones begin, until as many take turns as may be resident. `printf` text goes to `output`.
///
/// # Errors
/// What a thread did wrong. Memory then holds what was done until then.
pub fn run_functional(
    launch: &Launch,
    memory: &mut DeviceMemory,
    output: &mut Output,
) -> Result<FunctionalTotals, Box<Trap>> {
    let mut run = FunctionalRun::default();
    run.go_on(launch, Patience::ToTheEnd, memory, output)?;
    Ok(run.totals())
}

/// What becomes of a launch in which nothing gets on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It runs until it ends, or is taken for an endless loop.
    ToTheEnd,
    /// It stops there, as something outside of it may change memory.
    ForOthers,
}

/// A launch that runs without time, and can stop where it waits for others.
#[derive(Clone, Debug, Default)]
pub struct FunctionalRun {
    residents: Residents,
    blocks: u64,
}

impl FunctionalRun {
    /// Runs `launch`, the same each time, until all of its blocks have ended; false if it waits for something outside of it.
    ///
    /// # Errors
    /// As [`run_functional`].
    pub fn go_on(
        &mut self,
        launch: &Launch,
        patience: Patience,
        memory: &mut DeviceMemory,
        output: &mut Output,
    ) -> Result<bool, Box<Trap>> {
        if launch.executor == Executor::Compiled
            && let Err(reason @ Unavailable::Memory(_)) = launch.kernel.code.routine()
        {
            let name = &launch.kernel.name;
            output.note(format!("kernel {name} is interpreted: {reason}"));
        }
        memory.begin_launch(launch);
        memory.changed_by_others();
        self.blocks = launch.blocks();
        let run = self.residents.run(launch, patience, memory, output);
        run.inspect_err(|trap| memory.note_trap(trap))
    }

    /// What was executed so far.
    pub fn totals(&self) -> FunctionalTotals {
        FunctionalTotals {
            blocks: self.blocks,
            instructions: self.residents.totals.instructions,
            thread_instructions: self.residents.totals.thread_instructions,
        }
    }
}

impl DeviceMemory {
    /// How often kernels and others have changed it.
    pub fn changes(&mut self) -> u64 {
        self.activity().writes
    }

    /// Something other than the launch at hand may have changed it.
    pub fn changed_by_others(&mut self) {
        self.note_write();
    }
}

/// The blocks of a launch that have begun, whole clusters at a time.
#[derive(Clone, Debug, Default)]
struct Residents {
    places: Vec<Block>,
    /// Places of blocks that run, in the order in which they began, and all others.
    running: Vec<usize>,
    free: Vec<usize>,
    next_cluster: u64,
    totals: StepTotals,
    /// Instructions when a block last began or ended.
    since: u64,
}

impl Residents {
    fn run(
        &mut self,
        launch: &Launch,
        patience: Patience,
        memory: &mut DeviceMemory,
        output: &mut Output,
    ) -> Result<bool, Box<Trap>> {
        let (mut idle_rounds, mut before) = (0, 0);
        let cluster_blocks = launch.cluster_blocks();
        let clusters = launch.blocks() / u64::from(cluster_blocks);
        loop {
            for cluster in self.next_clusters(launch, clusters) {
                for rank in 0..cluster_blocks {
                    let index = match cluster_blocks {
                        1 => cluster,
                        _ => launch.block_of_cluster(cluster, rank),
                    };
                    self.begin(launch, index, memory);
                }
            }
            if self.running.is_empty() {
                return Ok(true);
            }
            if patience == Patience::ForOthers && self.stand_still(launch, memory) {
                return Ok(false);
            }
            for &place in &self.running {
                let block = &mut self.places[place];
                let run = block.run_round(launch, memory, &mut self.totals);
                output.append(block.output());
                run?;
            }
            self.end_blocks();
            idle_rounds = match self.totals.instructions == before {
                true => idle_rounds + 1,
                false => 0,
            };
            before = self.totals.instructions;
            if idle_rounds >= 2 {
                let mut blocks = self.running.iter().map(|&place| &self.places[place]);
                let trap = blocks.find_map(|block| block.stuck_in_cluster(launch, memory));
                trap.map_or(Ok(()), Err)?;
            }
        }
    }

    /// Those of `clusters` clusters that begin: one where none runs, and as many as run while those wait.
    fn next_clusters(&mut self, launch: &Launch, clusters: u64) -> Range<u64> {
        let blocks = u64::from(launch.cluster_blocks());
        let count = match self.running.len() as u64 {
            0 => 1,
            running if self.is_waiting() => {
                let room = launch.resident_blocks.saturating_sub(running) / blocks;
                running.div_ceil(blocks).min(room)
            }
            _ => 0,
        };
        let first = self.next_cluster;
        self.next_cluster = clusters.min(first + count);
        first..self.next_cluster
    }

    /// Whether all blocks that may be resident are, and only others can get them on.
    fn stand_still(&self, launch: &Launch, memory: &mut DeviceMemory) -> bool {
        let is_full = self.running.len() as u64 >= launch.resident_blocks.min(launch.blocks());
        let is_last = self.next_cluster * u64::from(launch.cluster_blocks()) >= launch.blocks();
        let mut running = self.running.iter();
        memory.activity().quiet > 0
            && (is_full || is_last)
            && running.all(|&place| self.places[place].stands_still(memory))
    }

    fn begin(&mut self, launch: &Launch, index: u64, memory: &mut DeviceMemory) {
        let place = self.free.pop().unwrap_or_else(|| {
            let mut block = Block::new(launch);
            if memory.is_checked() {
                block.check(launch);
            }
            self.places.push(block);
            self.places.len() - 1
        });
        self.places[place].start(launch, index);
        self.running.push(place);
        self.since = self.totals.instructions;
        memory.activity().quiet = 0;
    }

    /// Whether no block gets on, as far as is seen, or none has ended for long.
    fn is_waiting(&self) -> bool {
        self.totals.instructions - self.since >= PATIENCE_INSTRUCTIONS
            || self.running.iter().all(|&place| self.places[place].waits())
    }

    fn end_blocks(&mut self) {
        let (places, free) = (&self.places, &mut self.free);
        self.running.retain(|&place| {
            let is_finished = places[place].is_finished();
            if is_finished {
                free.push(place);
                self.since = self.totals.instructions;
            }
            !is_finished
        });
    }
}
