use pagemill_types::{Clock, PageSize, Picos};

use crate::SpecError;

/// One core and its helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPathMachine {
    /// What it is called.
    pub name: String,
    /// The core that faults.
    pub core: CoreSpec,
    /// The process that runs engines, on a core of its own.
    pub helper: HelperSpec,
    /// Who can clear pages for the helper.
    pub engines: Vec<EngineSpec>,
}

/// What a fault costs on its own CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreSpec {
    /// The clock in which costs are counted.
    pub clock: Clock,
    /// The size of a page.
    pub page: PageSize,
    /// All of a fault but clearing and handing off.
    pub fault_cycles: u64,
    /// The kernel's clearing of one page.
    pub clear_cycles: u64,
    /// Handing a page to the helper.
    pub handoff_cycles: u64,
}

/// How the helper waits and is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelperSpec {
    /// From a request until an idle helper has seen it.
    pub wake: Picos,
    /// Whether it never sleeps, so that its CPU time is all the time there is.
    pub busy: bool,
    /// How long a fault waits for it before the CPU clears.
    pub deadline: Picos,
}

/// What an engine needs for its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    /// How scenarios name it.
    pub name: String,
    /// Start of a batch, whatever its size.
    pub launch: Picos,
    /// Each page of a batch.
    pub page: Picos,
    /// CPU time of the helper for each page; less than `page` where a device does the work.
    pub cpu: Picos,
}

const SECOND: Picos = Picos(1_000_000_000_000);
const CYCLES_MAX: u64 = 1_000_000_000;

impl FaultPathMachine {
    /// The engine called `name`.
    pub fn engine(&self, name: &str) -> Option<&EngineSpec> {
        self.engines.iter().find(|engine| engine.name == name)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is impossible: its key, what was given and what is allowed.
    pub fn check(&self) -> Result<(), SpecError> {
        let core = &self.core;
        for (key, cycles) in [
            ("core.fault", core.fault_cycles),
            ("core.clear", core.clear_cycles),
            ("core.handoff", core.handoff_cycles),
        ] {
            if cycles > CYCLES_MAX {
                let allowed = "it has to be at most 1000000000 cycles";
                return Err(SpecError::new(key, cycles, allowed));
            }
        }
        at_most_a_second("helper.wake", self.helper.wake)?;
        at_most_a_second("helper.deadline", self.helper.deadline)?;
        for engine in &self.engines {
            at_most_a_second(&format!("engines.{}.launch", engine.name), engine.launch)?;
            at_most_a_second(&format!("engines.{}.page", engine.name), engine.page)?;
            at_most_a_second(&format!("engines.{}.cpu", engine.name), engine.cpu)?;
        }
        Ok(())
    }
}

fn at_most_a_second(key: &str, span: Picos) -> Result<(), SpecError> {
    if span <= SECOND {
        return Ok(());
    }
    let allowed = "it has to be at most 1 s";
    Err(SpecError::new(key, format!("{} ps", span.0), allowed))
}
