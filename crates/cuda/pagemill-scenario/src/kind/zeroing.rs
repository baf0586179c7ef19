//! `kind = "zeroing"`: huge page faults, and who clears the pages.

use pagemill_pages::fault_path::{FaultPathMachine, FaultPathSpec, Program};
use pagemill_policy::zeroing::{Mode, Settings, Watermarks};
use pagemill_types::Picos;

use super::input::PointInput;
use crate::document::{Node, Section};
use crate::machine::zeroing::ENGINES;
use crate::machine::{self, Machine};
use crate::quantity::{self, Wrong};

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] = &[
    ("machine", "machine"),
    ("workload.name", "workload"),
    ("zeroing.mode", "mode"),
    ("zeroing.engine", "engine"),
];

const TOUCH: &str = "touch";
const CORUNNER: &str = "corunner";
const STARTUP: &str = "startup";

/// Every workload of this kind: name, and what it is.
pub const ZEROING_WORKLOADS: &[(&str, &str)] = &[
    (TOUCH, "a task touches new pages, and computes in between"),
    (
        CORUNNER,
        "loops of a program that shares its core with a task that faults",
    ),
    (
        STARTUP,
        "all memory is touched at once, as by a machine that starts",
    ),
];

/// One program on one machine, in one mode.
#[derive(Debug)]
pub struct ZeroingPoint {
    /// The core and its helper.
    pub machine: Machine<FaultPathMachine>,
    /// The name of the workload.
    pub workload: &'static str,
    /// What runs.
    pub spec: FaultPathSpec,
}

impl ZeroingPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let zeroing = root.section("zeroing").and_then(Zeroing::read);
        let workload = root.section("workload").and_then(Workload::read);
        let machine = input
            .machine
            .and_then(|file| machine::zeroing::read(file, input.reader));
        let (machine, zeroing, workload) = (machine?, zeroing?, workload?);
        let page_bytes = machine.spec.core.page.bytes();
        let (name, stock_pages, program) = workload.on(zeroing.pages, page_bytes);
        let settings = Settings {
            mode: zeroing.mode,
            watermarks: Watermarks {
                low_pages: zeroing.low.unwrap_or(stock_pages),
                high_pages: zeroing.high.unwrap_or(stock_pages),
            },
            batch_pages: zeroing.batch,
        };
        Some(Self {
            machine,
            workload: name,
            spec: FaultPathSpec {
                settings,
                engine: zeroing.engine,
                stock_pages,
                program,
            },
        })
    }
}

/// The section `zeroing`.
struct Zeroing {
    mode: Mode,
    engine: String,
    pages: usize,
    low: Option<usize>,
    high: Option<usize>,
    batch: usize,
}

impl Zeroing {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let mode = section.required("mode", mode);
        let engine = section.required("engine", quantity::choice("engines", ENGINES));
        let pages = section.or("pages", 64, page_count(1));
        let low = section.optional("low", page_count(0));
        let high = section.optional("high", page_count(0));
        let batch = section.or("batch", 16, page_count(1));
        Some(Self {
            mode: mode?,
            engine: engine?,
            pages: pages_of(pages?),
            low: low?.map(pages_of),
            high: high?.map(pages_of),
            batch: pages_of(batch?),
        })
    }
}

/// The section `workload`.
enum Workload {
    Touch {
        faults: u64,
        think: Picos,
        resident: u64,
    },
    Corunner {
        loop_cycles: u64,
        loops: u64,
        interval_cycles: u64,
    },
    Startup {
        memory_bytes: u64,
    },
}

impl Workload {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let names: Vec<&str> = ZEROING_WORKLOADS.iter().map(|(name, _)| *name).collect();
        let Some(name) = section.required("name", quantity::choice("workloads", &names)) else {
            section.abandon();
            return None;
        };
        match name.as_str() {
            TOUCH => {
                let faults = section.required("faults", quantity::count(1..=10_000_000));
                let think = section.or("think", Picos::ZERO, at_most_a_second);
                let resident = section.or("resident", 1, page_count(1));
                Some(Self::Touch {
                    faults: faults?,
                    think: think?,
                    resident: resident?,
                })
            }
            CORUNNER => {
                let loop_cycles = section.required("loop", program_cycles);
                let loops = section.or("loops", 1000, quantity::count(1..=10_000_000));
                let interval_cycles = section.required("interval", program_cycles);
                Some(Self::Corunner {
                    loop_cycles: loop_cycles?,
                    loops: loops?,
                    interval_cycles: interval_cycles?,
                })
            }
            _ => {
                let memory_bytes = section.required("memory", memory_bytes)?;
                Some(Self::Startup { memory_bytes })
            }
        }
    }

    /// Its name, the pages that the machine has for it, and what it does.
    fn on(self, stock_pages: usize, page_bytes: u64) -> (&'static str, usize, Program) {
        match self {
            Self::Touch {
                faults,
                think,
                resident,
            } => {
                let resident_pages = pages_of(resident);
                let program = Program::Touch {
                    faults,
                    think,
                    resident_pages,
                };
                (TOUCH, stock_pages, program)
            }
            Self::Corunner {
                loop_cycles,
                loops,
                interval_cycles,
            } => {
                let program = Program::Corunner {
                    loop_cycles,
                    loops,
                    interval_cycles,
                };
                (CORUNNER, stock_pages, program)
            }
            Self::Startup { memory_bytes } => {
                let faults = memory_bytes.div_ceil(page_bytes);
                let resident_pages = pages_of(faults);
                let program = Program::Touch {
                    faults,
                    think: Picos::ZERO,
                    resident_pages,
                };
                (STARTUP, resident_pages, program)
            }
        }
    }
}

fn mode(node: &Node) -> Result<Mode, Wrong> {
    let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
    let name = quantity::choice("modes of zeroing", &names)(node)?;
    Mode::parse(&name).ok_or_else(|| Wrong::new("it is no mode of zeroing"))
}

/// More pages than this are taken for a mistake: 2 TiB of 2 MiB pages.
const PAGES_MAX: u64 = 1 << 20;

fn page_count(least: u64) -> impl Fn(&Node) -> Result<u64, Wrong> {
    quantity::count(least..=PAGES_MAX)
}

fn pages_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn memory_bytes(node: &Node) -> Result<u64, Wrong> {
    match quantity::bytes(node)? {
        bytes if bytes <= 1 << 40 => Ok(bytes),
        _ => Err(Wrong::new("it has to be at most 1 TiB")),
    }
}

fn program_cycles(node: &Node) -> Result<u64, Wrong> {
    match quantity::cycles(node)? {
        cycles if cycles <= 1_000_000_000 => Ok(cycles),
        _ => Err(Wrong::new("it has to be at most 1000000000 cycles")),
    }
}

fn at_most_a_second(node: &Node) -> Result<Picos, Wrong> {
    match quantity::time(node)? {
        span if span <= Picos(1_000_000_000_000) => Ok(span),
        _ => Err(Wrong::new("it has to be at most 1 s")),
    }
}
