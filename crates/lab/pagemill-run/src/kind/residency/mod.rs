//! `kind = "residency"`: one point of the oversubscription benchmark, simulated.

mod metrics;
mod plots;

use pagemill_pages::patterns::{self, UvmError};
use pagemill_scenario::{Point, ResidencyPoint};

use super::View;
use crate::pool::PointError;
use crate::residency_row::{self, Identity};
use crate::results::parameters;
use crate::{Outcome, RunOptions};
use metrics::METRICS;
use pagemill_report::metric;

pub const VIEW: View = View {
    identity: residency_row::IDENTITY,
    metrics: || metric::columns(METRICS),
    headline: &[
        "bandwidth_bytes_per_second",
        "time_ns",
        "allocated_bytes",
        "faults",
        "migrated_bytes",
        "evicted_bytes",
        "remote_bytes",
        "bound",
    ],
    ratio: None,
    plots: plots::plots,
};

/// Runs the point.
pub fn run(
    point: &Point,
    spec: &ResidencyPoint,
    options: &RunOptions,
) -> Result<Outcome, PointError> {
    let mut watch = |done| {
        options.report(point, done);
        !options.is_stopped()
    };
    let ran = patterns::run_watched(
        &spec.machine.spec,
        &spec.point,
        options.events_max,
        &mut watch,
    );
    let (report, recorded) = ran.map_err(|error| match error {
        UvmError::Stopped => PointError::Stopped,
        error => PointError::Failed(error.to_string()),
    })?;
    let identity = Identity {
        machine: &spec.machine.name,
        pattern: spec.point.pattern,
        variant: spec.point.variant,
        strategy: spec.point.strategy,
        stripe_bytes: spec.point.stripe_bytes,
        factor: spec.point.factor,
    };
    let row = metric::add(parameters(point, identity.row()), METRICS, &report);
    Ok(Outcome {
        events: Some(Box::new(recorded.timeline)),
        page_map: recorded.page_map,
        ..Outcome::of(row)
    })
}
