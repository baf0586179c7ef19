//! What a run of the fault path is measured by. `docs/results.md` describes the same columns.

use pagemill_report::{ColumnKind, Row};
use pagemill_sim::fault_path::FaultPathReport;
use pagemill_types::Clock;

/// Every metric with what it means, in the order of the row.
pub const METRICS: &[(&str, ColumnKind, &str)] = &[
    (
        "fault_cycles",
        ColumnKind::Number,
        "a fault on its own CPU, with waiting, mean; cycles of the core",
    ),
    (
        "fault_max_cycles",
        ColumnKind::Number,
        "the longest fault; cycles of the core",
    ),
    (
        "clean_time_ns",
        ColumnKind::TimeNs,
        "from the start of a fault until its page is clean, mean; 0 if it was clean before",
    ),
    (
        "helper_cpu_ns_per_fault",
        ColumnKind::TimeNs,
        "CPU time of the helper, with what it did before the start, over the faults",
    ),
    (
        "cpu_ns_per_fault",
        ColumnKind::TimeNs,
        "faults and helper together, over the faults",
    ),
    (
        "loop_cycles",
        ColumnKind::Number,
        "a loop of the co-runner with the faults in it, mean; 0 where there is none",
    ),
    (
        "loop_std_cycles",
        ColumnKind::Number,
        "standard deviation of loop_cycles",
    ),
    (
        "time_ns",
        ColumnKind::TimeNs,
        "simulated time from the first fault or loop to the end of the last",
    ),
    (
        "faults_clean",
        ColumnKind::Count,
        "faults that found a clean page",
    ),
    (
        "faults_cpu",
        ColumnKind::Count,
        "faults whose CPU cleared the page",
    ),
    (
        "faults_helper",
        ColumnKind::Count,
        "faults that waited for the helper",
    ),
    (
        "faults_exposed",
        ColumnKind::Count,
        "faults whose page was mapped before it was clean: a leak",
    ),
];

/// The row with everything that was measured.
pub fn add(report: &FaultPathReport, clock: Clock, row: Row) -> Row {
    let cycles = |picos: f64| picos * clock.hertz() as f64 / 1e12;
    let faults = report.faults.count().max(1) as f64;
    let helper_ns = report.helper_cpu.0 as f64 / 1e3 / faults;
    row.metric("fault_cycles", cycles(report.faults.mean_ps()))
        .metric("fault_max_cycles", cycles(report.faults.longest().0 as f64))
        .metric("clean_time_ns", report.until_clean.mean_ps() / 1e3)
        .metric("helper_cpu_ns_per_fault", helper_ns)
        .metric(
            "cpu_ns_per_fault",
            report.faults.total_ps() / 1e3 / faults + helper_ns,
        )
        .metric("loop_cycles", cycles(report.loops.mean_ps()))
        .metric("loop_std_cycles", cycles(report.loops.deviation_ps()))
        .metric("time_ns", report.end.0 as f64 / 1e3)
        .metric("faults_clean", report.counts.clean)
        .metric("faults_cpu", report.counts.cpu)
        .metric("faults_helper", report.counts.helper)
        .metric("faults_exposed", report.counts.exposed)
}
