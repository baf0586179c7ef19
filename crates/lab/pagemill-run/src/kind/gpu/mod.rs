//! `kind = "gpu"`: one program on one simulated GPU.

pub mod metrics;
pub mod plots;
mod ranges_per_page;
mod timeline;

use std::sync::Arc;

use pagemill_report::{ColumnKind, Row};
use pagemill_scenario::{GpuPoint, PROGRAMMER_COPY, Point};
use pagemill_sim::{Host, Options};

use super::{Ratio, View};
use crate::pool::PointError;
use crate::results::parameters;
use crate::{Outcome, RunOptions};

/// The column of [`RATIO`].
pub const TIME_RATIO: &str = "time_over_programmer_copy";

/// Time is compared with that of the programmer's copies.
pub const RATIO: Ratio = Ratio {
    column: TIME_RATIO,
    of: "time_ns",
    parameter: "mode",
    base: PROGRAMMER_COPY,
    doc: "time_ns over that of `programmer-copy` with otherwise equal parameters; `null` where that mode was not run",
};

pub const VIEW: View = View {
    identity: &[
        ("workload", ColumnKind::Text, "the program"),
        ("mode", ColumnKind::Text, "how its data gets to the GPU"),
    ],
    metrics: metrics::columns,
    headline: &[
        "time_ns",
        TIME_RATIO,
        "migrated_bytes",
        "touched_bytes",
        "tlb_miss_rate",
        "thread_instructions",
        "ranges_per_page_mean",
    ],
    ratio: Some(RATIO),
    plots: |rows, columns| plots::plots(rows, columns, "workload"),
};

/// Runs the program, which checks its own results.
pub fn run(point: &Point, spec: &GpuPoint, options: &RunOptions) -> Result<Outcome, PointError> {
    let failed = |error: &dyn std::fmt::Display| PointError::Failed(error.to_string());
    let mut limits = spec.limits;
    limits.timeline_events = limits.timeline_events.min(options.events_max);
    let gpu_options = Options {
        timing: true,
        detail: spec.detail,
        timeline: limits.timeline_events > 0,
        limits,
        workers: options.threads,
    };
    let mut host = Host::new(&spec.machine.spec, spec.transfer_mode(), gpu_options)
        .map_err(|error| failed(&error))?;
    if let Some(stop) = &options.stop {
        host.gpu.stop_when(Arc::clone(stop));
    }
    let checked = spec
        .workload
        .program
        .run(&mut host)
        .map_err(|error| failed(&error))?;
    let mut report = host.finish();
    let row = parameters(
        point,
        Row::new()
            .parameter("workload", spec.workload.name)
            .parameter("mode", spec.transfer.mode),
    );
    let row = metrics::add_run(row, &report);
    let row = metrics::add_program(row, &report, &checked, spec.machine.spec.core_clock);
    Ok(Outcome {
        events: Some(Box::new(std::mem::take(&mut report.timeline))),
        page_map: report.page_map,
        output: report.output,
        ..Outcome::of(row)
    })
}
