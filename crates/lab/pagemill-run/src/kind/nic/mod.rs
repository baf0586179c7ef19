//! `kind = "nic"`: communication over simulated network interfaces.

mod metrics;
mod plots;

use pagemill_nic::pattern::{run_dma, run_ports};
use pagemill_report::{ColumnKind, Row};
use pagemill_scenario::{NicPoint, NicWorkload, Point};

use super::View;
use crate::Outcome;
use crate::pool::PointError;
use crate::results::parameters;
use metrics::{METRICS, Measured};
use pagemill_report::metric::{self, columns};

pub const VIEW: View = View {
    identity: &[("workload", ColumnKind::Text, "the pattern of communication")],
    metrics: || columns(METRICS),
    headline: &[
        "message_time_ns",
        "bandwidth_bytes_per_second",
        "messages_per_second",
        "att_miss_rate",
        "att_wait_time_ns",
        "link_wait_time_ns",
    ],
    ratio: None,
    plots: plots::plots,
};

/// Runs the pattern to its end.
pub fn run(point: &Point, spec: &NicPoint) -> Result<Outcome, PointError> {
    let measured = measure(spec).map_err(PointError::Failed)?;
    let row = parameters(
        point,
        Row::new().parameter("workload", spec.workload.name()),
    );
    Ok(Outcome::of(metric::add(row, METRICS, &measured)))
}

fn measure(spec: &NicPoint) -> Result<Measured, String> {
    let machine = &spec.machine.spec;
    let measured = match &spec.workload {
        NicWorkload::Latency(latency) => {
            let (time, report) = latency.run(machine).map_err(|error| error.to_string())?;
            Measured::of_latency(time, latency, &report)
        }
        NicWorkload::Bandwidth(bandwidth) => {
            let (time, report) = bandwidth.run(machine).map_err(|error| error.to_string())?;
            Measured::of_bandwidth(time, bandwidth, &report)
        }
        NicWorkload::Ports(ports) => {
            let report = run_ports(ports, machine).map_err(|error| error.to_string())?;
            Measured::of_ports(&report, ports.bytes)
        }
        NicWorkload::Dma(dma) => {
            let report = run_dma(dma, machine).map_err(|error| error.to_string())?;
            Measured::of_dma(&report, dma)
        }
        NicWorkload::Exchange(exchange) => {
            let (report, rate) = exchange.run(machine).map_err(|error| error.to_string())?;
            let messages = exchange.messages();
            let bytes = messages.saturating_mul(exchange.bytes);
            Measured::of_program(messages, bytes, &report).with_rank_rate(rate)
        }
    };
    Ok(measured)
}
