//! `kind = "cuda"`: a user's CUDA program, unmodified, on a simulated GPU.

use std::sync::Arc;

use pagemill_sim::{Detail, GpuMachine, Limits};

use super::gpu::{READ_GRANULE_MAX, detail, limits, transfer_and_machine};
use super::input::PointInput;
use crate::document::{Kind, Node, Section, SourceText, Table, write_document};
use crate::error::Problem;
use crate::machine::Machine;
use crate::machine_files::MachineFile;
use crate::quantity::{self, Wrong, show_bytes};
use crate::transfer::Transfer;

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] =
    &[("program.command", "program"), ("transfer.mode", "mode")];

/// What slower clocks are of those that the machine has.
const SLOWER: f64 = 0.7;

/// One run of one program on one machine.
#[derive(Debug)]
pub struct CudaPoint {
    /// The GPU and its link.
    pub machine: Machine<GpuMachine>,
    /// How managed memory gets to the GPU.
    pub transfer: Transfer,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// Whether kernels are only executed, without time.
    pub functional: bool,
    /// How much of the launches is timed.
    pub detail: Detail,
    /// Whether mistakes of kernels are looked for, which leaves time out as well.
    pub check: bool,
    /// Whether memory that the program asks of the GPU is managed.
    pub managed: bool,
    /// How many times as much as GPU memory holds the program has at its peak, if GPU memory is to follow from that.
    pub oversubscribe: Option<f64>,
    /// GPU memory that programs get, if not what the machine has.
    pub gpu_memory_bytes: Option<u64>,
    /// Where a run is stopped, and how many events of it are kept.
    pub limits: Limits,
    /// The scenario with everything that was laid over it, its machine by name.
    scenario: Table,
    /// The machine with everything that was laid over it, as a file.
    pub machine_text: String,
    /// The same with slower clocks: what a program computes on it is the same, and what depends on time is not.
    pub slower_machine_text: String,
}

impl CudaPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let scenario = input
            .machine
            .map(|file| standalone(root.table(), &file.source.stem()));
        let program = root
            .section("program")
            .and_then(|mut section| ProgramKeys::read(&mut section));
        let (transfer, machine) =
            transfer_and_machine(root, input, Some(default_mode(input.machine)));
        let limits = limits(root, default_limits(program.as_ref()));
        let detail = root.or("detail", Detail::Full, detail);
        let (program, mut machine, transfer) = (program?, machine?, transfer?);
        let detail = detail?;
        program.check_keys(root, &transfer)?;
        program.check_detail(root, detail)?;
        let mut machine_table = with_sources(input.machine?);
        let machine_text = write_document(&machine_table);
        slow_down(&mut machine_table);
        if let Some(bytes) = program.gpu_memory_bytes {
            limit_memory(root, &mut machine.spec, bytes, transfer.page.bytes())?;
        }
        Some(Self {
            machine,
            transfer,
            command: program.command,
            functional: program.functional || program.check,
            detail,
            check: program.check,
            managed: program.managed,
            oversubscribe: program.oversubscribe,
            gpu_memory_bytes: program.gpu_memory_bytes,
            limits: limits?,
            scenario: scenario?,
            machine_text,
            slower_machine_text: write_document(&machine_table),
        })
    }
}

/// A program that reads a little beyond its memory runs on a card, whose driver rounds allocations, and has to run here: what
/// looks for mistakes says that it does so, and every other result that it did.
fn default_limits(program: Option<&ProgramKeys>) -> Limits {
    let is_lenient = program.is_some_and(|program| !program.check);
    Limits {
        read_granule_bytes: if is_lenient { READ_GRANULE_MAX } else { 0 },
        ..Limits::default()
    }
}

impl CudaPoint {
    /// The scenario as a file that stands for one run of this point. Its machine is `machines/<name>.toml` beside it, with the
    /// text `machine_text`.
    pub fn scenario_text(&self, run: &CudaRun) -> String {
        let mut scenario = self.scenario.clone();
        let events = self.limits.timeline_events.min(run.events_max);
        let integer = |value: u64| Kind::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let mut put = |path: &[&str], kind: Kind| replace(&mut scenario, path, kind);
        put(&["limits", "timeline_events"], integer(events as u64));
        put(
            &["program", "functional"],
            Kind::Boolean(self.functional || run.functional),
        );
        if run.functional {
            put(&["detail"], Kind::String(Detail::Full.name().to_owned()));
        }
        if let Some(bytes) = run.gpu_memory_bytes {
            put(
                &["program", "gpu_memory"],
                Kind::String(format!("{bytes} B")),
            );
        }
        if let Some(mode) = &run.mode {
            put(&["transfer", "mode"], Kind::String(mode.clone()));
        }
        without_factor(&mut scenario);
        write_document(&scenario)
    }
}

/// What one run of a point adds to it.
#[derive(Clone, Debug, Default)]
pub struct CudaRun {
    /// Events that are kept.
    pub events_max: usize,
    /// Whether kernels are only executed, whatever the point says.
    pub functional: bool,
    /// GPU memory that the program gets, if not what the point says.
    pub gpu_memory_bytes: Option<u64>,
    /// The transfer mode, if not that of the point.
    pub mode: Option<String>,
    /// Whether the machine has slower clocks.
    pub is_slower: bool,
    /// Threads of the host for kernels without time, if the caller says how many.
    pub threads: Option<usize>,
}

/// `[program]`.
struct ProgramKeys {
    command: Vec<String>,
    functional: bool,
    check: bool,
    managed: bool,
    oversubscribe: Option<f64>,
    gpu_memory_bytes: Option<u64>,
}

impl ProgramKeys {
    fn read(section: &mut Section<'_>) -> Option<Self> {
        let functional = section.or("functional", false, quantity::boolean);
        let check = section.or("check", false, quantity::boolean);
        let managed = section.or("managed", false, quantity::boolean);
        let oversubscribe = section.optional("oversubscribe", factor);
        let gpu_memory_bytes = section.optional("gpu_memory", memory);
        Some(Self {
            command: section.required("command", command)?,
            functional: functional?,
            check: check?,
            managed: managed?,
            oversubscribe: oversubscribe?,
            gpu_memory_bytes: gpu_memory_bytes?,
        })
    }

    /// Whether there is time that the detail is of.
    fn check_detail(&self, root: &Section<'_>, detail: Detail) -> Option<()> {
        let other = match (self.check, self.functional) {
            _ if detail == Detail::Full => return Some(()),
            (true, _) => "program.check",
            (false, true) => "program.functional",
            (false, false) => return Some(()),
        };
        let name = detail.name();
        let text =
            format!("`detail` = {name:?} is about simulated time, and `{other}` leaves it out");
        let problem = Problem::at(root.origin_of("detail"), text);
        root.report(problem.help("leave one of them out".to_owned()));
        None
    }

    /// Whether the keys go together, and with the transfer mode.
    fn check_keys(&self, root: &Section<'_>, transfer: &Transfer) -> Option<()> {
        let refuse = |text: String, help: &str| {
            let problem = Problem::at(root.origin_of("program"), text);
            root.report(problem.help(help.to_owned()));
        };
        let needs_moves = match (self.oversubscribe.is_some(), self.managed) {
            (false, false) => return Some(()),
            (true, _) => "exceed GPU memory",
            (false, true) => "be managed",
        };
        let is_over = self.oversubscribe.is_some();
        if is_over && self.gpu_memory_bytes.is_some() {
            let text = "`program.oversubscribe` and `program.gpu_memory` both say how much GPU memory there is";
            refuse(text.to_owned(), "leave one of them out");
        } else if is_over && self.check {
            let text =
                "`program.oversubscribe` needs simulated time, and `program.check` leaves it out";
            refuse(text.to_owned(), "leave one of them out");
        } else if is_over && self.functional {
            let text = "`program.oversubscribe` needs simulated time, and `program.functional` leaves it out";
            refuse(text.to_owned(), "leave one of them out");
        } else if transfer.migration.is_none() && transfer.driver.is_none() {
            let text = format!(
                "`transfer.mode` = {:?} moves no pages, so nothing can {needs_moves}",
                transfer.mode
            );
            refuse(
                text,
                "use a mode that migrates: on-demand on a machine with a [driver], such as a100-pcie4-x86, or multi-range",
            );
        } else {
            return Some(());
        }
        None
    }
}

/// Gives programs `bytes` of GPU memory.
fn limit_memory(
    root: &Section<'_>,
    machine: &mut GpuMachine,
    bytes: u64,
    page_bytes: u64,
) -> Option<()> {
    machine.memory_bytes = Some(machine.reserved_bytes.saturating_add(bytes));
    let checked = match bytes < page_bytes {
        true => Err(format!("it must hold a page of {}", show_bytes(page_bytes))),
        false => machine.check().map_err(|error| error.to_string()),
    };
    if let Err(reason) = &checked {
        let text = format!("`program.gpu_memory` is {}: {reason}", show_bytes(bytes));
        root.report(Problem::at(root.origin_of("program"), text));
    }
    checked.ok()
}

/// A factor of oversubscription.
fn factor(node: &Node) -> Result<f64, Wrong> {
    let number = match node.kind {
        Kind::Float(number) => number,
        Kind::Integer(number) => number as f64,
        _ => f64::NAN,
    };
    if number.is_finite() && number > 0.0 {
        return Ok(number);
    }
    Err(Wrong::new("a number above 0 is needed")
        .help("write 1.5 for a program that has 1.5 times the memory of the GPU".to_owned()))
}

fn memory(node: &Node) -> Result<u64, Wrong> {
    match quantity::bytes(node)? {
        0 => Err(Wrong::new("a size above 0 is needed").help("write \"16 GiB\"".to_owned())),
        bytes => Ok(bytes),
    }
}

/// Takes `program.oversubscribe` out: a run has the memory that follows from it.
fn without_factor(scenario: &mut Table) {
    let Some((key, mut node)) = scenario.remove("program") else {
        return;
    };
    if let Kind::Table(program) = &mut node.kind {
        program.remove("oversubscribe");
    }
    // A value of its own in a table that no longer has the key.
    let _ = scenario.put(&[key.name], &key.origin, node);
}

/// How managed memory moves by default: by the machine's driver, if it has one.
fn default_mode(machine: Option<&MachineFile>) -> &'static str {
    match machine {
        Some(file) if file.table.get("driver").is_some() => "on-demand",
        _ => "multi-range",
    }
}

/// `scenario` with its machine by name, wherever the file is.
fn standalone(scenario: &Table, machine: &str) -> Table {
    let mut scenario = scenario.clone();
    let name = Kind::String(machine.to_owned());
    replace(&mut scenario, &["machine"], name);
    scenario
}

/// Puts a value where the scenario, which has been read, can have one.
fn replace(scenario: &mut Table, path: &[&str], kind: Kind) {
    let first = scenario.get("machine").or_else(|| scenario.get(path[0]));
    let Some(origin) = first.map(|node| node.origin.clone()) else {
        return;
    };
    let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
    let node = Node {
        origin: origin.clone(),
        kind,
    };
    // The tables on the way were read as tables.
    let _ = scenario.put(&path, &origin, node);
}

/// Takes the GPU's clock and its link down.
fn slow_down(machine: &mut Table) {
    for path in [["clocks", "core", "value"], ["link", "bandwidth", "value"]] {
        let found = path
            .iter()
            .try_fold(Kind::Table(machine.clone()), |kind, key| match kind {
                Kind::Table(table) => table.get(key).map(|node| node.kind.clone()),
                _ => None,
            });
        let Some(Kind::String(text)) = found else {
            continue;
        };
        let parts = text.split_once(' ');
        if let Some((Ok(number), unit)) = parts.map(|(number, unit)| (number.parse::<f64>(), unit))
        {
            let slower = Kind::String(format!("{:.3} {unit}", number * SLOWER));
            replace(machine, &path, slower);
        }
    }
}

/// The machine's table, where every value that replaces one of the file says so: in a file of its own it needs a source.
fn with_sources(machine: &MachineFile) -> Table {
    let mut table = machine.table.clone();
    let mut replaced = Vec::new();
    find_replaced(&table, &machine.source, &mut Vec::new(), &mut replaced);
    for (path, node) in replaced {
        let origin = node.origin.clone();
        let source = if origin.source.is_argument() {
            "--set"
        } else {
            "the scenario"
        };
        let text = Node {
            origin: origin.clone(),
            kind: Kind::String(source.to_owned()),
        };
        let mut value = Table::default();
        let put = value
            .put(&["value".to_owned()], &origin, node)
            .and_then(|()| value.put(&["source".to_owned()], &origin, text));
        let node = Node {
            origin: origin.clone(),
            kind: Kind::Table(value),
        };
        // Both puts are into tables that are there.
        let _ = put.and_then(|()| table.put(&path, &origin, node));
    }
    table
}

fn find_replaced(
    table: &Table,
    home: &Arc<SourceText>,
    above: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, Node)>,
) {
    for (key, node) in table.entries() {
        above.push(key.name.clone());
        match &node.kind {
            Kind::Table(below) => find_replaced(below, home, above, found),
            // Inside of { value, source } everything is said already.
            _ if matches!(key.name.as_str(), "value" | "source") => {}
            _ if above.len() > 1 && !Arc::ptr_eq(&node.origin.source, home) => {
                found.push((above.clone(), node.clone()));
            }
            _ => {}
        }
        above.pop();
    }
}

pub(super) fn command(node: &Node) -> Result<Vec<String>, Wrong> {
    let needed = || {
        Wrong::new("a list of words is needed, the program first")
            .help("write for example command = [\"./program\", \"argument\"]".to_owned())
    };
    let Kind::Array(items) = &node.kind else {
        return Err(needed());
    };
    let words: Result<Vec<String>, Wrong> = items
        .iter()
        .map(|item| quantity::text(item).map_err(|_| needed()))
        .collect();
    words.and_then(|words| {
        if words.is_empty() {
            Err(needed())
        } else {
            Ok(words)
        }
    })
}
