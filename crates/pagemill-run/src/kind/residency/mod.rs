//! `kind = "residency"`: one point of the oversubscription benchmark, simulated.

mod metrics;
mod plots;

use pagemill_report::{ColumnKind, Row};
use pagemill_scenario::{Point, ResidencyPoint};
use pagemill_sim::uvm;

use super::View;
use crate::Outcome;
use crate::pool::PointError;
use crate::results::parameters;

pub const VIEW: View = View {
    identity: &[
        ("machine", ColumnKind::Text, "the machine"),
        (
            "pattern",
            ColumnKind::Text,
            "which bytes the kernel reads, and in which order",
        ),
        (
            "variant",
            ColumnKind::Text,
            "whether the warps of a block keep together",
        ),
        (
            "strategy",
            ColumnKind::Text,
            "how the program places its data",
        ),
        (
            "stripe_bytes",
            ColumnKind::Bytes,
            "granule that striping deals out",
        ),
        (
            "oversubscription_factor",
            ColumnKind::Ratio,
            "allocated bytes over the bytes of GPU memory free for them",
        ),
    ],
    metrics: metrics::METRICS,
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
pub fn run(point: &Point, spec: &ResidencyPoint) -> Result<Outcome, PointError> {
    let report = uvm::run(&spec.machine.spec, &spec.point)
        .map_err(|error| PointError::Failed(error.to_string()))?;
    let row = parameters(
        point,
        Row::new()
            .parameter("machine", spec.machine.name.as_str())
            .parameter("pattern", spec.point.pattern.name())
            .parameter("variant", spec.point.variant.name())
            .parameter("strategy", spec.point.strategy.name)
            .parameter("stripe_bytes", spec.point.stripe_bytes)
            .parameter("oversubscription_factor", spec.point.factor),
    );
    Ok(Outcome::of(metrics::add_metrics(row, &report)))
}
