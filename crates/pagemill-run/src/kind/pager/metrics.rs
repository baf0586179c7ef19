//! What a replay is measured by: the names of `pagemill pager run`. `docs/results.md` describes the same columns.

use pagemill_policy::paging::UNIT_BYTES;
use pagemill_report::{ColumnKind, Row};
use pagemill_sim::paging::PagingReport;

/// Every metric with what it means, in the order of the row.
pub const METRICS: &[(&str, ColumnKind, &str)] = &[
    (
        "time_ns",
        ColumnKind::TimeNs,
        "from the first event until the last fault is answered",
    ),
    (
        "service_ns",
        ColumnKind::TimeNs,
        "time from the handler's reading of a fault to its end",
    ),
    ("read_faults", ColumnKind::Count, "faults by reads"),
    ("write_faults", ColumnKind::Count, "faults by writes"),
    (
        "fetched_units",
        ColumnKind::Count,
        "units read from the store",
    ),
    ("fetched_bytes", ColumnKind::Bytes, "bytes of them"),
    (
        "zero_units",
        ColumnKind::Count,
        "units of zeros that were made rather than read",
    ),
    (
        "evicted_units",
        ColumnKind::Count,
        "units that left their frames",
    ),
    (
        "written_units",
        ColumnKind::Count,
        "units written to the store, because they had changed",
    ),
    ("written_bytes", ColumnKind::Bytes, "bytes of them"),
    (
        "clean_units",
        ColumnKind::Count,
        "units that left unchanged: nothing was written",
    ),
    (
        "evicted_pages",
        ColumnKind::Count,
        "pages that were evicted",
    ),
    (
        "resident_units_max",
        ColumnKind::Count,
        "the most units in frames at a time",
    ),
    (
        "avoided_faults",
        ColumnKind::Count,
        "touches of the trace that found their unit in a frame",
    ),
];

/// The row with everything that was counted.
pub fn add(report: &PagingReport, row: Row) -> Row {
    let bytes = |units: u64| units * u64::from(UNIT_BYTES);
    row.metric("time_ns", report.time.0 as f64 / 1e3)
        .metric("service_ns", report.service.0 as f64 / 1e3)
        .metric("read_faults", report.read_faults)
        .metric("write_faults", report.write_faults)
        .metric("fetched_units", report.fetched_units)
        .metric("fetched_bytes", bytes(report.fetched_units))
        .metric("zero_units", report.zero_units)
        .metric("evicted_units", report.evicted_units)
        .metric("written_units", report.written_units)
        .metric("written_bytes", bytes(report.written_units))
        .metric("clean_units", report.clean_units)
        .metric("evicted_pages", report.evicted_pages)
        .metric("resident_units_max", report.resident_units_max)
        .metric("avoided_faults", report.avoided_faults)
}
