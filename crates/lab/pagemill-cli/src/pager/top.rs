//! The pagers that run on this computer.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use pagemill_pager::remote::{Address, read_metrics};
use pagemill_pager::{Count, Running, UNIT_BYTES, running};
use pagemill_report::{Column, ColumnKind, ResultSet, Row};

use super::arguments::TopArguments;
use super::serve::{token, usage};
use crate::failure::Failure;
use crate::output;

/// To the upper left corner, and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// What is shown of a pager or a server at one moment.
struct Sample {
    key: PathBuf,
    name: String,
    process: u32,
    kind: &'static str,
    budget_bytes: u64,
    resident_bytes: u64,
    /// Of a server; a pager does not count it while it runs.
    stored_bytes: Option<u64>,
    /// Counts that only grow, in the order of [`RATES`].
    counts: [u64; RATES.len()],
}

/// Columns of counts that grow, each over a second.
const RATES: [(&str, ColumnKind, &str); 6] = [
    (
        "read_faults_per_s",
        ColumnKind::Number,
        "faults by reads a second",
    ),
    (
        "write_faults_per_s",
        ColumnKind::Number,
        "faults by writes a second",
    ),
    (
        "zero_units_per_s",
        ColumnKind::Number,
        "units of zeros made a second",
    ),
    (
        "in_bytes_per_s",
        ColumnKind::BytesPerSecond,
        "bytes from the store a second",
    ),
    (
        "out_bytes_per_s",
        ColumnKind::BytesPerSecond,
        "bytes to the store a second",
    ),
    (
        "wait_share",
        ColumnKind::Ratio,
        "time in which faults were being answered, over the time that passed; more than 1 for several threads",
    ),
];

pub fn top(arguments: &TopArguments) -> Result<(), Failure> {
    let is_live = !arguments.once && std::io::stdout().is_terminal();
    let mut before = (Instant::now(), samples(arguments)?);
    loop {
        std::thread::sleep(arguments.interval);
        let now = (Instant::now(), samples(arguments)?);
        let seconds = (now.0 - before.0).as_secs_f64();
        if is_live {
            output::print_text(CLEAR)?;
        }
        output::print_results(&results(&before.1, &now.1, seconds), arguments.format)?;
        if arguments.once {
            return Ok(());
        }
        before = now;
    }
}

fn samples(arguments: &TopArguments) -> Result<Vec<Sample>, Failure> {
    let found = running(&arguments.folder).map_err(usage)?;
    let mut samples: Vec<Sample> = found.iter().map(of_program).collect();
    if let Some(address) = &arguments.server {
        let server: Address = address.parse().map_err(usage)?;
        let token = token(&arguments.tenant)?;
        let text = read_metrics(&server, &arguments.tenant.tenant, &token)
            .map_err(|error| Failure::Run(error.to_string()))?;
        samples.push(of_server(address, &text));
    }
    Ok(samples)
}

fn of_program(running: &Running) -> Sample {
    let units = UNIT_BYTES as u64;
    Sample {
        key: running.folder.clone(),
        // A name may hold anything, also what a terminal obeys.
        name: running.program.escape_default().to_string(),
        process: running.process,
        kind: "program",
        budget_bytes: running.setup.budget_bytes,
        resident_bytes: running.get(Count::ResidentUnits).saturating_mul(units),
        stored_bytes: None,
        counts: [
            running.get(Count::ReadFaults),
            running.get(Count::WriteFaults),
            running.get(Count::ZeroUnits),
            running.get(Count::FetchedUnits).saturating_mul(units),
            running.get(Count::WrittenBytes),
            running.get(Count::ServiceNs),
        ],
    }
}

/// From a server's counters in the text format of Prometheus.
fn of_server(address: &str, metrics: &str) -> Sample {
    let value = |name: &str| {
        let lines = metrics.lines().filter_map(|line| line.split_once(' '));
        let of_name = |(key, value): (&str, &str)| {
            let name = key.strip_prefix("pagemill_pager_")? == name;
            name.then(|| value.parse().ok())?
        };
        lines.filter_map(of_name).next().unwrap_or(0_u64)
    };
    let units = UNIT_BYTES as u64;
    let put_bytes = (value("put_units_total").saturating_mul(units))
        .saturating_add(value("put_lines_total").saturating_mul(64));
    Sample {
        key: PathBuf::from(address),
        name: address.escape_default().to_string(),
        process: 0,
        kind: "server",
        budget_bytes: 0,
        resident_bytes: 0,
        stored_bytes: Some(value("stored_bytes")),
        counts: [
            0,
            0,
            0,
            value("got_units_total").saturating_mul(units),
            put_bytes,
            0,
        ],
    }
}

fn results(before: &[Sample], now: &[Sample], seconds: f64) -> ResultSet {
    let known: HashMap<_, _> = before.iter().map(|one| (&one.key, one)).collect();
    let rows = (now.iter()).map(|sample| row(sample, known.get(&sample.key).copied(), seconds));
    ResultSet {
        scenario: "pager-top".to_owned(),
        title: "Pagers of this computer".to_owned(),
        about: "Measured: rates over the time since the last look.".to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: columns(),
        rows: rows.collect(),
        ..ResultSet::default()
    }
}

/// A program that was not there before has counted from nothing.
fn row(sample: &Sample, before: Option<&Sample>, seconds: f64) -> Row {
    let mut row = Row::new()
        .parameter("name", sample.name.as_str())
        .parameter("process", u64::from(sample.process))
        .parameter("kind", sample.kind)
        .metric("memory_bytes", sample.budget_bytes)
        .metric("resident_bytes", sample.resident_bytes);
    if let Some(bytes) = sample.stored_bytes {
        row = row.metric("stored_bytes", bytes);
    }
    for (index, (name, ..)) in RATES.iter().enumerate() {
        let earlier = before.map_or(0, |before| before.counts[index]);
        // Fewer than before: a process and its file are gone.
        let more = sample.counts[index].saturating_sub(earlier) as f64;
        let per_second = more / seconds;
        let value = match *name {
            "wait_share" => per_second / 1e9,
            _ => per_second.round(),
        };
        row = row.metric(*name, value);
    }
    row
}

fn columns() -> Vec<Column> {
    use ColumnKind::{Bytes, Number, Text};
    let mut columns = vec![
        Column::parameter("name", Text, "program, or address of a server"),
        Column::parameter("process", Number, "process that started the pager"),
        Column::parameter("kind", Text, "program or server"),
        Column::metric("memory_bytes", Bytes, "frames for paged memory"),
        Column::metric("resident_bytes", Bytes, "bytes in frames"),
        Column::metric(
            "stored_bytes",
            Bytes,
            "bytes that a server's store takes up",
        ),
    ];
    columns.extend(
        RATES
            .iter()
            .map(|&(name, kind, help)| Column::metric(name, kind, help)),
    );
    columns
}
