use pagemill_policy::paging::{Fault, PagingSpecError, Plan, Trace, TraceEvent};
use pagemill_policy::residency::BLOCK_PAGES;
use pagemill_types::random64;

use super::memory::Memory;

/// What a program does with its units, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touches {
    pub(super) events: Vec<TraceEvent>,
    pub(super) changes: Changes,
}

/// The order of a pattern's touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each unit after the one before.
    Ascending,
    /// By chance.
    Random,
}

/// A program that writes all of its memory once, and then touches units of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// The order.
    pub order: Order,
    /// The memory, in units.
    pub units: u32,
    /// Touches after the first pass.
    pub touches: u64,
    /// The share of them that change the unit.
    pub writes: f64,
    /// Time between two touches.
    pub think_ns: u64,
    /// Of all chance.
    pub seed: u64,
}

/// What becomes of a unit's bytes while it is in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// They change.
    Changed,
    /// They are zeros when it leaves.
    Zeroed,
}

/// What happened to units, by the fault that brought them into their frames: place of the fault among the events, unit, change.
pub(super) type Changes = Vec<(usize, u64, Change)>;

impl Touches {
    /// What a trace shows of a program.
    ///
    /// # Errors
    /// The rules of its recording do not fit each other.
    pub fn of_trace(trace: Trace) -> Result<Self, PagingSpecError> {
        Ok(Self {
            changes: changes(&trace)?,
            events: trace.events,
        })
    }

    /// What a pattern does.
    pub fn of_pattern(pattern: &Pattern) -> Self {
        let mut touches = Self {
            events: Vec::new(),
            changes: Changes::new(),
        };
        let units = u64::from(pattern.units);
        for first in (0..units).step_by(BLOCK_PAGES as usize) {
            touches.events.push(TraceEvent::Enter {
                first,
                units: (units - first).min(u64::from(BLOCK_PAGES)) as u32,
            });
        }
        (0..units).for_each(|unit| touches.add(unit, true, pattern.think_ns));
        for touch in 0..pattern.touches {
            let chance = random64(pattern.seed, touch);
            let unit = match pattern.order {
                Order::Ascending => touch % units,
                Order::Random => chance % units,
            };
            // As many bits as a double holds, so that the share is below 1: with `writes` at 1, each touch writes.
            let share = (random64(chance, touch) >> 11) as f64 / (1_u64 << 53) as f64;
            touches.add(unit, share < pattern.writes, pattern.think_ns);
        }
        touches
    }

    fn add(&mut self, unit: u64, is_write: bool, think_ns: u64) {
        if is_write {
            (self.changes).push((self.events.len(), unit, Change::Changed));
        }
        self.events.push(TraceEvent::Fault {
            unit,
            is_write,
            think_ns,
        });
    }
}

/// Finds the fault that brought each unit which had changed when it left. A program that is replayed with more frames changes it at the
/// same time, and keeps it.
fn changes(trace: &Trace) -> Result<Changes, PagingSpecError> {
    let mut memory = Memory::new(&trace.spec)?;
    let mut brought: Vec<usize> = Vec::new();
    let mut found = Changes::new();
    let mut plan = Plan::default();
    for (index, event) in trace.events.iter().enumerate() {
        match event {
            TraceEvent::Enter { first, units } => {
                memory.enter(*first, *units);
                brought.resize(memory.units() as usize, usize::MAX);
            }
            TraceEvent::Fault { unit, .. } => {
                if memory.fault(*unit, &mut plan) != Fault::Planned {
                    continue;
                }
                for planned in &plan.fetch {
                    let first = memory.first_of(planned.page);
                    for unit in planned.units.pages() {
                        brought[(first + u64::from(unit)) as usize] = index;
                    }
                }
            }
            TraceEvent::Evicted {
                first,
                changed,
                zero,
            } => {
                let kinds = [(changed, Change::Changed), (zero, Change::Zeroed)];
                for (units, change) in kinds {
                    for unit in units.pages().map(|unit| first + u64::from(unit)) {
                        let by = brought.get(unit as usize).copied();
                        found.extend(by.filter(|by| *by < index).map(|by| (by, unit, change)));
                    }
                }
            }
            TraceEvent::Discard {
                first,
                units,
                is_gone,
            } => memory.discard(*first, *units, *is_gone),
        }
    }
    found.sort_by_key(|(by, ..)| *by);
    Ok(found)
}
