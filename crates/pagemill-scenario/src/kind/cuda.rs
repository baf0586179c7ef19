//! `kind = "cuda"`: somebody's CUDA program, unmodified, on a simulated GPU.

use std::sync::Arc;

use pagemill_sim::{GpuMachine, Limits};

use super::PointInput;
use super::gpu::{limits, transfer_and_machine};
use crate::document::{Kind, Node, Section, SourceText, Table, write_document};
use crate::machine::{Machine, MachineFile};
use crate::quantity::{self, Wrong};
use crate::transfer::Transfer;

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] =
    &[("program.command", "program"), ("transfer.mode", "mode")];

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
    /// Where a run is stopped, and how many events of it are kept.
    pub limits: Limits,
    /// The scenario with everything that was laid over it, its machine by name.
    scenario: Table,
    /// The machine with everything that was laid over it, as a file.
    pub machine_text: String,
}

impl CudaPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let scenario = input
            .machine
            .map(|file| standalone(root.table(), &file.source.stem()));
        let program = root.section("program").and_then(|mut section| {
            let functional = section.or("functional", false, quantity::boolean);
            Some((section.required("command", command)?, functional?))
        });
        let (transfer, machine) =
            transfer_and_machine(root, input, Some(default_mode(input.machine)));
        let limits = limits(root);
        let (command, functional) = program?;
        Some(Self {
            machine: machine?,
            transfer: transfer?,
            command,
            functional,
            limits: limits?,
            scenario: scenario?,
            machine_text: write_document(&with_sources(input.machine?)),
        })
    }
}

impl CudaPoint {
    /// The scenario as a file that stands for this point alone, keeping at most `events_max` events. Its machine is
    /// `machines/<name>.toml` beside it, with the text `machine_text`.
    pub fn scenario_text(&self, events_max: usize) -> String {
        let mut scenario = self.scenario.clone();
        let events = self.limits.timeline_events.min(events_max);
        let events = i64::try_from(events).unwrap_or(i64::MAX);
        replace(
            &mut scenario,
            &["limits", "timeline_events"],
            Kind::Integer(events),
        );
        write_document(&scenario)
    }
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
    let Some(origin) = scenario.get("machine").map(|node| node.origin.clone()) else {
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

fn command(node: &Node) -> Result<Vec<String>, Wrong> {
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
