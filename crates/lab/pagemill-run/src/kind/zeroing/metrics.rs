//! What a run of the fault path is measured by.

use pagemill_pages::fault_path::FaultPathReport;
use pagemill_report::ColumnKind::{Count, Number, TimeNs};
use pagemill_types::Clock;

use crate::quotient::nanoseconds;
use pagemill_report::metric::Metric;

#[rustfmt::skip]
pub const METRICS: &[Metric<Measured>] = &[
    Metric::new("fault_cycles", Number, "a fault on its own CPU, with waiting, mean; cycles of the core",
        |run| run.cycles(run.report.faults.mean_ps()).into()),
    Metric::new("fault_max_cycles", Number, "the longest fault; cycles of the core",
        |run| run.cycles(run.report.faults.longest().0 as f64).into()),
    Metric::new("clean_time_ns", TimeNs, "from the start of a fault until its page is clean, mean; 0 if it was clean before",
        |run| (run.report.until_clean.mean_ps() / 1e3).into()),
    Metric::new("helper_cpu_ns_per_fault", TimeNs, "CPU time of the helper, with what it did before the start, over the faults",
        |run| run.helper_ns_per_fault().into()),
    Metric::new("cpu_ns_per_fault", TimeNs, "faults and helper together, over the faults",
        |run| (run.report.faults.total_ps() / 1e3 / run.faults() + run.helper_ns_per_fault()).into()),
    Metric::new("loop_cycles", Number, "a loop of the co-runner with the faults in it, mean; 0 where there is none",
        |run| run.cycles(run.report.loops.mean_ps()).into()),
    Metric::new("loop_std_cycles", Number, "standard deviation of loop_cycles",
        |run| run.cycles(run.report.loops.deviation_ps()).into()),
    Metric::new("time_ns", TimeNs, "simulated time from the first fault or loop to the end of the last",
        |run| nanoseconds(run.report.end).into()),
    Metric::new("faults_clean", Count, "faults that found a clean page",
        |run| run.report.counts.clean.into()),
    Metric::new("faults_cpu", Count, "faults whose CPU cleared the page",
        |run| run.report.counts.cpu.into()),
    Metric::new("faults_helper", Count, "faults that waited for the helper",
        |run| run.report.counts.helper.into()),
    Metric::new("faults_exposed", Count, "faults whose page was mapped before it was clean: a leak",
        |run| run.report.counts.exposed.into()),
];

/// A run, and the clock of the core that faults.
pub struct Measured {
    pub report: FaultPathReport,
    pub clock: Clock,
}

impl Measured {
    fn cycles(&self, picos: f64) -> f64 {
        picos * self.clock.hertz() as f64 / 1e12
    }

    fn faults(&self) -> f64 {
        self.report.faults.count().max(1) as f64
    }

    fn helper_ns_per_fault(&self) -> f64 {
        nanoseconds(self.report.helper_cpu) / self.faults()
    }
}
