//! Blocks in turns: each to its end, or with others where it waits for them.

use crate::block::Block;
use crate::exec::service::Output;
use crate::exec::step::StepTotals;
use crate::exec::trap::Trap;
use crate::launch::Launch;
use crate::memory::DeviceMemory;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// PTX instructions of the resident blocks without the end of one of them, after which more of them begin. Blocks that are
/// seen to wait do not need so many.
const PATIENCE_INSTRUCTIONS: u64 = 1 << 20;

/// What becomes of a launch in which nothing gets on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It runs until it ends, or is taken for an endless loop.
    ToTheEnd,
    /// It stops there, as something outside of it may change memory.
    ForOthers,
}

/// The blocks of a launch that have begun, whole clusters at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Residents {
    places: Vec<Block>,
    /// Places of blocks that run, in the order in which they began, and all others.
    running: Vec<usize>,
    free: Vec<usize>,
    /// Clusters that have not begun.
    pub(super) clusters: Range<u64>,
    pub(super) totals: StepTotals,
    /// Instructions when a block last began or ended.
    since: u64,
}

impl Residents {
    /// Runs them until they and the clusters that have not begun have ended; false if they wait for something outside of the
    /// launch.
    pub(super) fn run(
        &mut self,
        launch: &Launch,
        patience: Patience,
        memory: &mut DeviceMemory,
        output: &mut Output,
    ) -> Result<bool, Box<Trap>> {
        let (mut idle_rounds, mut before) = (0, 0);
        let cluster_blocks = launch.cluster_blocks();
        loop {
            for cluster in self.next_clusters(launch) {
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
                if memory.part.is_some() && self.is_over(launch) {
                    return Ok(false);
                }
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

    /// Whether a part of a launch has come to the bounds of the run.
    fn is_over(&self, launch: &Launch) -> bool {
        let (most, stop) = &launch.bounds;
        let is_set = |stop: &Arc<AtomicBool>| stop.load(Ordering::Relaxed);
        self.totals.thread_instructions > *most || stop.as_ref().is_some_and(is_set)
    }

    /// Clusters that begin: one where none runs, and as many as run while those wait.
    fn next_clusters(&mut self, launch: &Launch) -> Range<u64> {
        let blocks = u64::from(launch.cluster_blocks());
        let count = match self.running.len() as u64 {
            0 => 1,
            running if self.is_waiting() => {
                let room = launch.resident_blocks.saturating_sub(running) / blocks;
                running.div_ceil(blocks).min(room)
            }
            _ => 0,
        };
        let first = self.clusters.start;
        self.clusters.start = self.clusters.end.min(first + count);
        first..self.clusters.start
    }

    /// Whether all blocks that may be resident are, and only others can get them on.
    fn stand_still(&self, launch: &Launch, memory: &mut DeviceMemory) -> bool {
        let is_full = self.running.len() as u64 >= launch.resident_blocks.min(launch.blocks());
        let is_last = self.clusters.is_empty();
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
