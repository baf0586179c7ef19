//! `pagemill doctor pager`: what the pager costs on this computer.

use std::fmt::Write as _;
use std::path::Path;

use pagemill_pager::probe::{
    Batch, DataKind, Limits, PartCosts, StoreCosts, limits, loopback, part_costs, store_costs,
};
use pagemill_pager::store::{Compressed, Directory};
use pagemill_report::{Column, ColumnKind, OutputDir, ResultSet, Row};

use super::arguments::ProbeArguments;
use super::run::check_kernel;
use crate::failure::Failure;
use crate::output;

/// All that is measured.
struct Found {
    data: DataKind,
    limits: Limits,
    parts: PartCosts,
    /// By name.
    stores: Vec<(&'static str, StoreCosts)>,
}

/// Measures, and writes what was found.
pub fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    check_kernel()?;
    if let Some(out) = &arguments.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    output::check_file(arguments.machine.as_deref())?;
    let found = found(data_kind(&arguments.data)?, &arguments.folder)?;
    let set = results(&found);
    if let Some(path) = &arguments.machine {
        let write = std::fs::write(path, machine_file(&found));
        write.map_err(|error| Failure::Run(format!("cannot write {}: {error}", path.display())))?;
    }
    output::hand_over(arguments.out.as_deref(), &set, || {
        output::print_results(&set, arguments.format)
    })
}

/// Data by its name.
pub fn data_kind(name: &str) -> Result<DataKind, Failure> {
    let data = DataKind::ALL.into_iter().find(|data| data.name() == name);
    data.ok_or_else(|| {
        let known = DataKind::ALL.map(DataKind::name).join(", ");
        Failure::Usage(format!("--data {name}: use one of {known}"))
    })
}

/// A machine of this computer for scenarios of kind "pager", in TOML.
pub fn machine(data: DataKind, folder: &Path) -> Result<String, Failure> {
    Ok(machine_file(&found(data, folder)?))
}

fn found(data: DataKind, folder: &Path) -> Result<Found, Failure> {
    let limits = limits(data);
    let parts = part_costs(data, &limits).map_err(failed)?;
    Ok(Found {
        data,
        limits,
        parts,
        stores: stores(folder, data)?,
    })
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Run(error.to_string())
}

fn stores(folder: &Path, data: DataKind) -> Result<Vec<(&'static str, StoreCosts)>, Failure> {
    let compressed = store_costs(&Compressed::new(u64::MAX), data).map_err(failed)?;
    let file = Directory::open(folder, u64::MAX)
        .map_err(|error| Failure::Usage(format!("--folder: {error}")))?;
    let file = store_costs(&file, data).map_err(failed)?;
    let server = store_costs(&loopback().map_err(failed)?, data).map_err(failed)?;
    Ok(vec![
        ("compressed", compressed),
        ("folder", file),
        ("server", server),
    ])
}

/// The costs that are one number: name, nanoseconds, what it is.
fn single_costs(found: &Found) -> [(&'static str, f64, &'static str); 8] {
    let (limits, parts) = (&found.limits, &found.parts);
    let touch = "limit: first touch of a unit of the kernel's, CPU time";
    let rest = "rest of a fault: what the handler does beside moving units";
    [
        ("copy", limits.copy_ns, "limit: copying a unit, CPU time"),
        ("first_touch", limits.first_touch_ns, touch),
        (
            "compress",
            limits.compress_ns,
            "limit: LZ4 of a unit alone, CPU time",
        ),
        (
            "decompress",
            limits.decompress_ns,
            "limit: LZ4 of a unit alone, CPU time",
        ),
        ("hash", limits.hash_ns, "hash of a unit, CPU time"),
        ("zero", limits.zero_ns, "zeros of a unit, CPU time"),
        (
            "round_trip",
            parts.round_trip_ns,
            "from touch to handler and back, elapsed",
        ),
        ("decide", parts.decide_ns, rest),
    ]
}

/// The costs of calls with several units: name, cost, what it is.
fn batch_costs(found: &Found) -> Vec<(String, Batch, &'static str)> {
    let parts = &found.parts;
    let take = "taking neighboring units from the program, CPU time";
    let give = "giving them to the program, CPU time";
    let mut costs = vec![
        ("take".to_owned(), parts.take, take),
        ("give".to_owned(), parts.give, give),
    ];
    for (name, store) in &found.stores {
        costs.push((
            format!("{name}.put"),
            store.put,
            "writing to the store, elapsed",
        ));
        costs.push((
            format!("{name}.get"),
            store.get,
            "reading from the store, elapsed",
        ));
    }
    costs
}

fn rows(found: &Found) -> Vec<Row> {
    let row = |cost: &str| {
        let row = Row::new().parameter("cost", cost);
        row.parameter("data", found.data.name())
    };
    let timed = |cost: &str, ns: f64, what: &str| row(cost).metric("ns", ns).metric("what", what);
    let mut rows = Vec::new();
    for (name, ns, what) in single_costs(found) {
        rows.push(timed(name, ns, what));
    }
    for (name, cost, what) in batch_costs(found) {
        let call = format!("{what}: a call");
        rows.push(timed(&format!("{name}.call"), cost.call_ns, &call));
        let unit = format!("{what}: each unit");
        rows.push(timed(&format!("{name}.unit"), cost.unit_ns, &unit));
    }
    for (name, store) in &found.stores {
        let row = row(&format!("{name}.bytes")).metric("bytes", store.unit_bytes);
        rows.push(row.metric("what", "room that a unit takes up"));
    }
    rows
}

fn results(found: &Found) -> ResultSet {
    ResultSet {
        scenario: "pager-probe".to_owned(),
        title: format!("Costs of the pager on {}", computer()),
        about: "Measured, least of several runs each. A unit is 4 KiB.".to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: vec![
            Column::parameter("cost", ColumnKind::Text, "what is measured"),
            Column::parameter("data", ColumnKind::Text, "bytes that are kept"),
            Column::metric("ns", ColumnKind::TimeNs, "the cost"),
            Column::metric("bytes", ColumnKind::Bytes, "bytes of a unit in the store"),
            Column::metric("what", ColumnKind::Text, "what it is"),
        ],
        rows: rows(found),
        ..ResultSet::default()
    }
}

/// The processor and the kernel.
fn computer() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = (cpuinfo.lines()).find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let name = name.map_or("an unknown processor", |(_, name)| name.trim());
    format!("{name}, {cores} cores, Linux {}", release.trim()).replace(['"', '\\'], "")
}

/// A machine of kind "pager" in TOML.
fn machine_file(found: &Found) -> String {
    let computer = computer();
    let source = format!(
        "measured by `pagemill doctor pager --data {}`",
        found.data.name()
    );
    let mut text = format!(
        "# Costs of the pager on one computer, as `pagemill doctor pager` measured them.\n\n\
         title = \"Pager on {computer}\"\nkind = \"pager\"\n"
    );
    let mut section = |name: &str, values: &[(&str, f64)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[{name}]");
        for (key, ns) in values {
            let ns = ns.round();
            let _ = writeln!(
                text,
                "{key} = {{ value = \"{ns} ns\", source = \"{source}\" }}"
            );
        }
    };
    let parts = &found.parts;
    let fault = [
        ("round_trip", parts.round_trip_ns),
        ("decide", parts.decide_ns),
    ];
    section("fault", &fault);
    section(
        "unit",
        &[
            ("hash", found.limits.hash_ns),
            ("zero", found.limits.zero_ns),
        ],
    );
    let mut batch = |name: &str, cost: Batch| {
        section(name, &[("call", cost.call_ns), ("unit", cost.unit_ns)]);
    };
    batch("take", parts.take);
    batch("give", parts.give);
    for (name, store) in &found.stores {
        batch(&format!("stores.{name}.put"), store.put);
        batch(&format!("stores.{name}.get"), store.get);
    }
    text
}
