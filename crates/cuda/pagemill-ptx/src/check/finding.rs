//! What was found: once for each kind of mistake and source line, with a count.

use std::collections::BTreeMap;
use std::fmt;

use crate::exec::trap::{Trap, TrapKind};

/// Kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Defect {
    /// An access outside of every allocation, or of the memory of a block, a thread or a surface.
    OutOfBounds,
    /// An address that is no multiple of the size of the access.
    Misaligned,
    /// An access to memory that was freed, or a second free.
    FreedMemory,
    /// A load of bytes that nothing has written.
    Uninitialized,
    /// Accesses of two threads of a block to the same shared memory, one of them a write, with no barrier between them.
    SharedRace,
    /// The same of two blocks to the same global memory, with no atomic or fence between them.
    GlobalRace,
    /// Lanes or warps that do not come where others wait for them, or take no part where others read from them.
    Divergence,
    /// Anything else that stops a kernel.
    Stopped,
    /// Work of two streams on the same memory, one writes, and nothing orders them.
    StreamRace,
    /// The CPU uses memory before the work that writes it was waited for.
    HostRace,
    /// A call that frees what is no allocation.
    BadFree,
}

impl Defect {
    /// Its name in messages and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Misaligned => "misaligned",
            Self::FreedMemory => "freed-memory",
            Self::Uninitialized => "uninitialized",
            Self::SharedRace => "shared-race",
            Self::GlobalRace => "global-race",
            Self::Divergence => "divergence",
            Self::Stopped => "stopped",
            Self::StreamRace => "stream-race",
            Self::HostRace => "host-race",
            Self::BadFree => "bad-free",
        }
    }

    fn of_trap(kind: &TrapKind) -> Self {
        match kind {
            TrapKind::OutOfBounds { near, .. } => match &near.allocation {
                Some(near) if near.freed => Self::FreedMemory,
                _ => Self::OutOfBounds,
            },
            TrapKind::OutsideWindow { .. }
            | TrapKind::OutsideSurface { .. }
            | TrapKind::ReadOnly { .. } => Self::OutOfBounds,
            TrapKind::Misaligned { .. } => Self::Misaligned,
            TrapKind::BadFree { .. } => Self::FreedMemory,
            TrapKind::BadBarrier { .. }
            | TrapKind::DivergedBarrier { .. }
            | TrapKind::Deadlock { .. }
            | TrapKind::AbsentLanes { .. } => Self::Divergence,
            _ => Self::Stopped,
        }
    }
}

/// A mistake at one source line, as it was seen first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of mistake.
    pub defect: Defect,
    /// Kernel name; empty for a call of the program.
    pub kernel: String,
    /// Name of the PTX text, or of what the program called.
    pub source_name: String,
    /// Line of the PTX text; 0 for a call of the program.
    pub line: u32,
    /// CUDA source file and line, when the PTX carries `.loc`; of inlined functions, where they are called.
    pub source: Option<(String, u32)>,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index, when one thread is to blame.
    pub thread: Option<[u32; 3]>,
    /// What happened.
    pub detail: String,
    /// How often it was seen, by lanes for accesses.
    pub count: u64,
}

impl Finding {
    pub(super) fn of_trap(trap: &Trap) -> Self {
        Self {
            defect: Defect::of_trap(&trap.kind),
            kernel: trap.kernel.clone(),
            source_name: trap.source_name.clone(),
            line: trap.line,
            source: trap.users_line.clone(),
            block: trap.block,
            thread: trap.thread,
            detail: trap.kind.to_string(),
            count: 1,
        }
    }

    /// Of a call of the program, which `place` names.
    pub(super) fn of_call(defect: Defect, place: &str, detail: String) -> Self {
        Self {
            defect,
            kernel: String::new(),
            source_name: place.to_owned(),
            line: 0,
            source: None,
            block: [0; 3],
            thread: None,
            detail,
            count: 1,
        }
    }

    /// `x.cu:7`, or the line of the PTX text, or the call.
    pub fn place(&self) -> String {
        match &self.source {
            None if self.kernel.is_empty() => self.source_name.clone(),
            Some((file, line)) => format!("{}:{line}", base(file)),
            None => format!("{}:{}", self.source_name, self.line),
        }
    }
}

pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        let (defect, place) = (self.defect.name(), self.place());
        if self.kernel.is_empty() {
            return write!(f, "{defect} at {place}: {}", self.detail);
        }
        write!(
            f,
            "{defect} at {place}, kernel {}, block ({x}, {y}, {z})",
            self.kernel
        )?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        write!(f, ": {}", self.detail)
    }
}

/// A kind of mistake, the module, and a line by its number in the kernel's table.
pub(super) type Key = (Defect, u64, Line);
/// A source line, or a line of the PTX text.
pub(super) type Line = (Option<u32>, u32);

/// Mistakes that are told apart; later ones are dropped.
const FINDINGS_MAX: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    known: BTreeMap<Key, usize>,
    taken: usize,
}

impl Findings {
    pub(super) fn all(&self) -> &[Finding] {
        &self.all
    }

    pub(super) fn take_new(&mut self) -> Vec<Finding> {
        let new = self.all[self.taken..].to_vec();
        self.taken = self.all.len();
        new
    }

    /// Counts a mistake that is known; false if it is not.
    pub(super) fn count_again(&mut self, key: Key) -> bool {
        let at = self.known.get(&key);
        at.inspect(|at| self.all[**at].count += 1).is_some()
    }

    pub(super) fn add_as(&mut self, key: Key, finding: Finding) {
        if let Some(at) = self.add(finding) {
            self.known.insert(key, at);
        }
    }

    /// Adds a mistake, or counts it where its kind and line are known; its place in the list.
    pub(super) fn add(&mut self, finding: Finding) -> Option<usize> {
        let same = |other: &Finding| {
            other.defect == finding.defect
                && match (&other.source, &finding.source) {
                    (None, None) => {
                        other.source_name == finding.source_name && other.line == finding.line
                    }
                    (ours, theirs) => ours == theirs,
                }
        };
        if let Some(at) = self.all.iter().position(same) {
            self.all[at].count += finding.count;
            return Some(at);
        }
        if self.all.len() >= FINDINGS_MAX {
            return None;
        }
        self.all.push(finding);
        Some(self.all.len() - 1)
    }
}
