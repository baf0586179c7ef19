//! Where the mode's strategy puts managed memory before the first launch that comes after its allocation.

use std::ops::Range;

use pagemill_policy::residency::{Call, Placement};

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::host::device::{Buffer, Gpu};
use pagemill_types::Picos;

impl Gpu {
    /// Makes the calls of the mode's strategy for managed memory that it has said nothing of yet, one after the other from `at`
    /// on: each over all of that memory. Returns when all are done.
    pub(in crate::gpu) fn place_data(&mut self, at: Picos) -> Picos {
        let (start, end) = (self.placed_address, self.next_address);
        match self.take_placement(end - start) {
            Some(placement) => self.timing_model.place(at, start, &placement),
            None => at,
        }
    }

    /// Whether there is managed memory that the mode's strategy has said nothing of yet.
    pub fn has_unplaced(&self) -> bool {
        self.placed_address < self.next_address
    }

    /// The calls that a program makes so that the mode's strategy says something of `buffers`, one allocation after another;
    /// offsets are from the start of each. The buffers are dealt out as if nothing lay between them. After this, the strategy
    /// has nothing to say of any managed memory that there is now.
    pub fn take_placement_calls(&mut self, buffers: &[Buffer]) -> Vec<(Buffer, Call)> {
        let start = self.placed_address;
        let new = |buffer: &&Buffer| buffer.address.0 >= start;
        let new: Vec<Buffer> = buffers.iter().filter(new).copied().collect();
        let sizes: Vec<(u64, u64)> = new
            .iter()
            .map(|buffer| (self.footprint(buffer.bytes), buffer.bytes))
            .collect();
        let total = sizes.iter().map(|(footprint, _)| footprint).sum();
        let placement = self.take_placement(total);
        let calls = placement.map_or_else(Vec::new, |placement| {
            self.timing_model.placement_calls(&placement)
        });
        let divided = divide(&calls, &sizes);
        let of_buffer = |(at, call)| (new[at], call);
        divided.into_iter().map(of_buffer).collect()
    }

    /// What the strategy has to know of `allocation_bytes`, after which all managed memory counts as placed. `None` where there
    /// is nothing to place.
    fn take_placement(&mut self, allocation_bytes: u64) -> Option<Placement> {
        let start = self.placed_address;
        self.placed_address = self.next_address;
        let stripe_bytes = self.timing_model.stripe_bytes()?;
        if allocation_bytes == 0 || !self.options.timing {
            return None;
        }
        let gpu_bytes = self.memory_bytes.unwrap_or(u64::MAX);
        // Memory that was placed before counts as taken: the strategy divided it with this in mind.
        let taken = self.fixed_bytes.saturating_add(start - MANAGED_BASE);
        Some(Placement {
            allocation_bytes,
            gpu_bytes: gpu_bytes.saturating_sub(taken),
            stripe_bytes,
        })
    }
}

/// `calls` as calls for allocations that lie one after the other, each with the bytes from its start to the next and its own
/// bytes: the number of the allocation, and the part of the call in it.
fn divide(calls: &[Call], sizes: &[(u64, u64)]) -> Vec<(usize, Call)> {
    let mut divided = Vec::new();
    let mut start = 0;
    for (number, &(footprint, bytes)) in sizes.iter().enumerate() {
        for call in calls {
            let bytes = within(&call.bytes, start, bytes);
            if !bytes.is_empty() {
                let action = call.action;
                divided.push((number, Call { bytes, action }));
            }
        }
        start += footprint;
    }
    divided
}

/// The part of `range` within `bytes` from `start`, as offsets from there.
fn within(range: &Range<u64>, start: u64, bytes: u64) -> Range<u64> {
    let offset = |at: u64| at.saturating_sub(start).min(bytes);
    offset(range.start)..offset(range.end)
}

#[cfg(test)]
mod tests;
