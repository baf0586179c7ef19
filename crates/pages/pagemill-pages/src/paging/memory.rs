use pagemill_policy::paging::{Fault, Ledger, PagingSpec, PagingSpecError, Plan};
use pagemill_policy::residency::{BLOCK_PAGES, PageMask};

/// A ledger over the units of a trace, which are counted through all pages.
#[derive(Debug)]
pub struct Memory {
    pub ledger: Ledger,
    pub page_units: u32,
    units: u64,
}

impl Memory {
    pub fn new(spec: &PagingSpec) -> Result<Self, PagingSpecError> {
        Ok(Self {
            ledger: Ledger::new(spec)?,
            page_units: spec.page_units(),
            units: 0,
        })
    }

    /// Units that there are or were.
    pub fn units(&self) -> u64 {
        self.units
    }

    pub fn first_of(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.page_units)
    }

    /// A block of memory, of which `units` are the program's.
    pub fn enter(&mut self, first: u64, units: u32) {
        let block_units = u64::from(BLOCK_PAGES);
        self.units = self.units.max(first + block_units);
        self.ledger.enter((first / block_units) as u32, units);
    }

    /// Decides what a touch of `unit` moves, and has it moved. Units beyond all memory move nothing.
    pub fn fault(&mut self, unit: u64, plan: &mut Plan) -> Fault {
        if unit >= self.units {
            return Fault::Resident;
        }
        let page_units = u64::from(self.page_units);
        let (page, within) = ((unit / page_units) as u32, (unit % page_units) as u32);
        let met = self.ledger.fault(page, within, plan);
        if met == Fault::Planned {
            for planned in &plan.evict {
                self.ledger.left(planned.page, PageMask::EMPTY);
            }
            for planned in &plan.fetch {
                self.ledger.arrived(planned.page);
            }
        }
        met
    }

    /// The program gives up the bytes of units, or the units themselves.
    pub fn discard(&mut self, first: u64, units: u32, is_gone: bool) {
        let page_units = u64::from(self.page_units);
        let end = (first + u64::from(units)).min(self.units);
        let mut at = first;
        while at < end {
            let page = (at / page_units) as u32;
            let stop = end.min(self.first_of(page) + page_units);
            let start = (at % page_units) as u32;
            let mask = PageMask::range(start..start + (stop - at) as u32);
            self.ledger.discard(page, mask);
            if is_gone {
                self.ledger.set_absent(page, mask);
            }
            at = stop;
        }
    }
}
