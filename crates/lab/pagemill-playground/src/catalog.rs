use pagemill_policy::residency::{AccessPattern, STRATEGIES};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{BuiltIn, MACHINES, load_text, transfer_modes};
use pagemill_workloads::{Parameter, Unit, WORKLOADS, WorkloadInfo};
use serde_json::{Value, json};

/// Sizes at which a program answers within about a second in a browser, where its defaults do not.
const SMALL: &[(&str, &str, u64)] = &[
    ("vector-add", "elements", 65_536),
    ("bfs", "nodes", 4_096),
    ("cp", "atoms", 50),
    ("cp", "width", 64),
    ("cp", "height", 64),
    ("fdtd-2d", "size", 192),
    ("hotspot", "size", 192),
    ("laplace3d", "nx", 32),
    ("laplace3d", "ny", 32),
    ("laplace3d", "nz", 32),
    ("lib", "paths", 256),
    ("line-reads", "lines", 8_192),
    ("matrix-product", "size", 128),
    ("mum", "genome_bases", 65_536),
    ("mum", "queries", 2_048),
    ("nn", "digits", 4),
    ("page-touch", "pages_log2", 12),
    ("ray", "width", 64),
    ("ray", "height", 64),
    ("streams", "elements", 65_536),
    ("wp", "west_east", 32),
    ("wp", "south_north", 16),
    ("wp", "steps", 1),
];

/// What a scenario can name, as JSON: `version`, `programs` with their parameters, `patterns`, `machines`, `modes` and `strategies`.
pub fn catalog() -> String {
    let pattern = |pattern: AccessPattern| json!({ "name": pattern.name() });
    let strategy = |name: &str, summary: &str| json!({ "name": name, "summary": summary });
    let strategies = STRATEGIES.iter();
    let mode = |(name, summary): (&str, &str)| json!({ "name": name, "summary": summary, "driven": !takes(PLAIN_MACHINE, name) });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "programs": WORKLOADS.iter().map(program).collect::<Vec<_>>(),
        "patterns": AccessPattern::ALL.map(pattern),
        "machines": MACHINES.iter().filter_map(machine).collect::<Vec<_>>(),
        "modes": transfer_modes().map(mode).collect::<Vec<_>>(),
        "strategies": strategies.map(|entry| strategy(entry.name, entry.summary)).collect::<Vec<_>>(),
    })
    .to_string()
}

fn program(info: &WorkloadInfo) -> Value {
    let parameter = |parameter: &&Parameter| {
        let is_own = |entry: &&(&str, &str, u64)| entry.0 == info.name && entry.1 == parameter.name;
        let small = SMALL.iter().find(is_own);
        json!({
            "name": parameter.name,
            "doc": parameter.doc,
            "value": small.map_or(parameter.default, |entry| entry.2),
            "minimum": parameter.minimum,
            "unit": if parameter.unit == Unit::Bytes { "B" } else { "" },
        })
    };
    let sizes = info.parameters.iter();
    let sizes = sizes.filter(|parameter| matches!(parameter.unit, Unit::Count | Unit::Bytes));
    json!({
        "name": info.name,
        "summary": info.summary,
        "parameters": sizes.collect::<Vec<_>>().iter().map(parameter).collect::<Vec<_>>(),
    })
}

/// A machine without a unified-memory driver.
const PLAIN_MACHINE: &str = "gtx480";
/// A mode that needs such a driver.
const DRIVEN_MODE: &str = "on-demand";

/// GPUs only.
fn machine(machine: &BuiltIn) -> Option<Value> {
    let head = machine.head().ok()?;
    (head.kind == "gpu").then(|| {
        json!({ "name": machine.name, "title": head.title, "driven": takes(machine.name, DRIVEN_MODE) })
    })
}

/// Whether programs can run on `machine` in `mode`.
fn takes(machine: &str, mode: &str) -> bool {
    let text = format!(
        "title = \"x\"\nkind = \"gpu\"\nmachine = {machine:?}\nworkload = {{ name = \"vector-add\" }}\ntransfer = {{ mode = {mode:?} }}\n"
    );
    load_text(&SourceText::given("catalog", &text), &[]).is_ok()
}

#[cfg(test)]
mod tests;
