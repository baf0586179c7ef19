use std::collections::VecDeque;
use std::fmt;

use pagemill_policy::zeroing::{
    Fault, Ledger, Mode, Owner, PageId, Refused, Settings, SettingsError,
};
use pagemill_types::Picos;

use super::helper::Helper;
use super::machine::FaultPathMachine;
use super::report::FaultPathReport;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPathSpec {
    /// Who clears pages, and when.
    pub settings: Settings,
    /// The engine of the helper.
    pub engine: String,
    /// Huge pages of the machine.
    pub stock_pages: usize,
    /// What the core does.
    pub program: Program,
}

/// What the core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A task touches new pages.
    Touch {
        /// How many.
        faults: u64,
        /// What it computes after each.
        think: Picos,
        /// Most pages that it holds; the oldest is freed first.
        resident_pages: usize,
    },
    /// A task that faults shares the core with another, whose loops are measured.
    Corunner {
        /// A loop without faults.
        loop_cycles: u64,
        /// How many loops.
        loops: u64,
        /// Own cycles of the measured task between two faults of the other; 0 for a fault before each loop.
        interval_cycles: u64,
    },
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultPathError {
    /// The policy cannot work by these settings.
    Settings(SettingsError),
    /// The machine has no such engine.
    NoEngine(String),
    /// A fault found no page.
    Exhausted {
        /// Pages of the machine.
        stock_pages: usize,
    },
    /// The policy refused an event: a defect of the model.
    Refused(Refused),
}

impl fmt::Display for FaultPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::NoEngine(name) => write!(f, "the machine has no engine {name}"),
            Self::Exhausted { stock_pages } => write!(
                f,
                "a fault found none of {stock_pages} huge pages free: give the machine more, or let the program hold fewer"
            ),
            Self::Refused(refused) => write!(f, "the policy refused an event: {refused}"),
        }
    }
}

impl std::error::Error for FaultPathError {}

impl From<Refused> for FaultPathError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Runs `spec` on `machine`. Modes that clear ahead start with as many clean pages as their watermarks want.
///
/// # Errors
/// Settings that make no sense, an unknown engine, or more pages wanted than there are.
pub fn run(
    machine: &FaultPathMachine,
    spec: &FaultPathSpec,
) -> Result<FaultPathReport, FaultPathError> {
    spec.settings.check().map_err(FaultPathError::Settings)?;
    let engine = machine
        .engine(&spec.engine)
        .ok_or_else(|| FaultPathError::NoEngine(spec.engine.clone()))?;
    let mut run = Run {
        machine,
        ledger: Ledger::new(spec.settings, spec.stock_pages),
        helper: Helper::new(machine.helper, engine),
        held: VecDeque::new(),
        stock_pages: spec.stock_pages,
        now: Picos::ZERO,
        report: FaultPathReport::default(),
    };
    run.now = run.helper.drain(Picos::ZERO, &mut run.ledger)?;
    let start = run.now;
    match spec.program {
        Program::Touch {
            faults,
            think,
            resident_pages,
        } => run.touch(faults, think, resident_pages)?,
        Program::Corunner {
            loop_cycles,
            loops,
            interval_cycles,
        } => run.corun(loop_cycles, loops, interval_cycles)?,
    }
    // Before the helper has ended: what it still clears costs the program nothing.
    run.report.end = run.now - start;
    let end = run.helper.drain(run.now, &mut run.ledger)?;
    if spec.settings.mode != Mode::Inline {
        run.report.helper_cpu = run.helper.cpu(end);
    }
    run.report.helper_pages = run.helper.pages;
    Ok(run.report)
}

/// The only task that faults.
const USER: Owner = Owner(1);

struct Run<'a> {
    machine: &'a FaultPathMachine,
    ledger: Ledger,
    helper: Helper<'a>,
    held: VecDeque<PageId>,
    stock_pages: usize,
    now: Picos,
    report: FaultPathReport,
}

impl Run<'_> {
    fn touch(&mut self, faults: u64, think: Picos, resident: usize) -> Result<(), FaultPathError> {
        for _ in 0..faults {
            self.fault(resident)?;
            self.now += think;
        }
        Ok(())
    }

    fn corun(&mut self, cycles: u64, loops: u64, interval: u64) -> Result<(), FaultPathError> {
        let mut until_fault = interval;
        for _ in 0..loops {
            let start = self.now;
            if interval == 0 {
                self.fault(1)?;
                self.work(cycles);
            } else {
                let mut left = cycles;
                // The measured task's own cycles say when the other one faults: a slow fault does not bring the next one nearer.
                while left >= until_fault {
                    self.work(until_fault);
                    left -= until_fault;
                    until_fault = interval;
                    self.fault(1)?;
                }
                self.work(left);
                until_fault -= left;
            }
            self.report.loops.add(self.now - start);
        }
        Ok(())
    }

    fn work(&mut self, cycles: u64) {
        self.now += self.machine.core.clock.cycles(cycles);
    }

    /// A fault now, after the oldest of `resident` pages is freed.
    fn fault(&mut self, resident: usize) -> Result<(), FaultPathError> {
        if self.held.len() >= resident.max(1)
            && let Some(oldest) = self.held.pop_front()
        {
            self.ledger.returned(oldest)?;
            self.ledger.unreachable(oldest, None)?;
        }
        self.helper.advance(self.now, &mut self.ledger)?;
        let start = self.now;
        self.work(self.machine.core.fault_cycles);
        let (page, clean_at) = self.answer(start)?;
        self.held.push_back(page);
        self.report.faults.add(self.now - start);
        self.report
            .until_clean
            .add(clean_at.saturating_since(start));
        // A page was taken: the stock may be low now.
        self.helper.advance(self.now, &mut self.ledger)?;
        Ok(())
    }

    /// Does what the policy says; returns the page, and when it is clean.
    fn answer(&mut self, start: Picos) -> Result<(PageId, Picos), FaultPathError> {
        let mut decided = self.ledger.fault(USER);
        // Every free page may be under way to be cleared.
        while decided == Fault::Exhausted
            && let Some(done_at) = self.helper.next_done()
        {
            self.now = self.now.max(done_at);
            self.helper.advance(self.now, &mut self.ledger)?;
            decided = self.ledger.fault(USER);
        }
        match decided {
            Fault::Map(page) => {
                self.report.counts.clean += 1;
                Ok((page, start))
            }
            Fault::ClearThenMap(page) => self.clear(page),
            Fault::Wait { page, job } => {
                self.work(self.machine.core.handoff_cycles);
                let deadline = self.now + self.machine.helper.deadline;
                let done_at = self.helper.order(self.now, job, 1);
                // The core learns of it at the deadline. It may clear the page itself only after
                // the fence, as the engine may still write (ADR 0009).
                if done_at > deadline {
                    self.now = deadline;
                    self.ledger.deadline(job)?;
                    self.helper.take_back(self.now);
                    self.ledger.fenced(job)?;
                    return self.clear(page);
                }
                self.now = done_at;
                self.helper.advance(self.now, &mut self.ledger)?;
                self.report.counts.helper += 1;
                Ok((page, self.now))
            }
            Fault::MapNow { page, job } => {
                self.work(self.machine.core.handoff_cycles);
                self.report.counts.exposed += 1;
                Ok((page, self.helper.order(self.now, job, 1)))
            }
            Fault::Exhausted => Err(FaultPathError::Exhausted {
                stock_pages: self.stock_pages,
            }),
        }
    }

    fn clear(&mut self, page: PageId) -> Result<(PageId, Picos), FaultPathError> {
        self.work(self.machine.core.clear_cycles);
        self.ledger.cleared(page)?;
        self.report.counts.cpu += 1;
        Ok((page, self.now))
    }
}
