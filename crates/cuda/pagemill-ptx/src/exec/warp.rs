//! The state of one warp.

use super::due::Due;
use super::path::Fragment;
use super::step::BarrierPhase;
use super::watch::Watch;
use pagemill_ptx_ir::code::BarrierReduction;
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::line::Line;
use pagemill_ptx_ir::op::NEVER;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpState {
    Running,
    /// A memory access was announced and is due.
    MemoryDue,
    AtBarrier(u8),
    /// Waits for the other warps of its cluster.
    AtClusterBarrier,
    Exited,
}

/// Reads of the clock at one place, with no access to memory between them, after which a warp only waits.
const CLOCK_READS: u64 = 64;

/// Where the clock was read last, by which lanes and after how many accesses; since when, and how often.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Poll {
    place: (u32, u32, u64),
    since: u64,
    reads: u64,
}

impl Poll {
    /// Cycles that a warp skips which asks for the time at `place`, `now`: a sixteenth of its waiting so far.
    pub fn skip(&mut self, place: (u32, u32, u64), now: u64) -> u64 {
        if self.place != place {
            *self = Self {
                place,
                since: now,
                reads: 0,
            };
        }
        self.reads += 1;
        match self.reads {
            0..CLOCK_READS => 0,
            _ => (now - self.since) / 16,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub state: WarpState,
    pub path: Path,
    pub stack: Vec<Path>,
    /// Lanes that go their own ways, in the order of their turns; empty while the warp is whole.
    pub parked: VecDeque<Fragment>,
    /// Lanes that have not ended.
    pub alive: u32,
    /// What is known of the access that is due.
    pub due: Due,
    /// The phase that the last arrival was about.
    pub arrival: BarrierPhase,
    /// Of lanes that it scatters: their offsets in its allocation.
    pub offsets: Line<u64>,
    /// Scoreboard slots of loads that were not waited for yet.
    pub pending: u64,
    /// PTX instructions since the block started.
    pub executed: u64,
    /// Cycles of its clock during which it executed nothing.
    pub skipped_cycles: u64,
    pub poll: Poll,
    /// Where the answer of the `bar.red` it waits at goes.
    pub reduction: Option<BarrierReduction>,
    /// The phase of the cluster's barrier in which it arrived, until it has waited there.
    pub cluster_phase: Option<u64>,
    /// Whether it last ran the stream with waits: what its position counts in.
    pub stepped: bool,
    /// Memory instructions since the block started.
    pub accesses: u64,
    /// Looks for lanes that repeat themselves.
    pub watch: Watch,
}

impl Warp {
    pub(crate) fn new() -> Self {
        Self {
            state: WarpState::Exited,
            path: Path {
                pc: 0,
                mask: 0,
                reconverge: NEVER,
            },
            stack: Vec::new(),
            parked: VecDeque::new(),
            alive: 0,
            due: Due::Unknown,
            arrival: BarrierPhase::default(),
            offsets: Line::splat(0),
            pending: 0,
            executed: 0,
            skipped_cycles: 0,
            poll: Poll::default(),
            reduction: None,
            cluster_phase: None,
            stepped: false,
            accesses: 0,
            watch: Watch::default(),
        }
    }

    /// Puts the lanes of `mask` before the first instruction.
    pub(crate) fn restart(&mut self, mask: u32) {
        self.state = WarpState::Running;
        self.path = Path {
            pc: 0,
            mask,
            reconverge: NEVER,
        };
        self.stack.clear();
        self.parked.clear();
        self.accesses = 0;
        self.watch.restart();
        self.alive = mask;
        self.pending = 0;
        self.executed = 0;
        (self.skipped_cycles, self.poll) = (0, Poll::default());
        self.reduction = None;
        self.cluster_phase = None;
    }

    /// Whether it has something to do, and has executed less than `end` instructions.
    pub(crate) fn is_running(&self, end: u64) -> bool {
        self.state == WarpState::Running && self.executed < end
    }

    /// Leaves the current path for the topmost one below with living lanes. False when there is none.
    pub(crate) fn pop(&mut self) -> bool {
        while let Some(path) = self.stack.pop() {
            let mask = path.mask & self.alive;
            if mask != 0 {
                self.path = Path { mask, ..path };
                return true;
            }
        }
        self.path.mask = 0;
        false
    }

    /// Sends `taken` lanes of the current path to `target`, the others to `next`.
    pub(crate) fn diverge(&mut self, target: u32, taken: u32, next: u32, reconverge: u32) {
        let Path {
            mask,
            reconverge: outer,
            ..
        } = self.path;
        if reconverge != outer {
            self.stack.push(Path {
                pc: reconverge,
                mask,
                reconverge: outer,
            });
        }
        let rest = mask & !taken;
        self.path = if target == reconverge {
            Path {
                pc: next,
                mask: rest,
                reconverge,
            }
        } else {
            if next != reconverge {
                self.stack.push(Path {
                    pc: next,
                    mask: rest,
                    reconverge,
                });
            }
            Path {
                pc: target,
                mask: taken,
                reconverge,
            }
        };
    }
}
