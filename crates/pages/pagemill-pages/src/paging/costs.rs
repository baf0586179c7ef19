use pagemill_policy::paging::Plan;
use pagemill_policy::residency::PageMask;
use pagemill_types::Picos;

/// What a call costs that takes several units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchCost {
    /// The call.
    pub call: Picos,
    /// Each unit.
    pub unit: Picos,
}

impl BatchCost {
    /// A call with `units`; nothing where there are none.
    pub fn of(&self, units: u32) -> Picos {
        match units {
            0 => Picos::ZERO,
            _ => Picos(self.call.0 + self.unit.0 * u64::from(units)),
        }
    }
}

/// Where units are kept that have no frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreCost {
    /// The name: `compressed`, `folder`, `server`.
    pub name: String,
    /// Writing units.
    pub put: BatchCost,
    /// Reading units.
    pub get: BatchCost,
    /// Whether reading includes the check of what was read. Otherwise the pager hashes each unit that it reads.
    pub checks_itself: bool,
}

/// What the parts of the pager cost on a computer, as `pagemill doctor pager` measures them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagerMachine {
    /// From the touch until a handler has the fault, and from the answer until the program runs: both together.
    pub round_trip: Picos,
    /// What the handler does for a fault beside moving units.
    pub decide: Picos,
    /// Taking the frames of neighboring units from the program.
    pub take: BatchCost,
    /// Giving them to the program.
    pub give: BatchCost,
    /// Hashing a unit that leaves or has come.
    pub hash: Picos,
    /// Making a unit of zeros.
    pub zero: Picos,
    /// The stores.
    pub stores: Vec<StoreCost>,
}

impl PagerMachine {
    /// The store called `name`.
    pub fn store(&self, name: &str) -> Option<&StoreCost> {
        self.stores.iter().find(|store| store.name == name)
    }

    /// Fetching `units`, of which `stored` are read from the store and the others made.
    pub fn fetch(&self, store: &StoreCost, units: PageMask, stored: PageMask) -> Picos {
        let mut time = Picos::ZERO;
        // A call takes neighbors alone: `UFFDIO_MOVE` with holes was tried and refused (ADR 0018).
        for stretch in units.stretches() {
            let stretch_units = PageMask::range(stretch.clone());
            let kept = stored.and(&stretch_units);
            for run in kept.stretches() {
                let count = run.end - run.start;
                time.0 += store.get.of(count).0;
                if !store.checks_itself {
                    time.0 += self.hash.0 * u64::from(count);
                }
            }
            let made = stretch_units.without(&kept).count();
            time.0 += self.zero.0 * u64::from(made);
            time.0 += self.give.of(stretch.end - stretch.start).0;
        }
        time
    }

    /// Evicting `units`, of which `written` go to the store.
    pub fn evict(&self, store: &StoreCost, units: PageMask, written: u32) -> Picos {
        // All that leave are hashed, as that is how the pager knows which have changed (ADR 0018); only those are written.
        let taken = units.stretches();
        let take: u64 = taken.map(|run| self.take.of(run.end - run.start).0).sum();
        Picos(take + self.hash.0 * u64::from(units.count()) + store.put.of(written).0)
    }
}

/// Frames that a handler keeps for the next fault, at most.
const KEPT_UNITS: u32 = 128;

/// The frames that a handler has left over, which decide whether the program waits for what is evicted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpareFrames {
    units: u32,
}

impl SpareFrames {
    /// Whether what `plan` fetches can come before what it evicts has left. Accounts for both.
    pub fn fetches_first(&mut self, plan: &Plan) -> bool {
        let count = |moves: &[pagemill_policy::paging::Move]| {
            moves
                .iter()
                .map(|planned| planned.units.count())
                .sum::<u32>()
        };
        let (fetched, evicted) = (count(&plan.fetch), count(&plan.evict));
        let is_first = fetched <= self.units;
        self.units = (self.units + evicted)
            .saturating_sub(fetched)
            .min(KEPT_UNITS);
        is_first
    }
}
