use std::time::Instant;

use pagemill_linux::clock;

use pagemill_types::random64;

use super::data::DataKind;
use crate::UNIT_BYTES;
use crate::config::Config;
use crate::core::PagerError;
use crate::counters::{Count, Counters};
use crate::pager::{Allocation, Pager};
use crate::store::Store;

/// The order in which a program touches its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By chance.
    Random,
    /// Ascending.
    Ascending,
}

/// How a program touches a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It reads a word.
    Read,
    /// It changes a word.
    Write,
}

/// A program that touches paged memory and does nothing else.
#[derive(Clone, Copy, Debug)]
pub struct FaultRun {
    /// Its memory.
    pub bytes: u64,
    /// What it writes there at first; `None`: nothing, and every fault makes a unit of zeros.
    pub data: Option<DataKind>,
    /// The order of its touches.
    pub order: Order,
    /// Their kind.
    pub touch: Touch,
    /// How many there are.
    pub touches: u64,
}

/// What the faults of one program cost.
#[derive(Clone, Copy, Debug)]
pub struct FaultCost {
    /// Faults.
    pub faults: u64,
    /// Units that became resident.
    pub units: u64,
    /// Units that were written to the store.
    pub written_units: u64,
    /// Pages that were evicted.
    pub evicted_pages: u64,
    /// CPU time of all threads, the kernel's part of them included.
    pub cpu_ns: u64,
    /// CPU time of the thread that touches.
    pub own_cpu_ns: u64,
    /// Time of the handlers from a fault to its end.
    pub service_ns: u64,
    /// Elapsed time.
    pub time_ns: u64,
}

impl FaultRun {
    /// Runs the program under a pager of its own. What it wrote at first has left its frames when the clock starts.
    ///
    /// # Errors
    /// There is no pager.
    pub fn cost(&self, config: &Config, store: Box<dyn Store>) -> Result<FaultCost, PagerError> {
        let costs = self.costs(config, store, 1)?;
        Ok(costs[0])
    }

    /// The same in `parts`, one after the other: on a loaded computer the least of short parts is nearer to the truth than their sum.
    ///
    /// # Errors
    /// There is no pager.
    pub fn costs(
        &self,
        config: &Config,
        store: Box<dyn Store>,
        parts: u64,
    ) -> Result<Vec<FaultCost>, PagerError> {
        let pager = Pager::start(config, store, Counters::new(None)?)?;
        let memory = pager.allocate(self.bytes)?;
        if let Some(data) = self.data {
            fill(&memory, self.bytes, data);
        }
        let touches = |part: u64| part * self.touches / parts..(part + 1) * self.touches / parts;
        let part = |part| {
            let before = Reading::of(&pager);
            self.touch(&memory, touches(part));
            Reading::of(&pager).since(&before)
        };
        Ok((0..parts).map(part).collect())
    }

    fn touch(&self, memory: &Allocation, touches: std::ops::Range<u64>) {
        let units = self.bytes / UNIT_BYTES as u64;
        let mut found = 0;
        for index in touches {
            let unit = match self.order {
                Order::Random => random64(0, index) % units,
                Order::Ascending => index % units,
            };
            let at = unit * UNIT_BYTES as u64;
            match self.touch {
                Touch::Read => found ^= memory.memory().read(at),
                Touch::Write => memory.memory().write(at, index | 1 << 63),
            }
        }
        std::hint::black_box(found);
    }
}

fn fill(memory: &Allocation, bytes: u64, data: DataKind) {
    for index in 0..bytes / 8 {
        memory.memory().write(index * 8, data.word(index));
    }
    let mut found = 0;
    for at in (0..bytes).step_by(UNIT_BYTES) {
        found ^= memory.memory().read(at);
    }
    std::hint::black_box(found);
}

struct Reading {
    counts: [u64; 5],
    cpu_ns: u64,
    own_cpu_ns: u64,
    time: Instant,
}

impl Reading {
    fn of(pager: &Pager) -> Self {
        let count = |count| pager.counters().get(count);
        Self {
            counts: [
                count(Count::ReadFaults) + count(Count::WriteFaults),
                count(Count::FetchedUnits) + count(Count::ZeroUnits),
                count(Count::WrittenUnits),
                count(Count::EvictedPages),
                count(Count::ServiceNs),
            ],
            cpu_ns: clock::process_cpu_ns(),
            own_cpu_ns: clock::thread_cpu_ns(),
            time: Instant::now(),
        }
    }

    fn since(&self, before: &Self) -> FaultCost {
        let count = |index: usize| self.counts[index] - before.counts[index];
        FaultCost {
            faults: count(0),
            units: count(1),
            written_units: count(2),
            evicted_pages: count(3),
            service_ns: count(4),
            cpu_ns: self.cpu_ns - before.cpu_ns,
            own_cpu_ns: self.own_cpu_ns - before.own_cpu_ns,
            time_ns: (self.time - before.time).as_nanos() as u64,
        }
    }
}
