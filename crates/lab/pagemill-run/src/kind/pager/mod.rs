//! `kind = "pager"`: a program whose memory is paged, from its page trace or as a pattern.

mod metrics;

use pagemill_pages::paging::{Touches, replay, replay_recorded};
use pagemill_policy::paging::{PagingSpec, Trace, UNIT_BYTES};
use pagemill_report::{ColumnKind, Row};
use pagemill_scenario::{PagerPoint, PagerSource, Point};

use super::View;
use crate::pool::PointError;
use crate::results::parameters;
use crate::{Outcome, RunOptions};
use metrics::METRICS;
use pagemill_report::metric;

pub const VIEW: View = View {
    identity: &[
        ("machine", ColumnKind::Text, "the machine file"),
        ("workload", ColumnKind::Text, "a page trace, or a pattern"),
        ("program", ColumnKind::Text, "the program"),
        ("memory_bytes", ColumnKind::Bytes, "frames for paged memory"),
        ("to", ColumnKind::Text, "the store"),
        ("page_bytes", ColumnKind::Bytes, "what is evicted as one"),
        ("policy", ColumnKind::Text, "migration policy"),
        ("growth", ColumnKind::Text, "growth policy"),
        ("read_ahead", ColumnKind::Text, "read-ahead policy"),
        ("eviction", ColumnKind::Text, "eviction policy"),
    ],
    metrics: || metric::columns(METRICS),
    headline: &[
        "time_ns",
        "read_faults",
        "write_faults",
        "fetched_bytes",
        "written_bytes",
    ],
    ratio: None,
    plots: |_, _| Vec::new(),
};

/// Replays the program to its end.
pub fn run(point: &Point, spec: &PagerPoint, options: &RunOptions) -> Result<Outcome, PointError> {
    let (program, usual, touches) = touches(spec)?;
    let rules = spec.rules.over(usual);
    let (machine, store) = (&spec.machine.spec, &spec.store);
    let ran = match options.events_max {
        0 => replay(&touches, &rules, machine, store).map(|report| (report, Vec::new())),
        _ => replay_recorded(&touches, &rules, machine, store),
    };
    let (report, page_map) = ran.map_err(|error| PointError::Refused(error.to_string()))?;
    let row = Row::new()
        .parameter("machine", spec.machine.name.as_str())
        .parameter("workload", spec.workload)
        .parameter("program", program)
        .parameter(
            "memory_bytes",
            u64::from(rules.budget_units) * u64::from(UNIT_BYTES),
        )
        .parameter("to", spec.store.name.as_str())
        .parameter("page_bytes", rules.migration.page.bytes())
        .parameter("policy", rules.migration.policy.name)
        .parameter("growth", rules.growth.name)
        .parameter("read_ahead", rules.read_ahead.name)
        .parameter("eviction", rules.eviction.name);
    let row = parameters(point, row);
    Ok(Outcome {
        page_map,
        ..Outcome::of(metric::add(row, METRICS, &report))
    })
}

/// The program's name, the rules where the scenario sets none, and what the program does.
fn touches(spec: &PagerPoint) -> Result<(String, PagingSpec, Touches), PointError> {
    let path = match &spec.source {
        PagerSource::Pattern(pattern) => {
            let usual = PagingSpec::new(u32::MAX);
            let name = spec.workload.to_owned();
            return Ok((name, usual, Touches::of_pattern(pattern)));
        }
        PagerSource::Trace(path) => path,
    };
    let failed =
        |error: &dyn std::fmt::Display| PointError::Refused(format!("{}: {error}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    let trace = Trace::parse(&bytes).map_err(|error| failed(&error))?;
    let (program, usual) = (trace.program.clone(), trace.spec.clone());
    let touches = Touches::of_trace(trace).map_err(|error| failed(&error))?;
    Ok((program, usual, touches))
}
