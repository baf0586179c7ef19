//! One memory partition: its port to the interconnect, its slice of L2, its DRAM channel.

use crate::gpu::machine::{GpuMachine, Memory, WriteBursts};
use crate::gpu::{ALL_SECTORS, SECTOR_SHIFT, SEGMENT_SHIFT};
use pagemill_pages::parts::cache::{Cache, CacheCounts, Lookup};
use pagemill_pages::parts::dram::{DramChannel, DramCounts};
use pagemill_pages::parts::ports::Port;
use pagemill_pages::parts::throughput::Throughput;
use pagemill_types::Picos;

/// What is behind the cache.
#[derive(Debug)]
enum Backing {
    Channel(DramChannel),
    Rate(Rate),
}

/// Memory with a rate and a latency.
#[derive(Debug)]
struct Rate {
    wire: Throughput,
    latency: Picos,
    line_bytes: u32,
    counts: DramCounts,
    writes: Option<WriteBursts>,
    /// Lines gathered for the next burst of writes.
    gathered: u32,
    /// Whether the bus has read since its last burst of writes.
    has_read: bool,
}

impl Rate {
    #[inline]
    fn read(&mut self, at: Picos, bytes: u64) -> Picos {
        self.counts.bytes += bytes;
        self.has_read = true;
        self.wire.book(at, bytes) + self.latency
    }

    /// No request waits for a write, but reads wait for the bus while it writes. Returns when the slice may go on to gather.
    fn write(&mut self, at: Picos) -> Picos {
        let bytes = u64::from(self.line_bytes);
        let Some(burst) = self.writes else {
            self.read(at, bytes);
            return at;
        };
        self.counts.bytes += bytes;
        self.gathered += 1;
        // A bus of memory is turned between reads and writes, and idles meanwhile: a controller gathers lines, so that many
        // share a turn. The lines of a burst that is not full yet take no time, which is less than a burst for each slice.
        if self.gathered < burst.lines {
            return at;
        }
        self.gathered = 0;
        if std::mem::take(&mut self.has_read) || !burst.hold_stores {
            self.wire.pause(at, burst.turn_round);
        }
        // One burst is gathered while the one before is written: stores cannot run ahead of memory by more.
        let begins = self.wire.free_at().max(at);
        self.wire.book(at, bytes * u64::from(burst.lines));
        if burst.hold_stores { begins } else { at }
    }
}

impl Backing {
    fn new(machine: &GpuMachine) -> Self {
        let line_bytes = machine.l2.line_bytes;
        match &machine.memory {
            Memory::Channels { dram, .. } => Self::Channel(DramChannel::new(dram, line_bytes)),
            Memory::Rate {
                bandwidth,
                latency,
                slices,
                writes,
            } => {
                // The latency of a whole read; two crossings and the look-up in the cache are counted where they happen, as is
                // the way between halves of the cache, which every other read takes.
                let before = 2 * u64::from(machine.interconnect.latency_cycles)
                    + u64::from(machine.l2.hit_latency_cycles)
                    + u64::from(machine.l2_far_cycles / 2);
                Self::Rate(Rate {
                    wire: Throughput::per_second(bandwidth.bytes_per_second() / u64::from(*slices)),
                    latency: latency.saturating_since(machine.l2_clock.cycles(before)),
                    line_bytes,
                    counts: DramCounts::default(),
                    writes: *writes,
                    gathered: 0,
                    has_read: false,
                })
            }
        }
    }

    #[inline]
    fn read(&mut self, at: Picos, address: u64, bytes: u64) -> Picos {
        match self {
            Self::Channel(dram) => dram.access(at, address),
            Self::Rate(rate) => rate.read(at, bytes),
        }
    }

    /// Returns when the slice may go on to write.
    #[inline]
    fn write(&mut self, at: Picos, address: u64) -> Picos {
        match self {
            Self::Channel(dram) => {
                dram.access(at, address);
                at
            }
            Self::Rate(rate) => rate.write(at),
        }
    }

    fn counts(&self) -> DramCounts {
        match self {
            Self::Channel(dram) => dram.counts(),
            Self::Rate(rate) => rate.counts,
        }
    }
}

/// A memory partition, asked in the order requests arrive at it.
#[derive(Debug)]
pub(crate) struct PartitionSlice {
    port: Port,
    /// Of what stores bring, where it does not share the way of what loads get.
    store_port: Option<Port>,
    cache: Cache,
    memory: Backing,
    line_busy: Picos,
    /// As `line_busy`, of these sectors of a line.
    load_busy: [Picos; 16],
    /// Sectors that a miss brings together; all of a line where none are told apart.
    fetched: u32,
    cycle: Picos,
    hit_latency: Picos,
    /// Further, for a line that the SM's half of the cache has no copy of.
    far_latency: Picos,
    /// Loads that found no copy here, which their home counts.
    copies_missed: u64,
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
            store_port: machine
                .interconnect
                .store_bytes_per_cycle
                .map(|_| Port::default()),
            cache: Cache::new(&machine.l2).with_dirty_ways(machine.l2_dirty_ways),
            memory: Backing::new(machine),
            line_busy: clock.cycles(u64::from(line_cycles)),
            load_busy: std::array::from_fn(|sectors| load_busy(machine, sectors.count_ones())[1]),
            fetched: machine
                .l2_fetch_bytes
                .map_or(SECTORS, |bytes| bytes >> SECTOR_SHIFT),
            cycle: clock.cycles(1),
            hit_latency: clock.cycles(u64::from(machine.l2.hit_latency_cycles)),
            far_latency: clock.cycles(u64::from(machine.l2_far_cycles)),
            copies_missed: 0,
        }
    }

    /// Reads sectors of a line; returns when their data leaves.
    #[inline]
    pub(crate) fn load(&mut self, at: Picos, line: u64, sectors: u8) -> Picos {
        let start = self.answer(at, sectors);
        self.load_from(start, line, sectors)
    }

    /// Reads sectors of a line whose home is the slice across, for an SM of this half, which keeps a copy.
    pub(crate) fn load_copy(
        &mut self,
        at: Picos,
        line: u64,
        sectors: u8,
        home: &mut Self,
    ) -> Picos {
        let mut start = self.answer(at, sectors);
        loop {
            match self.look_up(start, line | COPY, sectors) {
                Lookup::Hit(data_at) => return data_at.max(start + self.hit_latency),
                Lookup::Miss(miss) => {
                    self.copies_missed += 1;
                    let data_at = home.load(start, line, miss.sectors) + self.far_latency;
                    self.cache.fill(miss, data_at);
                    self.write_back(start + self.hit_latency, miss.writeback);
                    return data_at;
                }
                Lookup::Blocked(free_at) => start = self.stall(free_at),
            }
        }
    }

    /// When the port begins to answer with sectors of a line.
    #[inline]
    fn answer(&mut self, at: Picos, sectors: u8) -> Picos {
        let busy = self.load_busy[usize::from(sectors & ALL_SECTORS)];
        self.port.book(at, busy)
    }

    #[inline]
    fn look_up(&mut self, at: Picos, line: u64, sectors: u8) -> Lookup {
        match self.fetched {
            SECTORS => self.cache.load(at, line),
            _ => self.cache.load_parts(at, line, sectors),
        }
    }

    /// A copy engine or a fill has written a line.
    pub(crate) fn place(&mut self, at: Picos, line: u64, is_dirty: bool) {
        self.cache.place(at, line, is_dirty);
    }

    /// Changes words in sectors of a line in place for `cycles`; returns when the old data leaves.
    pub(crate) fn atomic(&mut self, at: Picos, line: u64, sectors: u8, cycles: u32) -> Picos {
        let changing = Picos(self.cycle.0 * u64::from(cycles));
        let start = self.port.book(at, self.line_busy.max(changing));
        let data = self.load_from(start, line, sectors);
        let changed = data + changing;
        let writeback = self.cache.change_in_place(line);
        self.write_back(changed, writeback);
        changed
    }

    /// Writes sectors of a line, which takes the port for `busy`; returns when the slice has taken them.
    #[inline]
    pub(crate) fn store(&mut self, at: Picos, line: u64, sectors: u8, busy: Picos) -> Picos {
        let written = match self.fetched {
            SECTORS => ALL_SECTORS,
            _ => sectors,
        };
        let port = self.store_port.as_mut().unwrap_or(&mut self.port);
        let mut start = port.book(at, busy);
        loop {
            match self.cache.store_back_sectors(start, line, written) {
                Ok(writeback) => {
                    let done = start + self.hit_latency;
                    let goes_on = self.write_back(done, writeback);
                    let port = self.store_port.as_mut().unwrap_or(&mut self.port);
                    port.stall_until(goes_on.saturating_since(self.hit_latency));
                    return done;
                }
                Err(free_at) => start = self.stall(free_at),
            }
        }
    }

    #[inline]
    fn load_from(&mut self, mut start: Picos, line: u64, sectors: u8) -> Picos {
        loop {
            match self.look_up(start, line, sectors) {
                Lookup::Hit(data_at) => return data_at.max(start + self.hit_latency),
                Lookup::Miss(miss) => {
                    let missed = start + self.hit_latency;
                    let fetched = together(miss.sectors, self.fetched);
                    self.cache.bring_along(start, &miss, fetched);
                    let bytes = u64::from(fetched.count_ones()) << SECTOR_SHIFT;
                    let data_at = self.memory.read(missed, line << SEGMENT_SHIFT, bytes);
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
    fn write_back(&mut self, at: Picos, line: Option<u64>) -> Picos {
        line.map_or(at, |line| self.memory.write(at, line << SEGMENT_SHIFT))
    }

    /// Asks for what is known of `line` before it is looked up.
    #[inline]
    pub(crate) fn warm(&self, line: u64) {
        self.cache.warm(line);
    }

    pub(crate) fn capacity_lines(&self) -> usize {
        self.cache.capacity_lines()
    }

    /// As `warm`, of a copy.
    #[inline]
    pub(crate) fn warm_copy(&self, line: u64) {
        self.cache.warm(line | COPY);
    }

    pub(crate) fn forget(&mut self, line: u64) {
        self.cache.invalidate(line);
    }

    #[inline]
    pub(crate) fn forget_copy(&mut self, line: u64) {
        self.cache.invalidate(line | COPY);
    }

    /// Forgets lines by number, and whether they are copies of those of the slice across.
    pub(crate) fn forget_where(&mut self, condemned: impl Fn(u64, bool) -> bool) {
        self.cache
            .invalidate_where(|tag| condemned(tag & !COPY, tag & COPY != 0));
    }

    /// Each load once: where its line has a home.
    pub(crate) fn counts(&self) -> (CacheCounts, DramCounts) {
        let mut counts = self.cache.counts();
        counts.load_misses -= self.copies_missed;
        (counts, self.memory.counts())
    }
}

/// Added to the number of a line, which is far below: a copy of that line of the slice across.
const COPY: u64 = 1 << 60;

/// Sectors of a line.
const SECTORS: u32 = ALL_SECTORS.count_ones();

/// `sectors`, and those of their line that are fetched with them.
fn together(sectors: u8, fetched: u32) -> u8 {
    match fetched {
        1 => sectors,
        // The lower sector's bit stands for its pair, and times three is both: 0b0110 becomes 0b0101, then 0b1111.
        2 => ((sectors | sectors >> 1) & 0b0101) * 0b11,
        _ => ALL_SECTORS,
    }
}

/// For how long a load of some sectors takes what its SM gets, and the port of its partition.
pub(crate) fn load_busy(machine: &GpuMachine, sectors: u32) -> [Picos; 2] {
    let interconnect = &machine.interconnect;
    let clock = machine.l2_clock;
    let rates = [
        interconnect.sm_bytes_per_cycle,
        interconnect.bytes_per_cycle,
    ];
    let Some(least) = interconnect.answer_cycles else {
        return rates.map(|rate| {
            let cycles = machine.l1.line_bytes.div_ceil(rate.max(1));
            clock.cycles(cycles.into())
        });
    };
    // A sector alone takes an answer's least time all the same: what an SM gets is bounded by answers, and by bytes.
    let bytes = sectors.max(1) << SECTOR_SHIFT;
    let [answer, port] =
        rates.map(|rate| Picos(clock.cycles(bytes.into()).0 / u64::from(rate.max(1))));
    [answer.max(clock.cycles(least.into())), port]
}

/// For how long a store of some sectors takes the way out of its SM, and the port of its partition.
pub(crate) fn store_busy(machine: &GpuMachine, sectors: u32) -> [Picos; 2] {
    let interconnect = &machine.interconnect;
    let cycles =
        |bytes: u32, rate: u32| machine.l2_clock.cycles(bytes.div_ceil(rate.max(1)).into());
    let line = cycles(machine.l1.line_bytes, interconnect.bytes_per_cycle);
    let Some(rate) = interconnect.store_bytes_per_cycle else {
        return [line; 2];
    };
    let bytes = sectors.max(1) << SECTOR_SHIFT;
    // A port that takes sectors one after the other has no cycles of whole lines.
    let port = machine.l2_clock.cycles(bytes.into()).0 / u64::from(rate.max(1));
    let way_out = match interconnect.sm_stores {
        Some(way) => {
            let packet = machine.l2_clock.cycles((bytes + way.header_bytes).into());
            Picos(packet.0 / u64::from(way.bytes_per_cycle.max(1)))
        }
        None => cycles(bytes, interconnect.bytes_per_cycle),
    };
    [way_out, Picos(port)]
}

#[cfg(test)]
mod tests;
