//! `kind = "gpu"`: one program on one simulated GPU.

use pagemill_report::Row;
use pagemill_scenario::{GpuPoint, Point};
use pagemill_sim::{Gpu, Options};

use super::Outcome;
use super::metrics::add_metrics;
use super::pool::PointError;
use super::results::parameters;
use super::timeline::PointEvents;

/// Runs the program, which checks its own results, and keeps at most `events_max` events.
pub fn run(point: &Point, spec: &GpuPoint, events_max: usize) -> Result<Outcome, PointError> {
    let failed = |error: &dyn std::fmt::Display| PointError::Failed(error.to_string());
    let mut limits = spec.limits;
    limits.timeline_events = limits.timeline_events.min(events_max);
    let options = Options {
        timing: true,
        timeline: limits.timeline_events > 0,
        limits,
    };
    let mut gpu = Gpu::new(&spec.machine.gpu, spec.transfer_mode(), options)
        .map_err(|error| failed(&error))?;
    let checked = spec
        .workload
        .program
        .run(&mut gpu)
        .map_err(|error| failed(&error))?;
    let mut report = gpu.finish();
    let row = parameters(
        point,
        Row::new()
            .parameter("workload", spec.workload.name)
            .parameter("mode", spec.transfer.mode),
    );
    let row = add_metrics(row, &report, &checked);
    Ok(Outcome {
        row,
        events: PointEvents::new(std::mem::take(&mut report.timeline)),
        output: report.output,
    })
}
