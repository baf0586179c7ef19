//! How much memory a program has at a time, and how much the GPU gives it.

use pagemill_report::ColumnKind::{Bytes, Number, Ratio};
use pagemill_sim::Report;

use pagemill_report::metric::Metric;

/// The memory of a whole program.
pub struct Capacity {
    peak_bytes: u64,
    capacity_bytes: Option<u64>,
    oversubscribe: Option<f64>,
}

impl Capacity {
    /// That of a program which ran with an oversubscription `factor`, if one was asked for.
    pub fn of(report: &Report, factor: Option<f64>) -> Self {
        Self {
            peak_bytes: report.allocated.peak_bytes,
            capacity_bytes: report.capacity_bytes,
            oversubscribe: factor,
        }
    }
}

#[rustfmt::skip]
pub const CAPACITY: &[Metric<Capacity>] = &[
    Metric::new("peak_bytes", Bytes, "GPU memory that would hold all that was allocated at once, managed memory in whole pages",
        |memory| memory.peak_bytes.into()),
    Metric::sometimes("capacity_bytes", Bytes, "GPU memory that the program got; none where it is not limited",
        |memory| Some(memory.capacity_bytes?.into())),
    Metric::sometimes("oversubscription", Ratio, "peak_bytes over capacity_bytes",
        |memory| Some((memory.peak_bytes as f64 / memory.capacity_bytes?.max(1) as f64).into())),
    Metric::sometimes("oversubscribe", Number, "the factor that was asked for",
        |memory| Some(memory.oversubscribe?.into())),
];
