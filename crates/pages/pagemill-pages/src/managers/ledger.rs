//! What moved for each allocation. Counted where pages move, and not where they are used.

use std::ops::Range;

use pagemill_types::Picos;
use serde::{Deserialize, Serialize};

/// What moved for one allocation of managed memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Pages of 4 KiB that faults asked a driver for; ranges that were moved on demand where the GPU moves them by itself.
    pub faults: u64,
    /// Times that a driver served a block of it.
    pub services: u64,
    /// Batches of faults in which it was served.
    pub batches: u64,
    /// Bytes moved from CPU to GPU.
    pub migrated_bytes: u64,
    /// Those of `migrated_bytes` that had been moved to the GPU before.
    pub repeated_bytes: u64,
    /// Bytes allocated in GPU memory at their first touch.
    pub populated_bytes: u64,
    /// Bytes moved from GPU to CPU.
    pub returned_bytes: u64,
    /// Bytes that left the GPU without a copy.
    pub dropped_bytes: u64,
    /// Bytes that the GPU used in CPU memory, in segments of 128 bytes.
    pub remote_bytes: u64,
    /// Bytes of GPU memory that the CPU used where they are.
    pub host_remote_bytes: u64,
    /// Pages moved out to make room, in the page manager's pages.
    pub evictions: u64,
    /// The launch that it first moved for or was used in place by, counted from 0.
    pub first_launch: Option<u32>,
    /// Launches during which it moved or was used in place.
    pub launches: u32,
    /// The last of them.
    last_launch: Option<u32>,
    /// The last batch that it was served in.
    last_batch: Option<u64>,
}

/// What happened for the accesses of an instruction, or of a line of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineAccount {
    /// What moved. Evictions are counted at the line that needed the room.
    pub traffic: Traffic,
    /// Look-ups that found no translation.
    pub tlb_misses: u64,
    /// Time that warps stood still for results of it, summed over warps.
    pub waiting: Picos,
}

impl LineAccount {
    /// Whether nothing happened.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another instruction or launch of the same line.
    pub fn add(&mut self, other: &Self) {
        self.traffic.add(&other.traffic);
        self.tlb_misses += other.tlb_misses;
        self.waiting += other.waiting;
    }
}

/// What happened for a line of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineReport {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// What happened.
    pub account: LineAccount,
}

/// An allocation of managed memory and what moved for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationReport {
    /// Size in bytes.
    pub bytes: u64,
    /// What moved.
    pub traffic: Traffic,
}

/// What rows, page maps and advice call the allocation that the program made as its `number`th, from 1.
pub fn managed_name(number: usize) -> String {
    format!("managed #{number}")
}

impl Traffic {
    /// Bytes that crossed the link, either way.
    pub fn link_bytes(&self) -> u64 {
        self.migrated_bytes + self.returned_bytes + self.remote_bytes + self.host_remote_bytes
    }

    fn note_launch(&mut self, launch: u32) {
        self.first_launch.get_or_insert(launch);
        if self.last_launch.replace(launch) != Some(launch) {
            self.launches += 1;
        }
    }

    /// Adds what moved for another allocation of the same kind.
    pub fn add(&mut self, other: &Self) {
        self.faults += other.faults;
        self.services += other.services;
        self.batches += other.batches;
        self.migrated_bytes += other.migrated_bytes;
        self.repeated_bytes += other.repeated_bytes;
        self.populated_bytes += other.populated_bytes;
        self.returned_bytes += other.returned_bytes;
        self.dropped_bytes += other.dropped_bytes;
        self.remote_bytes += other.remote_bytes;
        self.host_remote_bytes += other.host_remote_bytes;
        self.evictions += other.evictions;
        // Both may have moved in the same launch, so the numbers do not add up: at least the larger one is right.
        self.launches = self.launches.max(other.launches);
        let earlier = match (self.first_launch, other.first_launch) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.first_launch = earlier;
    }
}

/// The account of all allocations, by address.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// First address and what moved, ascending: addresses are never used again.
    accounts: Vec<(u64, AllocationReport)>,
    /// The account that was asked for last.
    recent: usize,
    /// The launch that runs.
    launch: Option<u32>,
    /// What happened for each instruction of the launch. Empty where lines are not known.
    lines: Vec<LineAccount>,
    /// The instruction whose request is at work.
    origin: u32,
}

impl Ledger {
    /// An allocation at addresses beyond all others.
    pub fn open(&mut self, addresses: Range<u64>) {
        let report = AllocationReport {
            bytes: addresses.end - addresses.start,
            traffic: Traffic::default(),
        };
        self.accounts.push((addresses.start, report));
    }

    /// The account of the allocation at or before `address`; `None` where there is no allocation yet.
    #[inline]
    pub fn at(&mut self, address: u64) -> Option<&mut Traffic> {
        let holds =
            // Below the start the difference wraps to more than any size, so one comparison looks at both ends.
            |&(start, report): &(u64, AllocationReport)| address.wrapping_sub(start) < report.bytes;
        if !self.accounts.get(self.recent).is_some_and(holds) {
            let after = self
                .accounts
                .partition_point(|(start, _)| *start <= address);
            self.recent = after.checked_sub(1)?;
        }
        let traffic = &mut self.accounts.get_mut(self.recent)?.1.traffic;
        if let Some(launch) = self.launch {
            traffic.note_launch(launch);
        }
        Some(traffic)
    }

    /// Adds to the account of the allocation at `address`, and to that of the instruction whose request is at work.
    #[inline]
    pub fn book(&mut self, address: u64, add: impl Fn(&mut Traffic)) {
        if let Some(traffic) = self.at(address) {
            add(traffic);
        }
        if let Some(line) = self.lines.get_mut(self.origin as usize) {
            add(&mut line.traffic);
        }
    }

    /// A launch of `instructions` instructions begins, each with an account of its own; 0 for no such accounts.
    pub fn follow_lines(&mut self, instructions: usize) {
        self.lines.clear();
        self.lines.resize(instructions, LineAccount::default());
    }

    /// The accounts of the launch's instructions, which ends.
    pub fn take_lines(&mut self) -> Vec<LineAccount> {
        std::mem::take(&mut self.lines)
    }

    /// A request of `instruction` is at work from now on.
    #[inline]
    pub fn set_origin(&mut self, instruction: u32) {
        self.origin = instruction;
    }

    /// A look-up of the request at work found no translation.
    #[inline]
    pub fn missed_translation(&mut self) {
        if let Some(line) = self.lines.get_mut(self.origin as usize) {
            line.tlb_misses += 1;
        }
    }

    /// `instruction` faulted on a page that no earlier fault of its batch names.
    pub fn faulted(&mut self, instruction: u32) {
        if let Some(line) = self.lines.get_mut(instruction as usize) {
            line.traffic.faults += 1;
        }
    }

    /// The driver serves `faults` pages of the block at `address`, in its batch number `batch`.
    pub fn served(&mut self, address: u64, faults: u64, batch: u64) {
        let Some(traffic) = self.at(address) else {
            return;
        };
        traffic.faults += faults;
        traffic.services += 1;
        // Batches have ascending numbers: a block of another allocation in between does not make the same batch a new one.
        if traffic.last_batch.replace(batch) != Some(batch) {
            traffic.batches += 1;
        }
    }

    /// The GPU uses `bytes` at `address` in CPU memory.
    #[inline]
    pub fn remote(&mut self, address: u64, bytes: u64) {
        self.book(address, |traffic| traffic.remote_bytes += bytes);
    }

    /// Launch number `launch` runs from now on; none if that is `None`.
    pub fn set_launch(&mut self, launch: Option<u32>) {
        self.launch = launch;
    }

    /// What moved for each allocation, in their order.
    pub fn reports(&self) -> Vec<AllocationReport> {
        self.accounts.iter().map(|(_, report)| *report).collect()
    }
}

#[cfg(test)]
mod tests;
