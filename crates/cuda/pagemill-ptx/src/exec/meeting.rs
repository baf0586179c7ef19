//! Lanes of a split warp that wait for each other: masks meet by value, wherever in the program the lanes stand.

use super::path::{Fragment, Meeting};
use super::step::StepTotals;
use super::warp::Warp;
use super::warp_wide::{self, Exchanged};
use crate::exec::trap::{Fault, TrapKind};
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::code::{Code, Stream};
use pagemill_ptx_ir::info::Prefix;
use pagemill_ptx_ir::line::{Frame, lanes_of};

/// What lanes wait for.
pub(crate) struct Meetings<'a> {
    pub code: &'a Code,
    pub stream: &'a Stream,
    pub costs: &'a [Prefix],
}

impl Meetings<'_> {
    /// Lets the lanes of `mask` on the current path wait at entry `index` of the warp-operation table, one fragment for
    /// each member mask; the others of the path go on behind it. No lane is left on the current path.
    pub(crate) fn wait(&self, warp: &mut Warp, frame: &Frame<'_>, index: u32, mask: u32) {
        warp.split();
        let inst = &self.code.warp_wide[index as usize];
        let mut members = warp_wide::members(frame, inst, mask);
        // A lane that its own mask leaves out waits only for itself.
        lanes_of(warp_wide::left_out(&members, mask)).for_each(|lane| members[lane] = 1 << lane);
        let mut rest = mask;
        while rest != 0 {
            let members_of_first = members[rest.trailing_zeros() as usize & 31];
            let group = lanes_of(rest)
                .filter(|&lane| members[lane] == members_of_first)
                .fold(0, |group, lane| group | 1 << lane);
            rest &= !group;
            let meeting = Meeting::Exchange {
                index,
                members: members_of_first,
            };
            warp.detach(group, warp.path.pc, Some(meeting));
        }
        warp.path.pc += 1;
        warp.park(None);
    }

    /// Lets every fragment go on whose wait has ended. Returns whether a lane read from one outside of its mask; `groups` has the
    /// lanes that met.
    pub(crate) fn complete(
        &self,
        warp: &mut Warp,
        frame: &mut Frame<'_>,
        totals: &mut StepTotals,
        groups: &mut Vec<u32>,
    ) -> bool {
        let mut is_stray = false;
        for first in 0..warp.parked.len() {
            let Some(Meeting::Exchange { index, members }) = warp.parked[first].waits else {
                continue;
            };
            let kind = std::mem::discriminant(&self.code.warp_wide[index as usize].kind);
            let meets = |part: &Fragment| match part.waits {
                Some(Meeting::Exchange {
                    index,
                    members: own,
                }) => {
                    let own_kind = &self.code.warp_wide[index as usize].kind;
                    own == members && std::mem::discriminant(own_kind) == kind
                }
                _ => false,
            };
            let parts: Vec<usize> = (first..warp.parked.len())
                .filter(|&at| meets(&warp.parked[at]))
                .collect();
            let here = parts
                .iter()
                .fold(0, |here, &at| here | warp.parked[at].path.mask);
            if members & warp.alive & !here != 0 {
                continue;
            }
            if let [only] = parts[..] {
                // It is before the instruction, and executes it like any other.
                warp.parked[only].waits = None;
                continue;
            }
            groups.push(here);
            is_stray |= self.exchange(warp, &parts, frame, totals);
        }
        is_stray
    }

    /// The fragments `parts` execute the instructions that they stand before as one.
    fn exchange(
        &self,
        warp: &mut Warp,
        parts: &[usize],
        frame: &mut Frame<'_>,
        totals: &mut StepTotals,
    ) -> bool {
        let mut sides = Vec::with_capacity(parts.len());
        for &at in parts {
            let part = &mut warp.parked[at];
            if let Some(Meeting::Exchange { index, .. }) = part.waits.take() {
                sides.push((&self.code.warp_wide[index as usize], part.path.mask));
            }
            self.count(&part.path, totals);
            part.path.pc += 1;
        }
        warp_wide::execute_apart(frame, &sides) == Exchanged::Stray
    }

    /// Counts the instruction that the lanes of `path` stand before.
    fn count(&self, path: &Path, totals: &mut StepTotals) {
        let pc = path.pc as usize;
        let (from, to) = (
            self.stream.before[pc] as usize,
            self.stream.before[pc + 1] as usize,
        );
        let count = (to - from) as u64;
        totals.instructions += count;
        totals.thread_instructions += count * u64::from(path.mask.count_ones());
        if let (Some(from), Some(to)) = (self.costs.get(from), self.costs.get(to)) {
            totals.issue_cycles += to.issue - from.issue;
            totals.latency_cycles += to.latency - from.latency;
        }
    }
}

impl Warp {
    /// The barrier at which all living lanes wait, if they do at the same.
    pub(crate) fn common_barrier(&self) -> Option<u32> {
        let mut barriers = self.parked.iter().map(|part| match part.waits {
            Some(Meeting::Barrier { index }) => Some(index),
            _ => None,
        });
        let first = barriers.next()??;
        barriers.all(|other| other == Some(first)).then_some(first)
    }

    /// Lets all lanes go on that wait at a barrier.
    pub(crate) fn leave_barrier(&mut self) {
        for part in &mut self.parked {
            part.waits = None;
        }
    }

    /// Why no lane can go on: the first that waits, and for whom. The current path becomes its path.
    pub(crate) fn stuck(&mut self) -> Box<Fault> {
        let alive = self.alive;
        let Some(part) = self.parked.front() else {
            let reason = "no lane of the warp is left to run";
            return Fault::of_warp(TrapKind::Misuse { reason });
        };
        self.path = part.path;
        let active = part.path.mask;
        match part.waits {
            Some(Meeting::Exchange { members, .. }) => Fault::at_lane(
                active.trailing_zeros(),
                TrapKind::AbsentLanes { members, active },
            ),
            _ => {
                self.path.pc = self.path.pc.saturating_sub(1);
                Fault::of_warp(TrapKind::DivergedBarrier {
                    arrived: active,
                    expected: alive,
                })
            }
        }
    }
}
