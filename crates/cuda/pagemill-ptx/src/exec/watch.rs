//! Finds warps that repeat themselves: after the same instruction with the same registers, what follows is the same,
//! unless something in memory has changed meanwhile.

use super::path::Fragment;
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::line::Registers;
use std::collections::VecDeque;

/// PTX instructions of a warp between two looks at it.
pub(crate) const LOOK_INSTRUCTIONS: u64 = 4096;
/// PTX instructions of a fragment's turn.
pub(crate) const TURN_INSTRUCTIONS: u64 = 64;
/// PTX instructions after which lanes that keep others of their warp waiting have to share their turns with them, even
/// if they do not repeat themselves: a lane that counts how often it has asked for a lock never does.
pub(crate) const PATIENCE_INSTRUCTIONS: u64 = 1 << 18;
/// States that are remembered. A loop is found if it passes at most as many looks before it repeats.
const REMEMBERED: usize = 64;
/// Looks in a row, over all warps that share a memory, at which nothing new was seen, until that is taken for an endless
/// loop at the earliest: 67 million instructions.
pub(crate) const QUIET_LOOKS: u64 = 1 << 14;
/// PTX instructions of a warp during which no thread changes memory and no warp ends, until that is taken for an endless
/// loop even if its registers change.
pub(crate) const IDLE_INSTRUCTIONS: u64 = 1 << 35;

/// What is remembered of one warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Executed instructions at the next look.
    pub next: u64,
    /// Executed instructions at which the turn of the current fragment ends.
    pub turn_end: u64,
    /// Whether lanes of the warp have waited for each other once: from then on they share their turns at once.
    pub shares: bool,
    /// Whether the last look has shown that the warp waits for others.
    pub waits: bool,
    /// Lanes and depth of the path at the last look, and since when it has been that.
    path: (u32, usize),
    path_since: u64,
    /// Changes of memory at the last look, and since when they have been as many.
    writes: u64,
    pub memory_since: u64,
    accesses: u64,
    states: Vec<u64>,
    still: Still,
}

/// Whether a warp is back in a state that it had since memory last changed: then only others can get it on.
#[derive(Clone, Debug, Default)]
struct Still {
    /// A state since that change.
    state: Option<u64>,
    /// Looks since that state, and how many more of them until a later one takes its place: twice as many each time, so
    /// that a loop of any length is found.
    looks: u32,
    looks_max: u32,
    is_back: bool,
}

impl Still {
    fn look(&mut self, state: u64) {
        self.is_back = self.state == Some(state);
        if self.is_back {
            return;
        }
        self.looks += 1;
        if self.looks >= self.looks_max {
            self.looks_max = self.looks * 2;
            (self.state, self.looks) = (Some(state), 0);
        }
    }
}

/// What a look at a warp has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It does something new.
    Progress,
    /// It has been here before, and waits for memory to change.
    Repeats,
    /// It has been here before, and reads nothing that could change: it never ends.
    Endless,
    /// It kept other lanes of its warp waiting for too long.
    Impatient,
}

impl Watch {
    pub(crate) fn restart(&mut self) {
        self.next = LOOK_INSTRUCTIONS;
        self.turn_end = 0;
        self.waits = false;
        self.shares = false;
        self.path = (0, 0);
        self.path_since = 0;
        self.memory_since = 0;
        self.states.clear();
        self.still = Still::default();
    }

    /// Whether the warp can only get on if something changes memory, which has changed `writes` times until now.
    pub(crate) fn stands_still(&self, writes: u64) -> bool {
        self.still.is_back && self.writes == writes
    }
}

/// A warp as it is looked at, before an instruction.
pub(crate) struct Standing<'a> {
    pub registers: &'a Registers,
    pub path: &'a Path,
    pub stack: &'a [Path],
    pub parked: &'a VecDeque<Fragment>,
    /// Whether no other lane of the warp is left.
    pub is_alone: bool,
    /// PTX instructions, and memory instructions, since the block started.
    pub executed: u64,
    pub accesses: u64,
    /// How often its memory has changed.
    pub writes: u64,
}

impl Watch {
    /// Looks at the warp.
    pub(crate) fn look(&mut self, warp: &Standing<'_>) -> Look {
        self.next = warp.executed + LOOK_INSTRUCTIONS;
        let path = (warp.path.mask, warp.stack.len());
        let is_same_path = std::mem::replace(&mut self.path, path) == path;
        let is_same_memory = std::mem::replace(&mut self.writes, warp.writes) == warp.writes;
        let is_split = !warp.parked.is_empty();
        if !is_same_memory {
            self.memory_since = warp.executed;
            self.still = Still::default();
        }
        if !is_same_path {
            self.path_since = warp.executed;
        }
        if !is_same_path && !is_split || warp.is_alone && !is_same_memory {
            self.states.clear();
            return Look::Progress;
        }
        if self.states.is_empty() {
            self.accesses = warp.accesses;
        }
        let state = state(warp);
        self.still.look(state);
        if self.states.contains(&state) {
            return match self.accesses == warp.accesses && warp.is_alone {
                true => Look::Endless,
                false => Look::Repeats,
            };
        }
        if self.states.len() == REMEMBERED {
            self.states.remove(0);
        }
        self.states.push(state);
        let waited = warp.executed - self.path_since;
        match !warp.is_alone && !is_split && waited > PATIENCE_INSTRUCTIONS {
            true => Look::Impatient,
            false => Look::Progress,
        }
    }
}

/// A number that differs, but for chance, between any two states of a warp.
fn state(warp: &Standing<'_>) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    // Four independent chains, because each step waits for the one before.
    let mut chains = [1u64, 2, 3, 4];
    let mut add = |chain: usize, word: u64| {
        let chain = &mut chains[chain % 4];
        *chain = (*chain ^ word).wrapping_mul(FACTOR).rotate_left(29);
    };
    for line in &warp.registers.narrow {
        for (at, pair) in line.0.chunks_exact(2).enumerate() {
            add(at, u64::from(pair[0]) | u64::from(pair[1]) << 32);
        }
    }
    for line in &warp.registers.wide {
        for (at, &word) in line.0.iter().enumerate() {
            add(at, word);
        }
    }
    for (at, &predicate) in warp.registers.predicates.iter().enumerate() {
        add(at, predicate.into());
    }
    let mut add_path = |path: &Path| {
        add(0, u64::from(path.pc) | u64::from(path.mask) << 32);
        add(1, path.reconverge.into());
    };
    add_path(warp.path);
    warp.stack.iter().for_each(&mut add_path);
    for part in warp.parked {
        add_path(&part.path);
        part.stack.iter().for_each(&mut add_path);
    }
    chains.iter().fold(0, |all, chain| {
        (all ^ chain).wrapping_mul(FACTOR).rotate_left(31)
    })
}
