//! Launches that failed: in the rows of their kernels, and first in the report.

use pagemill_report::ColumnKind::{Count, Text};
use pagemill_report::{Row, Summary, Value};
use pagemill_wire::FailedLaunches;
use pagemill_wire::readable_text;

use super::about::About;
use pagemill_report::metric::{self, Metric};

/// Whether launches failed.
#[rustfmt::skip]
pub const STATUS: &[Metric<Failed>] = &[
    Metric::new("status", Text, "ok, or the error codes of the launches that failed",
        |failed| if failed.codes.is_empty() { "ok".into() } else { failed.codes.join(", ").into() }),
    Metric::new("failed_launches", Count, "launches that were refused or did not come to their end; not in launches, nor in any other figure",
        |failed| failed.launches.into()),
    Metric::sometimes("failure", Text, "why the first of them failed",
        |failed| Some(readable_text(failed.cause.as_ref()?).into())),
];

/// How the program ended.
#[rustfmt::skip]
pub const ENDED: &[Metric<String>] = &[
    Metric::new("ended", Text, "how the program ended, if that was before its end: by a signal, `_exit`, `quick_exit` or `exec`. Its rows have what was finished by then",
        |ended| ended.as_str().into()),
];

/// The failed launches that a row is about.
#[derive(Default)]
pub struct Failed {
    launches: u64,
    /// Each once.
    codes: Vec<String>,
    /// Of the first.
    cause: Option<String>,
}

/// The row with what became of the launches that it is about.
pub fn add_status<'a>(row: Row, launches: impl Iterator<Item = &'a FailedLaunches>) -> Row {
    let mut failed = Failed::default();
    for one in launches {
        failed.launches += one.launches;
        if !failed.codes.contains(&one.status) {
            failed.codes.push(one.status.clone());
        }
        failed.cause.get_or_insert_with(|| one.cause.clone());
    }
    metric::add(row, STATUS, &failed)
}

/// Adds to the summary of a run how many launches failed, and why.
pub fn summarize(rows: &[Row], summary: &mut Summary) {
    let mut count = 0;
    for row in rows {
        let text = |name: &str| row.get(name).map(Value::to_string).unwrap_or_default();
        if row.get("ended").is_some() && About::Program.is_of(row) {
            summary.warnings.push(format!(
                "{} ended early ({}): its rows have what was finished by then",
                text("program"),
                text("ended"),
            ));
        }
        let failed = match row.get("failed_launches") {
            Some(Value::Unsigned(failed)) if *failed > 0 => *failed,
            _ => continue,
        };
        if About::Program.is_of(row) {
            count += failed;
            continue;
        }
        summary.warnings.push(format!(
            "{failed} {} of {} failed ({}): {}",
            if failed == 1 { "launch" } else { "launches" },
            text("kernel"),
            text("status"),
            text("failure"),
        ));
    }
    summary.failed_launches = Some(count);
}

#[cfg(test)]
mod tests;
