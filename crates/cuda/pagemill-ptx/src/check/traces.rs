//! What launches leave behind: which bytes of global memory they read and wrote, for those who order launches.

use std::ops::Range;

use super::cells::{Cells, Stamp};
use super::{Checker, Current, Defect, Finding, Place};
use crate::memory::DeviceMemory;

/// Launches whose lines are known by the time of an access; earlier ones are dropped.
const LAUNCHES_MAX: usize = 4096;

/// How far the checks have come: what launches do between two of these belongs to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckTime {
    time: u64,
    /// How often memory of stamps was cleared.
    rounds: u64,
    /// Releases so far: a fence, and then a strong write.
    releases: u64,
    /// Strong reads so far.
    looks: u64,
}

/// All that was launched between two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchSpan {
    from: CheckTime,
    to: CheckTime,
}

impl LaunchSpan {
    /// From one time to another.
    pub fn new(from: CheckTime, to: CheckTime) -> Self {
        Self { from, to }
    }

    /// Whether `other` may have waited for something that this one wrote, by a fence and a flag.
    pub fn may_be_met_by(&self, other: &Self) -> bool {
        self.has_released() && other.to.looks > other.from.looks
    }

    /// Whether it wrote a flag behind a fence.
    pub fn has_released(&self) -> bool {
        self.to.releases > self.from.releases
    }

    fn holds(&self, stamp: Stamp) -> bool {
        (self.from.time + 1..=self.to.time).contains(&stamp.time())
    }
}

/// Bytes side by side that one source line read or wrote.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
    stamp: Stamp,
}

impl Trace {
    /// The address behind it.
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Whether it was an atomic, or `volatile`, or had a scope: two of these do not race.
    pub fn is_strong(&self) -> bool {
        self.stamp.is_strong()
    }
}

/// What some launches read and wrote, as far as later ones have not hidden it, in the order of addresses.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// What they read and did not write afterwards.
    pub reads: Vec<Trace>,
    /// What they wrote.
    pub writes: Vec<Trace>,
}

impl Cells {
    /// The accesses of `span`, for cells of memory at `base`.
    fn traces(&self, base: u64, span: &LaunchSpan, range: Range<usize>, traces: &mut Traces) {
        let (grain, readers, writers) = self.stamps();
        let cells = range.start / grain..range.end.div_ceil(grain).min(readers.len());
        for (stamps, list) in [(readers, &mut traces.reads), (writers, &mut traces.writes)] {
            for at in cells.clone() {
                let stamp = Stamp(stamps[at]);
                if !span.holds(stamp) {
                    continue;
                }
                let start = base + (at * grain) as u64;
                let is_alike = |last: &&mut Trace| {
                    last.end() == start
                        && last.stamp.line() == stamp.line()
                        && last.is_strong() == stamp.is_strong()
                };
                match list.last_mut().filter(is_alike) {
                    Some(last) => last.bytes += grain as u64,
                    None => list.push(Trace {
                        start,
                        bytes: grain as u64,
                        stamp,
                    }),
                }
            }
        }
    }
}

impl Checker {
    /// Notes the launch at hand, so that its lines are known later.
    pub(super) fn keep_launch(&mut self) {
        if let Some(current) = self.current.clone() {
            if self.launches.len() == LAUNCHES_MAX {
                self.launches.pop_front();
            }
            self.launches.push_back((self.time, current));
        }
    }

    /// The launch that `trace` is of.
    fn launch_of(&self, trace: &Trace) -> Option<&Current> {
        let time = trace.stamp.time();
        let behind = self.launches.partition_point(|(began, _)| *began <= time);
        let at = behind.checked_sub(1)?;
        Some(&self.launches.get(at)?.1)
    }

    /// By which kernel and at which line.
    fn describe_trace(&self, trace: &Trace) -> String {
        let Some(launch) = self.launch_of(trace) else {
            return "a kernel".to_owned();
        };
        let kernel = &launch.kernel;
        let instruction = launch.sites.instruction_of(trace.stamp.line());
        let line = instruction.and_then(|at| kernel.users_line(at));
        match line {
            Some((file, line)) => {
                format!(
                    "kernel {} at {}:{line}",
                    kernel.name,
                    super::finding::base(file)
                )
            }
            None => format!("kernel {}", kernel.name),
        }
    }

    fn note_trace(&mut self, defect: Defect, trace: &Trace, detail: String) {
        let Some(launch) = self.launch_of(trace).cloned() else {
            self.note_trap(Finding::of_call(defect, "a kernel", detail));
            return;
        };
        let instruction = launch.sites.instruction_of(trace.stamp.line());
        let blocks: u64 = launch
            .grid
            .iter()
            .map(|&extent| u64::from(extent))
            .product();
        let place = Place {
            block: u64::from(trace.stamp.actor() % super::cells::SEVERAL).min(blocks - 1),
            thread: trace.stamp.thread(),
            instruction: instruction.unwrap_or(0),
        };
        let now = self.current.replace(launch);
        self.note(defect, place, || detail);
        self.current = now;
    }
}

impl DeviceMemory {
    /// How far the checks have come; always the same where nothing is checked.
    pub fn check_time(&self) -> CheckTime {
        self.checker
            .as_ref()
            .map_or_else(CheckTime::default, |own| CheckTime {
                time: own.time,
                rounds: own.rounds,
                releases: own.releases,
                looks: own.looks,
            })
    }

    /// What the launches of `span` read and wrote; `None` once that is forgotten.
    pub fn traces(&self, span: &LaunchSpan) -> Option<Traces> {
        if self.checker.as_ref()?.rounds != span.from.rounds || span.to.rounds != span.from.rounds {
            return None;
        }
        let mut traces = Traces::default();
        for (at, allocation) in self.allocations.iter().enumerate() {
            // What `malloc` in kernels hands out changes its owner without a trace.
            let range = allocation.shadow.seen.within(span.from.time, span.to.time);
            if let (Some(cells), false) = (&allocation.shadow.cells, self.is_heap(at)) {
                cells.traces(allocation.address(), span, range, &mut traces);
            }
        }
        Some(traces)
    }

    /// By which kernel and at which line a trace was left, for messages.
    pub fn describe_trace(&self, trace: &Trace) -> String {
        self.checker
            .as_ref()
            .map_or_else(String::new, |own| own.describe_trace(trace))
    }

    /// The access of `trace` was a mistake.
    pub fn note_trace(&mut self, defect: Defect, trace: &Trace, detail: String) {
        if let Some(own) = &mut self.checker {
            own.note_trace(defect, trace, detail);
        }
    }

    /// A call of the program was a mistake: `place` names it.
    pub fn note_call(&mut self, defect: Defect, place: &str, detail: String) {
        if let Some(own) = &mut self.checker {
            own.note_trap(Finding::of_call(defect, place, detail));
        }
    }
}
