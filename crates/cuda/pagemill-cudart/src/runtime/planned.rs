//! Hints of a plan and placements of all memory, given as the program itself would give them.

use std::collections::BTreeSet;

use pagemill_pages::hints::{Action, Side};
use pagemill_sim::Buffer;

use super::Runtime;
use super::memory::Kind;
use super::streams::StreamId;
use crate::error::Fault;
use pagemill_wire::{Hint, Plan, Sites, Stack};

/// A plan and what was seen of the program so far.
pub(super) struct Planned {
    plan: Plan,
    sites: Sites,
    /// For each site, how many allocations it has made.
    made: Vec<usize>,
    /// Addresses of allocations with hints.
    hinted: BTreeSet<u64>,
    /// Launches to come, with the addresses that are copied to the GPU before them.
    prefetches: Vec<(u32, u64)>,
    /// The stack of the launch that is being made.
    launching: Option<u32>,
}

impl Planned {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            sites: Sites::default(),
            made: Vec::new(),
            hinted: BTreeSet::new(),
            prefetches: Vec::new(),
            launching: None,
        }
    }

    /// Takes note of a new allocation; answers with the calls to make for it.
    fn allocated(&mut self, address: u64, stack: Stack) -> Vec<Action> {
        let key = stack.key();
        let site = self.sites.number(stack);
        self.sites.allocations.push(site);
        let place = site as usize;
        if self.made.len() <= place {
            self.made.resize(place + 1, 0);
        }
        let number = self.made[place];
        self.made[place] += 1;
        let mut actions = Vec::new();
        for hint in self.plan.of(key) {
            self.hinted.insert(address);
            match hint {
                Hint::LeaveAlone => {}
                Hint::ReadMostly => actions.push(Action::ReadMostly),
                Hint::PreferGpu => actions.push(Action::PreferredLocation(Side::Gpu)),
                Hint::StayOnCpu => {
                    actions.push(Action::PreferredLocation(Side::Cpu));
                    actions.push(Action::AccessedByGpu);
                }
                Hint::Prefetch(launches) => {
                    let launch = launches.get(number).copied().flatten();
                    self.prefetches
                        .extend(launch.map(|launch| (launch, address)));
                }
            }
        }
        actions
    }
}

impl Runtime {
    /// Takes note of where the allocation at `address` was made, and gives the hints that are planned for it.
    ///
    /// # Errors
    /// As [`Runtime::advise`].
    pub fn note_allocation(
        &mut self,
        address: u64,
        stack: impl FnOnce() -> Stack,
    ) -> Result<(), Fault> {
        let Some(planned) = &mut self.planned else {
            return Ok(());
        };
        let actions = planned.allocated(address, stack());
        let (_, bytes) = self.device.allocation(address).unwrap_or_default();
        for action in actions {
            self.advise(address, bytes, action)?;
        }
        Ok(())
    }

    /// Takes note of where the next launch is made.
    pub fn note_launch(&mut self, stack: impl FnOnce() -> Stack) {
        if let Some(planned) = &mut self.planned {
            let number = planned.sites.number(stack());
            planned.launching = Some(number);
        }
    }

    /// Makes the calls of a placement of all memory before the next launch in `stream`, for each allocation that is new and has
    /// no hints of its own.
    pub(super) fn place_memory(&mut self, stream: StreamId) -> Result<(), Fault> {
        if !self.device.gpu.has_unplaced() {
            return Ok(());
        }
        let hinted = self.planned.as_ref().map(|planned| &planned.hinted);
        let buffers = self.device.blocks.iter().filter_map(|(address, block)| {
            let has_hints = hinted.is_some_and(|hinted| hinted.contains(address));
            match block.kind {
                Kind::Managed(buffer, _) if !has_hints => Some(buffer),
                _ => None,
            }
        });
        let buffers: Vec<Buffer> = buffers.collect();
        for (buffer, call) in self.device.gpu.take_placement_calls(&buffers) {
            let address = buffer.address.0 + call.bytes.start;
            let bytes = call.bytes.end - call.bytes.start;
            match call.action {
                Action::Prefetch(side) => {
                    self.prefetch(address, bytes, side == Side::Gpu, stream)?;
                }
                action => self.advise(address, bytes, action)?,
            }
        }
        Ok(())
    }

    /// Copies to the GPU what is planned before the next launch in `stream`.
    pub(super) fn prefetch_planned(&mut self, stream: StreamId) -> Result<(), Fault> {
        let Some(planned) = &mut self.planned else {
            return Ok(());
        };
        let launch = planned.sites.launches.len() as u32;
        let (now, later) = std::mem::take(&mut planned.prefetches)
            .into_iter()
            .partition(|(before, _)| *before == launch);
        planned.prefetches = later;
        let now: Vec<(u32, u64)> = now;
        for (_, address) in now {
            // It may have been freed.
            if let Some((start, bytes)) = self
                .device
                .allocation(address)
                .filter(|(start, _)| *start == address)
            {
                self.prefetch(start, bytes, true, stream)?;
            }
        }
        Ok(())
    }

    /// Takes note that a launch has come to its end.
    pub(super) fn note_launched(&mut self) {
        if let Some(planned) = &mut self.planned {
            let site = planned.launching.take();
            planned.sites.launches.push(site);
        }
    }

    /// Where allocations and launches were made, if there is a plan.
    pub fn sites(&self) -> Option<Sites> {
        self.planned.as_ref().map(|planned| planned.sites.clone())
    }
}
