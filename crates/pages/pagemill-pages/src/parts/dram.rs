//! One DRAM channel: banks with an open row each, one data bus.
//!
//! Bus time is booked in the order requests come, not in the order banks are ready: a memory controller serves ready
//! banks first, so a bank that opens a row holds no other up.

use super::ports::Port;
use pagemill_types::{Bandwidth, Clock, Picos};
use serde::{Deserialize, Serialize};

/// What one channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramSpec {
    /// Command clock, which the cycle counts below refer to.
    pub clock: Clock,
    /// Bandwidth of all channels together.
    pub bandwidth: Bandwidth,
    /// Channels; also the number of memory partitions.
    pub channels: u32,
    /// Banks of a channel, a power of two.
    pub banks: u32,
    /// Bytes of an open row, a power of two.
    pub row_bytes: u32,
    /// Column access: command to first data (CL).
    pub column_cycles: u32,
    /// Activate to column command (tRCD).
    pub activate_cycles: u32,
    /// Precharge (tRP).
    pub precharge_cycles: u32,
    /// Shortest time between two activates of one bank (tRC).
    pub row_cycle_cycles: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open_row: Option<u64>,
    command_at: Picos,
    next_activate_at: Picos,
}

/// Counts of one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramCounts {
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Accesses that had to open their row.
    pub row_misses: u64,
    /// Bytes moved over the data bus.
    pub bytes: u64,
}

/// The state of one channel.
#[derive(Clone, Debug)]
pub struct DramChannel {
    banks: Vec<Bank>,
    bus: Port,
    counts: DramCounts,
    row_shift: u32,
    bank_shift: u32,
    burst_bytes: u32,
    burst: Picos,
    column: Picos,
    activate: Picos,
    precharge: Picos,
    row_cycle: Picos,
}

impl DramChannel {
    /// An idle channel with closed rows, whose accesses each move `burst_bytes`.
    pub fn new(spec: &DramSpec, burst_bytes: u32) -> Self {
        let channels = u64::from(spec.channels.max(1));
        // One channel has its share of the bandwidth: the burst takes as long as all its equals in all channels.
        let burst = spec.bandwidth.time_for(u64::from(burst_bytes) * channels);
        let cycles = |count: u32| spec.clock.cycles(u64::from(count));
        Self {
            banks: vec![Bank::default(); spec.banks.max(1) as usize],
            bus: Port::default(),
            counts: DramCounts::default(),
            row_shift: spec.row_bytes.max(1).trailing_zeros(),
            bank_shift: spec.banks.max(1).trailing_zeros(),
            burst_bytes,
            burst,
            column: cycles(spec.column_cycles),
            activate: cycles(spec.activate_cycles),
            precharge: cycles(spec.precharge_cycles),
            row_cycle: cycles(spec.row_cycle_cycles),
        }
    }

    /// Moves one burst at byte `offset` of this channel, asked for at `at`; returns when its last byte has moved.
    #[inline]
    pub fn access(&mut self, at: Picos, offset: u64) -> Picos {
        let row_index = offset >> self.row_shift;
        let row = row_index >> self.bank_shift;
        // Banks are permuted from row to row, so that strides of a power of two do not meet in one bank.
        let bank = &mut self.banks[((row_index ^ row) & ((1 << self.bank_shift) - 1)) as usize];
        let slot = self.bus.book(at + self.column, self.burst);
        let mut command = at.max(bank.command_at);
        if bank.open_row == Some(row) {
            self.counts.row_hits += 1;
        } else {
            self.counts.row_misses += 1;
            let closed = if bank.open_row.is_some() {
                command + self.precharge
            } else {
                command
            };
            let activate = closed.max(bank.next_activate_at);
            bank.next_activate_at = activate + self.row_cycle;
            bank.open_row = Some(row);
            command = activate + self.activate;
        }
        // Column commands follow each other at the rate of the bus.
        bank.command_at = command + self.burst;
        self.counts.bytes += u64::from(self.burst_bytes);
        slot.max(command + self.column) + self.burst
    }

    /// What was counted.
    pub fn counts(&self) -> DramCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests;
