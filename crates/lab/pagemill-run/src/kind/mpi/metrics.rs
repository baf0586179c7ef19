//! What a rank, or one kind of its calls, is measured by.

use pagemill_nic::{Cause, NicCounts, TranslationCounts};
use pagemill_report::ColumnKind::{Bytes, Count, TimeNs};
use pagemill_types::Picos;

use super::super::att_metrics::{Translates, att_lookups, att_miss_rate, att_misses};
use crate::quotient::{nanoseconds, quotient};
use pagemill_report::metric::Metric;

/// What a rank did, or what it did in one kind of call.
#[derive(Clone, Debug, Default)]
pub struct MpiReport {
    /// The clock of the rank at its end; of a kind of call, `software` and `wait`.
    pub time: Picos,
    /// Time in the library.
    pub software: Picos,
    /// Time for which it had nothing to do.
    pub wait: Picos,
    /// Of `wait`, in the order of [`Cause::ALL`].
    pub wait_by_cause: [Picos; Cause::ALL.len()],
    /// Operations and their bytes. Probes have none.
    pub operations: Option<(u64, u64)>,
    /// The rest, of the whole rank.
    pub rank: Option<RankReport>,
}

/// What is counted for a whole rank alone.
#[derive(Clone, Debug, Default)]
pub struct RankReport {
    /// Time between calls.
    pub compute: Picos,
    /// Time that passed because the program read its clock.
    pub clock: Picos,
    /// Wait for the others at the start.
    pub start: Picos,
    /// What its interface counted.
    pub interface: NicCounts,
    /// Operations that ended with an error.
    pub error_completions: u64,
    /// Events that were seen too late.
    pub late_steps: u64,
    /// Times that it went on without the others.
    pub forced_steps: u64,
}

impl MpiReport {
    fn waited_for(&self, cause: Cause) -> f64 {
        nanoseconds(self.wait_by_cause[cause as usize])
    }
}

impl Translates for MpiReport {
    fn translation(&self) -> Option<&TranslationCounts> {
        Some(&self.rank.as_ref()?.interface.translation)
    }
}

#[rustfmt::skip]
pub const METRICS: &[Metric<MpiReport>] = &[
    Metric::new("time_ns", TimeNs, "of a rank: the rank's clock at its end, the sum of all causes; of a call: software_time_ns + wait_time_ns",
        |report| nanoseconds(report.time).into()),
    Metric::new("software_time_ns", TimeNs, "time in the library: the machine's [messages] overheads and copies",
        |report| nanoseconds(report.software).into()),
    Metric::new("wait_time_ns", TimeNs, "time for which the rank had nothing to do until the operation was over: the sum of the seven causes that follow",
        |report| nanoseconds(report.wait).into()),
    Metric::new("partner_wait_time_ns", TimeNs, "of wait_time_ns: the other rank had not made its call yet: a late sender, of sends a late receiver",
        |report| report.waited_for(Cause::Partner).into()),
    Metric::new("wire_wait_time_ns", TimeNs, "of wait_time_ns: links and switches",
        |report| report.waited_for(Cause::Wire).into()),
    Metric::new("table_wait_time_ns", TimeNs, "of wait_time_ns: entries of the address translation table that were not on the chip",
        |report| report.waited_for(Cause::Table).into()),
    Metric::new("port_wait_time_ns", TimeNs, "of wait_time_ns: port states that were not on the chip",
        |report| report.waited_for(Cause::Port).into()),
    Metric::new("busy_wait_time_ns", TimeNs, "of wait_time_ns: engines, links and ways to memory that worked for another transfer",
        |report| report.waited_for(Cause::Busy).into()),
    Metric::new("interface_wait_time_ns", TimeNs, "of wait_time_ns: the interfaces' own work: doorbell, descriptors, memory, engines",
        |report| report.waited_for(Cause::Interface).into()),
    Metric::new("software_wait_time_ns", TimeNs, "of wait_time_ns: the machine's [messages] overheads on the way, of both ranks",
        |report| report.waited_for(Cause::Software).into()),
    Metric::sometimes("compute_time_ns", TimeNs, "time between calls, for what the program computed",
        |report| Some(nanoseconds(report.rank.as_ref()?.compute).into())),
    Metric::sometimes("clock_time_ns", TimeNs, "time that passed because the program read its clock again and again",
        |report| Some(nanoseconds(report.rank.as_ref()?.clock).into())),
    Metric::sometimes("start_time_ns", TimeNs, "wait for the other ranks at the end of MPI_Init",
        |report| Some(nanoseconds(report.rank.as_ref()?.start).into())),
    Metric::sometimes("operations", Count, "sends, receives, writes or reads that were asked for; receives: that were over",
        |report| Some(report.operations?.0.into())),
    Metric::sometimes("bytes", Bytes, "their data",
        |report| Some(report.operations?.1.into())),
    Metric::sometimes("transfers_out", Count, "transfers of the interface to others: messages, their protocol, one-sided operations",
        |report| Some(report.rank.as_ref()?.interface.sent.into())),
    Metric::sometimes("transfers_in", Count, "transfers of others to the interface",
        |report| Some(report.rank.as_ref()?.interface.received.into())),
    att_lookups(),
    att_misses(),
    att_miss_rate(),
    Metric::sometimes("att_wait_time_ns", TimeNs, "from lookup to physical address, mean; other work of the interface may hide it",
        |report| Some(quotient(nanoseconds(report.translation()?.waited), report.translation()?.lookups).into())),
    Metric::sometimes("port_misses", Count, "port states that had to be read from memory",
        |report| Some(report.rank.as_ref()?.interface.port_misses.into())),
    Metric::sometimes("error_completions", Count, "operations that ended with an error",
        |report| Some(report.rank.as_ref()?.error_completions.into())),
    Metric::sometimes("late_steps", Count, "events that were seen after a later one was processed: 0 where times repeat",
        |report| Some(report.rank.as_ref()?.late_steps.into())),
    Metric::sometimes("forced_steps", Count, "times that a rank went on without the others: 0 where times repeat",
        |report| Some(report.rank.as_ref()?.forced_steps.into())),
];
