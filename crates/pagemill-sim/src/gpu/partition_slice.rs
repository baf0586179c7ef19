//! One memory partition: its port to the interconnect, its slice of L2, its DRAM channel.

use super::SEGMENT_SHIFT;
use super::machine::GpuMachine;
use crate::parts::cache::{Cache, CacheCounts, Lookup};
use crate::parts::dram::{DramChannel, DramCounts};
use crate::parts::ports::Port;
use pagemill_types::Picos;

/// A memory partition, asked in the order requests arrive at it.
#[derive(Debug)]
pub(crate) struct PartitionSlice {
    port: Port,
    cache: Cache,
    dram: DramChannel,
    line_busy: Picos,
    cycle: Picos,
    hit_latency: Picos,
}

impl PartitionSlice {
    pub(crate) fn new(machine: &GpuMachine) -> Self {
        let clock = machine.l2_clock;
        let line_cycles = machine
            .l2
            .line_bytes
            .div_ceil(machine.interconnect.bytes_per_cycle);
        Self {
            port: Port::default(),
            cache: Cache::new(&machine.l2),
            dram: DramChannel::new(&machine.dram, machine.l2.line_bytes),
            line_busy: clock.cycles(u64::from(line_cycles)),
            cycle: clock.cycles(1),
            hit_latency: clock.cycles(u64::from(machine.l2.hit_latency_cycles)),
        }
    }

    /// Reads a line; returns when its data leaves.
    #[inline]
    pub(crate) fn load(&mut self, at: Picos, line: u64) -> Picos {
        let start = self.port.book(at, self.line_busy);
        self.load_from(start, line)
    }

    /// Changes `lanes` words of a line in place, one a cycle; returns when the old data leaves.
    pub(crate) fn atomic(&mut self, at: Picos, line: u64, lanes: u32) -> Picos {
        let changing = Picos(self.cycle.0 * u64::from(lanes));
        let start = self.port.book(at, self.line_busy.max(changing));
        let data = self.load_from(start, line);
        self.cache.mark_dirty(line);
        data + changing
    }

    /// Writes a line or part of it; returns when the slice has taken it.
    #[inline]
    pub(crate) fn store(&mut self, at: Picos, line: u64) -> Picos {
        let mut start = self.port.book(at, self.line_busy);
        loop {
            match self.cache.store_back(start, line) {
                Ok(writeback) => {
                    let done = start + self.hit_latency;
                    self.write_back(done, writeback);
                    return done;
                }
                Err(free_at) => start = self.stall(free_at),
            }
        }
    }

    #[inline]
    fn load_from(&mut self, mut start: Picos, line: u64) -> Picos {
        loop {
            match self.cache.load(start, line) {
                Lookup::Hit(data_at) => return data_at.max(start + self.hit_latency),
                Lookup::Miss(miss) => {
                    let missed = start + self.hit_latency;
                    let data_at = self.dram.access(missed, line << SEGMENT_SHIFT);
                    self.cache.fill(miss, data_at);
                    self.write_back(missed, miss.writeback);
                    return data_at;
                }
                Lookup::Blocked(free_at) => start = self.stall(free_at),
            }
        }
    }

    /// The slice works in order: a request that cannot go on holds up those behind it.
    fn stall(&mut self, free_at: Picos) -> Picos {
        self.port.stall_until(free_at + self.line_busy);
        free_at
    }

    #[inline]
    fn write_back(&mut self, at: Picos, line: Option<u64>) {
        if let Some(line) = line {
            self.dram.access(at, line << SEGMENT_SHIFT);
        }
    }

    pub(crate) fn cache_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }

    pub(crate) fn counts(&self) -> (CacheCounts, DramCounts) {
        (self.cache.counts(), self.dram.counts())
    }
}
