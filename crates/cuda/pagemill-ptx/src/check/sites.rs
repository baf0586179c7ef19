//! What a kernel's instructions mean for the order of accesses, and short numbers for their lines.

use std::collections::BTreeMap;

use super::finding::Line;
use crate::program::kernel::Kernel;
use pagemill_ptx_ir::info::InstructionInfo;

/// Lines that have a number of their own; all others share the last.
pub(super) const LINES_MAX: u32 = 511;

/// Instructions of one kernel.
#[derive(Debug)]
pub(super) struct Sites {
    each: Vec<Site>,
    /// For each line number, the first instruction of the line.
    first: Vec<u32>,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    line: Line,
    pub line_number: u32,
    /// Whether accesses like this may meet others like this: atomics, `volatile` and all with a scope.
    pub is_strong: bool,
    /// Whether it also keeps accesses before it from moving behind it, without a fence.
    pub is_release: bool,
    /// Whether its scope is the block: it means nothing to other blocks.
    pub is_of_block: bool,
    /// Whether it stores what an asynchronous copy brings.
    pub is_copy: bool,
    /// Whether it waits for asynchronous copies.
    pub awaits_copies: bool,
}

impl Sites {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let mut numbers: BTreeMap<Line, u32> = BTreeMap::new();
        let mut first = Vec::new();
        let site = |(at, info): (u32, &InstructionInfo)| {
            let line = match info.caller.or(info.source) {
                Some((file, line)) => (Some(file), line),
                None => (None, info.line),
            };
            let line_number = *numbers.entry(line).or_insert_with(|| {
                first.push(at);
                first.len() as u32 - 1
            });
            Site::new(info, line, line_number.min(LINES_MAX))
        };
        let each = (0..).zip(kernel.instructions()).map(site).collect();
        Self { each, first }
    }

    pub(super) fn site(&self, instruction: u32) -> Option<&Site> {
        self.each.get(instruction as usize)
    }

    pub(super) fn line_of(&self, instruction: u32) -> Line {
        self.site(instruction).map_or((None, 0), |site| site.line)
    }

    /// An instruction of the line with that number.
    pub(super) fn instruction_of(&self, line_number: u32) -> Option<u32> {
        let is_known = line_number < LINES_MAX;
        is_known.then(|| self.first.get(line_number as usize).copied())?
    }
}

impl Site {
    fn new(info: &InstructionInfo, line: Line, line_number: u32) -> Self {
        let parts: Vec<&str> = info.opcode.split('.').collect();
        let has = |names: &[&str]| parts.iter().any(|part| names.contains(part));
        let is_barrier_object = has(&["mbarrier"]);
        let is_async = info.opcode.starts_with("cp.async");
        let is_atomic =
            matches!(parts[0], "atom" | "red") || info.opcode.starts_with("cp.reduce.async.bulk");
        let orders = [
            "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio",
        ];
        Self {
            line,
            line_number,
            is_strong: is_atomic || is_barrier_object || has(&orders),
            is_release: is_barrier_object || has(&["release", "acq_rel"]),
            is_of_block: has(&["cta"]),
            is_copy: is_async && has(&["ca", "cg"]),
            awaits_copies: is_async
                && has(&["wait_group", "wait_all", "mbarrier"])
                && !has(&["bulk"]),
        }
    }
}
