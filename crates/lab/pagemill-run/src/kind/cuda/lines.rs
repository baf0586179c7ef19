//! Rows of source lines: what happened for the accesses of each line of a CUDA program.

use std::cmp::Reverse;

use pagemill_report::ColumnKind::TimeNs;
use pagemill_report::Row;
use pagemill_sim::LineReport;

use crate::quotient::nanoseconds;
use pagemill_report::metric::{self, Metric};

/// The most rows of lines.
const ROWS: usize = 50;

/// The column that only rows of lines have.
#[rustfmt::skip]
pub const WAITING: &[Metric<LineReport>] = &[
    Metric::new("waiting_time_ns", TimeNs, "of a line: time that warps stand still for its results, summed over warps: many times the time of the run",
        |line| nanoseconds(line.account.waiting).into()),
];

/// The lines in their order; where there are more than 50, those for which warps waited longest.
pub fn busiest(lines: &[LineReport]) -> Vec<&LineReport> {
    let mut busiest: Vec<&LineReport> = lines.iter().collect();
    let weight = |line: &LineReport| (line.account.waiting, line.account.traffic.link_bytes());
    busiest.sort_by_key(|line| Reverse(weight(line)));
    busiest.truncate(ROWS);
    busiest.sort_by_key(|line| (&line.file, line.line));
    busiest
}

/// `probe.cu:31`, with as much of the path as distinguishes it from others of `lines`.
pub fn name(line: &LineReport, lines: &[LineReport]) -> String {
    let is_others = |short: &str| {
        let mut others = lines.iter().filter(|other| other.file != line.file);
        others.any(|other| last(&other.file, short.split('/').count()) == short)
    };
    let parts = 1..=line.file.split('/').count();
    let mut names = parts.map(|parts| last(&line.file, parts));
    let file = names.find(|short| !is_others(short));
    format!("{}:{}", file.unwrap_or(&line.file), line.line)
}

/// The last `parts` of a path.
fn last(path: &str, parts: usize) -> &str {
    let start = path.rmatch_indices('/').nth(parts - 1);
    start.map_or(path, |(at, _)| &path[at + 1..])
}

/// The row with what happened for a line.
pub fn add_account(row: Row, line: &LineReport) -> Row {
    let account = &line.account;
    let traffic = &account.traffic;
    let row = row
        .metric("migrated_bytes", traffic.migrated_bytes)
        .metric("repeated_bytes", traffic.repeated_bytes)
        .metric("returned_bytes", traffic.returned_bytes)
        .metric("populated_bytes", traffic.populated_bytes)
        .metric("remote_bytes", traffic.remote_bytes)
        .metric("evictions", traffic.evictions)
        .metric("tlb_misses", account.tlb_misses);
    metric::add(row, WAITING, line)
}

#[cfg(test)]
mod tests;
