//! Finds mistakes of kernels that leave no other trace: uninitialized and freed memory, races, lanes that miss each other.
//!
//! A [`Checker`] belongs to a [`DeviceMemory`](crate::DeviceMemory) and sees every access of functional runs. Each byte has
//! a bit that says whether anything has written it, and each word a cell that says who read and wrote it last
//! ([`cells`]). Two accesses race if no barrier, fence or atomic lies between them ([`order`]). See
//! `docs/adr/0024-check.md`.

mod access;
mod block;
mod cells;
mod copies;
mod finding;
mod meetings;
mod memory;
mod notes;
mod order;
mod rows;
mod shadow;
mod sites;
mod traces;

pub(crate) use access::Verdicts;
pub(crate) use block::BlockCheck;
pub use finding::{Defect, Finding};
pub(crate) use shadow::Shadow;
pub use traces::{CheckTime, LaunchSpan, Trace, Traces};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::program::kernel::Kernel;
use cells::TIME_MAX;
use finding::Findings;
use order::Order;
use sites::Sites;

/// What is known of all launches on one memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checker {
    findings: Findings,
    /// By module and name.
    kernels: BTreeMap<(u64, String), Arc<Sites>>,
    current: Option<Current>,
    /// Counts launches, and what orders blocks within one.
    time: u64,
    /// Accesses before this happened before everything in the current launch.
    floor: u64,
    order: Order,
    /// When the last launches began, in the order of time.
    launches: VecDeque<(u64, Current)>,
    /// When the launch at hand began.
    began: u64,
    /// How often time began anew.
    rounds: u64,
    /// Releases and strong reads in global memory so far.
    releases: u64,
    looks: u64,
}

/// The launch at hand.
#[derive(Clone, Debug)]
struct Current {
    kernel: Kernel,
    sites: Arc<Sites>,
    grid: [u32; 3],
    block: [u32; 3],
}

/// One access that may be a mistake: by which thread of which block, at which instruction.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: u64,
    thread: u32,
    instruction: u32,
}

impl Checker {
    /// A launch begins: everything before it happened before. True when all cells are out of date and must be cleared.
    pub(crate) fn begin(&mut self, kernel: &Kernel, grid: [u32; 3], block: [u32; 3]) -> bool {
        let key = (kernel.module_id, kernel.name.clone());
        let sites = self.kernels.entry(key);
        let sites = sites.or_insert_with(|| Arc::new(Sites::new(kernel)));
        self.current = Some(Current {
            kernel: kernel.clone(),
            sites: Arc::clone(sites),
            grid,
            block,
        });
        self.order = Order::default();
        self.time += 1;
        let wraps = self.time > TIME_MAX;
        if wraps {
            self.time = 1;
            self.rounds += 1;
            self.launches.clear();
        }
        self.floor = self.time;
        self.began = self.time;
        self.keep_launch();
        wraps
    }

    /// A step in the order of blocks. Once no more can be counted, blocks are no longer told apart.
    fn tick(&mut self) {
        self.time = (self.time + 1).min(TIME_MAX);
        if self.time == TIME_MAX {
            self.floor = TIME_MAX + 1;
        }
    }

    /// A kernel was stopped.
    pub(crate) fn note_trap(&mut self, finding: Finding) {
        self.findings.add(finding);
    }

    /// A lane of `block` reads from one that takes no part, or its own mask leaves it out.
    pub(crate) fn note_stray(&mut self, block: u64, instruction: u32) {
        let text = "a lane reads from one that its member mask does not name or that has ended, or its own mask leaves it out";
        let place = Place {
            block,
            thread: u32::MAX,
            instruction,
        };
        self.note(Defect::Divergence, place, || text.to_owned());
    }

    /// What was found so far, in the order in which it was found.
    pub(crate) fn findings(&self) -> &[Finding] {
        self.findings.all()
    }

    /// What was found since the last call and had not been found before.
    pub(crate) fn take_new(&mut self) -> Vec<Finding> {
        self.findings.take_new()
    }

    /// A warp of `block` names lanes in the member mask of an exchange that do not come to it any more.
    pub(crate) fn note_ended(&mut self, block: u64, instruction: u32, ended: u32) {
        let place = Place {
            block,
            thread: u32::MAX,
            instruction,
        };
        self.note(Defect::Divergence, place, || {
            format!(
                "the member mask names lanes {ended:#010x}, which do not come here: they took another branch to its end, or ended before"
            )
        });
    }

    fn note(&mut self, defect: Defect, place: Place, detail: impl FnOnce() -> String) {
        let Some(Current {
            kernel,
            sites,
            grid,
            block,
        }) = &self.current
        else {
            return;
        };
        let line = sites.line_of(place.instruction);
        let known = (defect, kernel.module_id, line);
        if self.findings.count_again(known) {
            return;
        }
        let info = kernel.instructions().get(place.instruction as usize);
        let source = kernel.users_line(place.instruction);
        let finding = Finding {
            defect,
            kernel: kernel.name.clone(),
            source_name: kernel.source_name.to_string(),
            line: info.map_or(0, |info| info.line),
            source: source.map(|(file, line)| (file.to_owned(), line)),
            block: crate::launch::coordinates::split(place.block, *grid),
            thread: (place.thread != u32::MAX)
                .then(|| crate::launch::coordinates::split(place.thread.into(), *block)),
            detail: detail(),
            count: 1,
        };
        self.findings.add_as(known, finding);
    }

    /// `thread (1, 0, 0) at x.cu:7`, of an earlier access of the current launch, at the line of that number.
    fn describe(&self, block: Option<u64>, (thread, line): (u32, u32)) -> String {
        let Some(Current {
            kernel,
            sites,
            grid,
            block: shape,
        }) = &self.current
        else {
            return String::new();
        };
        let [x, y, z] = crate::launch::coordinates::split(thread.into(), *shape);
        let mut text = format!("thread ({x}, {y}, {z})");
        if let Some(block) = block {
            let [x, y, z] = crate::launch::coordinates::split(block, *grid);
            text += &format!(" of block ({x}, {y}, {z})");
        }
        if let Some(instruction) = sites.instruction_of(line) {
            let ptx = kernel.instructions().get(instruction as usize);
            text += &match (kernel.users_line(instruction), ptx) {
                (Some((file, line)), _) => format!(" at {}:{line}", finding::base(file)),
                (None, Some(info)) => format!(" at {}:{}", kernel.source_name, info.line),
                (None, None) => String::new(),
            };
        }
        text
    }
}
