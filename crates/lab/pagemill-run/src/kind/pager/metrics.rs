//! What a replay is measured by: the names of `pagemill pager run`.

use pagemill_pages::paging::PagingReport;
use pagemill_policy::paging::UNIT_BYTES;
use pagemill_report::ColumnKind::{Bytes, Count, TimeNs};

use crate::quotient::nanoseconds;
use pagemill_report::metric::Metric;

#[rustfmt::skip]
pub const METRICS: &[Metric<PagingReport>] = &[
    Metric::new("time_ns", TimeNs, "from the first event until the last fault is answered",
        |report| nanoseconds(report.time).into()),
    Metric::new("service_ns", TimeNs, "time from the handler's reading of a fault to its end",
        |report| nanoseconds(report.service).into()),
    Metric::new("read_faults", Count, "faults by reads",
        |report| report.read_faults.into()),
    Metric::new("write_faults", Count, "faults by writes",
        |report| report.write_faults.into()),
    Metric::new("fetched_units", Count, "units read from the store",
        |report| report.fetched_units.into()),
    Metric::new("fetched_bytes", Bytes, "bytes of them",
        |report| bytes(report.fetched_units).into()),
    Metric::new("zero_units", Count, "units of zeros that were made rather than read",
        |report| report.zero_units.into()),
    Metric::new("evicted_units", Count, "units that left their frames",
        |report| report.evicted_units.into()),
    Metric::new("written_units", Count, "units written to the store, because they had changed",
        |report| report.written_units.into()),
    Metric::new("written_bytes", Bytes, "bytes of them",
        |report| bytes(report.written_units).into()),
    Metric::new("clean_units", Count, "units that left unchanged: nothing was written",
        |report| report.clean_units.into()),
    Metric::new("evicted_pages", Count, "pages that were evicted",
        |report| report.evicted_pages.into()),
    Metric::new("resident_units_max", Count, "the most units in frames at a time",
        |report| report.resident_units_max.into()),
    Metric::new("avoided_faults", Count, "touches of the trace that found their unit in a frame",
        |report| report.avoided_faults.into()),
];

fn bytes(units: u64) -> u64 {
    units * u64::from(UNIT_BYTES)
}
