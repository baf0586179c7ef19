//! Launches without time: each block to its end, or in turns with others where it waits for them.

use crate::Block;
use crate::cluster::Idle;
use crate::exec::service::Output;
use crate::exec::step::StepTotals;
use crate::launch::{Executor, Launch};
use crate::memory::DeviceMemory;
use crate::native::Unavailable;
use crate::trap::Trap;

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
    if launch.executor == Executor::Compiled
        && let Err(reason @ Unavailable::Memory(_)) = launch.kernel.code.routine()
    {
        let name = &launch.kernel.name;
        output.note(format!("kernel {name} is interpreted: {reason}"));
    }
    memory.begin_launch(launch);
    let mut residents = Residents::new(launch);
    let run = residents.run(memory, output);
    if let Err(trap) = &run {
        memory.note_trap(trap);
    }
    run?;
    Ok(FunctionalTotals {
        blocks: launch.blocks(),
        instructions: residents.totals.instructions,
        thread_instructions: residents.totals.thread_instructions,
    })
}

/// The blocks of a launch that have begun, whole clusters at a time.
struct Residents<'a> {
    launch: &'a Launch,
    places: Vec<Block>,
    /// Places of blocks that run, in the order in which they began, and all others.
    running: Vec<usize>,
    free: Vec<usize>,
    next_cluster: u64,
    totals: StepTotals,
    /// Instructions when a block last began or ended.
    since: u64,
}

impl<'a> Residents<'a> {
    fn new(launch: &'a Launch) -> Self {
        Self {
            launch,
            places: Vec::new(),
            running: Vec::new(),
            free: Vec::new(),
            next_cluster: 0,
            totals: StepTotals::default(),
            since: 0,
        }
    }

    fn run(&mut self, memory: &mut DeviceMemory, output: &mut Output) -> Result<(), Box<Trap>> {
        let mut idle = Idle::default();
        loop {
            self.begin_blocks(memory);
            if self.running.is_empty() {
                return Ok(());
            }
            for &place in &self.running {
                let block = &mut self.places[place];
                let run = block.run_round(self.launch, memory, &mut self.totals);
                output.append(block.output());
                run?;
            }
            self.end_blocks();
            if idle.is_stuck(self.totals.instructions) {
                let mut blocks = self.running.iter().map(|&place| &self.places[place]);
                if let Some(trap) =
                    blocks.find_map(|block| block.stuck_in_cluster(self.launch, memory))
                {
                    return Err(trap);
                }
            }
        }
    }

    /// Begins the next clusters: all where blocks may meet, one where none runs, and as many as run while those wait.
    fn begin_blocks(&mut self, memory: &mut DeviceMemory) {
        let cluster_blocks = u64::from(self.launch.cluster_blocks());
        let clusters = self.launch.blocks() / cluster_blocks;
        let running = self.running.len() as u64;
        let room = self.launch.resident_blocks.saturating_sub(running) / cluster_blocks;
        let count = match running {
            _ if self.next_cluster == clusters => return,
            _ if self.launch.blocks_meet => clusters,
            0 => 1,
            _ if self.is_waiting() => running.div_ceil(cluster_blocks).min(room),
            _ => return,
        };
        let end = clusters.min(self.next_cluster + count);
        for cluster in self.next_cluster..end {
            for rank in 0..self.launch.cluster_blocks() {
                self.begin(self.launch.block_of_cluster(cluster, rank), memory);
            }
        }
        self.next_cluster = end;
    }

    fn begin(&mut self, index: u64, memory: &mut DeviceMemory) {
        let place = self.free.pop().unwrap_or_else(|| {
            let mut block = Block::new(self.launch);
            if memory.is_checked() {
                block.check(self.launch);
            }
            self.places.push(block);
            self.places.len() - 1
        });
        self.places[place].start(self.launch, index);
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
        let Self {
            places,
            running,
            free,
            ..
        } = self;
        let before = free.len();
        running.retain(|&place| {
            let is_finished = places[place].is_finished();
            if is_finished {
                free.push(place);
            }
            !is_finished
        });
        if free.len() > before {
            self.since = self.totals.instructions;
        }
    }
}
