use pagemill_types::Picos;

use super::machine::SharedCacheMachine;
use super::report::CacheUse;
use crate::parts::cache::{Cache, Lookup, Miss};
use crate::parts::ports::Port;

/// The caches of all cores, the one that they share, and the bus behind it. Least recently used goes first everywhere.
///
/// A line that leaves a first cache changed makes its copy in the shared cache a changed one; where there is none it
/// goes to memory.
#[derive(Debug)]
pub struct Hierarchy {
    l1: Vec<Cache>,
    l2: Cache,
    /// What the shared cache would hold if each task were alone: to tell whose fault a miss is.
    alone: Vec<Cache>,
    bus: Port,
    l1_hit: Picos,
    l2_hit: Picos,
    memory_latency: Picos,
    line_time: Picos,
}

/// One access of a core.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The task, and the core that runs it.
    pub task: usize,
    /// The physical line.
    pub line: u64,
    pub is_write: bool,
}

impl Hierarchy {
    pub fn new(machine: &SharedCacheMachine) -> Self {
        let cycles = |count: u32| machine.core.clock.cycles(count.into());
        Self {
            l1: (0..machine.core.count)
                .map(|_| Cache::new(&machine.l1))
                .collect(),
            l2: Cache::new(&machine.l2),
            alone: (0..machine.core.count)
                .map(|_| Cache::new(&machine.l2))
                .collect(),
            bus: Port::default(),
            l1_hit: cycles(machine.l1.hit_latency_cycles),
            l2_hit: cycles(machine.l2.hit_latency_cycles),
            memory_latency: machine.memory.latency,
            line_time: machine
                .memory
                .bandwidth
                .time_for(machine.l2.line_bytes.into()),
        }
    }

    /// When the data of `access` is there, which is asked for at `at`.
    ///
    /// # Errors
    /// The miss registers of the core are full: the time to ask again.
    #[inline]
    pub fn access(
        &mut self,
        at: Picos,
        access: Access,
        counts: &mut CacheUse,
    ) -> Result<Picos, Picos> {
        let l1 = &mut self.l1[access.task];
        let data_at = match l1.load(at, access.line) {
            Lookup::Hit(data_at) => data_at,
            Lookup::Blocked(free_at) => return Err(free_at),
            Lookup::Miss(miss) => self.miss(at, access, miss, counts),
        };
        counts.references += 1;
        if access.is_write {
            self.l1[access.task].mark_dirty(access.line);
        }
        Ok(data_at)
    }

    fn miss(&mut self, at: Picos, access: Access, miss: Miss, counts: &mut CacheUse) -> Picos {
        if let Some(changed) = miss.writeback
            && !self.l2.mark_dirty(changed)
        {
            self.bus.book(at, self.line_time);
        }
        let data_at = self.shared(at + self.l1_hit, access, counts);
        self.l1[access.task].fill(miss, data_at);
        data_at
    }

    /// An access to the shared cache.
    fn shared(&mut self, mut at: Picos, access: Access, counts: &mut CacheUse) -> Picos {
        counts.shared_references += 1;
        // Each reference, hit or miss: the cache that the task would have alone sees what the shared one sees of it.
        let is_there_alone = self.alone[access.task].touch_at_once(access.line);
        loop {
            match self.l2.load(at, access.line) {
                Lookup::Hit(data_at) => return data_at.max(at + self.l2_hit),
                Lookup::Blocked(free_at) => at = free_at,
                Lookup::Miss(miss) => {
                    counts.misses += 1;
                    counts.misses_by_others += u64::from(is_there_alone);
                    let start = self.bus.book(at + self.l2_hit, self.line_time);
                    // The line that is read goes first: the changed one waits in a buffer, and
                    // costs the bus time but no latency.
                    if miss.writeback.is_some() {
                        self.bus.book(start, self.line_time);
                    }
                    let data_at = start + self.memory_latency;
                    self.l2.fill(miss, data_at);
                    return data_at;
                }
            }
        }
    }

    /// Empties all caches.
    pub fn flush(&mut self) {
        self.l1.iter_mut().for_each(Cache::invalidate_all);
        self.alone.iter_mut().for_each(Cache::invalidate_all);
        self.l2.invalidate_all();
    }
}
