//! Rows of source lines: what happened for the accesses of each line of a CUDA program.

use std::cmp::Reverse;

use pagemill_report::ColumnKind::TimeNs;
use pagemill_report::Row;
use pagemill_sim::LineReport;

use super::super::metric::{self, Metric, nanoseconds};

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
    let short = base(&line.file);
    let is_unique = lines
        .iter()
        .all(|other| other.file == line.file || base(&other.file) != short);
    let file = if is_unique { short } else { &line.file };
    format!("{file}:{}", line.line)
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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
mod tests {
    use super::*;
    use pagemill_sim::LineAccount;
    use pagemill_types::Picos;

    fn line(file: &str, line: u32, waiting: u64) -> LineReport {
        let account = LineAccount {
            waiting: Picos(waiting),
            ..LineAccount::default()
        };
        LineReport {
            file: file.to_owned(),
            line,
            account,
        }
    }

    #[test]
    fn names_are_as_long_as_they_must_be() {
        let lines = [
            line("a/x.cu", 1, 0),
            line("b/x.cu", 2, 0),
            line("b/y.cu", 3, 0),
        ];
        let names: Vec<String> = lines.iter().map(|one| name(one, &lines)).collect();
        assert_eq!(names, ["a/x.cu:1", "b/x.cu:2", "y.cu:3"]);
    }

    #[test]
    fn the_longest_waits_stay_where_there_are_many_lines() {
        let lines: Vec<_> = (1..=60).map(|at| line("x.cu", at, u64::from(at))).collect();
        let numbers: Vec<u32> = busiest(&lines).iter().map(|line| line.line).collect();
        assert_eq!(numbers, (11..=60).collect::<Vec<_>>());
    }
}
