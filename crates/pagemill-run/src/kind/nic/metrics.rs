//! What a network run is measured by. `docs/results.md` describes the same columns.

use pagemill_report::{ColumnKind, Row};
use pagemill_sim::nic::pattern::{BandwidthSpec, DmaReport, DmaSpec, LatencySpec, PortsReport};
use pagemill_sim::nic::{NetworkCounts, NicCounts, WorldReport};
use pagemill_types::Picos;

use crate::kind::att_metrics::{ATT_LOOKUPS, ATT_MISS_RATE, ATT_MISSES};
use crate::quotient::quotient;

/// Every metric with what it means, in the order of the row.
pub const METRICS: &[(&str, ColumnKind, &str)] = &[
    (
        "time_ns",
        ColumnKind::TimeNs,
        "simulated time of what is counted: without the warm-up of latency and bandwidth",
    ),
    (
        "message_time_ns",
        ColumnKind::TimeNs,
        "latency: half of a round trip; ports: from doorbell to completion entry, mean; dma: from start to data, mean; else time_ns / messages",
    ),
    (
        "bandwidth_bytes_per_second",
        ColumnKind::BytesPerSecond,
        "payload_bytes / time_ns; bidirectional: both ways together",
    ),
    (
        "rank_bandwidth_bytes_per_second",
        ColumnKind::BytesPerSecond,
        "ring, all-to-all, halo, shift, incast, pairs: mean over the sending ranks of the bytes that a rank sent over the time when it ended; else 0",
    ),
    (
        "messages_per_second",
        ColumnKind::Number,
        "messages / time_ns, of simulated time",
    ),
    (
        "messages",
        ColumnKind::Count,
        "transfers or messages that are counted",
    ),
    ("payload_bytes", ColumnKind::Bytes, "data of these messages"),
    (
        "packets",
        ColumnKind::Count,
        "arrived at some interface, with protocol packets and warm-up; the segments of a transfer are one",
    ),
    (
        "packets_in_flight_max",
        ColumnKind::Count,
        "most of them under way at once",
    ),
    ATT_LOOKUPS,
    ATT_MISSES,
    ATT_MISS_RATE,
    (
        "att_prefetches",
        ColumnKind::Count,
        "groups read before they were needed",
    ),
    (
        "att_wait_time_ns",
        ColumnKind::TimeNs,
        "from lookup to physical address, mean",
    ),
    (
        "key_misses",
        ColumnKind::Count,
        "memory keys that were not cached on the interface",
    ),
    (
        "page_walks",
        ColumnKind::Count,
        "walks of the processor's page tables by its IOMMU",
    ),
    (
        "page_faults",
        ColumnKind::Count,
        "faults of the interface at pages that were not mapped",
    ),
    (
        "registrations",
        ColumnKind::Count,
        "buffers that the library registered for a message",
    ),
    (
        "registration_time_ns",
        ColumnKind::TimeNs,
        "processor time of a registration, with what it drives out, mean",
    ),
    (
        "card_bytes",
        ColumnKind::Bytes,
        "memory for translations on the interface: its caches, or the table where the interface holds it",
    ),
    (
        "link_wait_time_ns",
        ColumnKind::TimeNs,
        "for how long a part of a transfer waited at a link of the network, mean; 0 without a network",
    ),
    (
        "link_use_max",
        ColumnKind::Rate,
        "time for which the busiest link was busy / time_ns; 0 without a network",
    ),
    (
        "port_misses",
        ColumnKind::Count,
        "port states that had to be read from memory",
    ),
    (
        "refused",
        ColumnKind::Count,
        "operations that the own interface refused",
    ),
    (
        "rejected",
        ColumnKind::Count,
        "transfers that the other interface refused",
    ),
];

/// A run in numbers.
pub struct Measured {
    time: Picos,
    message_time: Picos,
    messages: u64,
    payload_bytes: u64,
    packets: u64,
    packets_in_flight: u64,
    counts: NicCounts,
    /// Bytes per second.
    rank_rate: f64,
    network: NetworkCounts,
}

impl Measured {
    /// With the mean rate at which a rank sent, in bytes per second.
    pub fn with_rank_rate(self, rank_rate: f64) -> Self {
        Self { rank_rate, ..self }
    }

    pub fn of_latency(one_way: Picos, spec: &LatencySpec, report: &WorldReport) -> Self {
        let messages = 2 * spec.iterations;
        Self {
            time: Picos(one_way.0 * messages),
            message_time: one_way,
            messages,
            payload_bytes: messages * spec.bytes,
            ..Self::of_world(report)
        }
    }

    pub fn of_bandwidth(time: Picos, spec: &BandwidthSpec, report: &WorldReport) -> Self {
        let ways = if spec.both_ways { 2 } else { 1 };
        let messages = spec.window * spec.iterations * ways;
        Self {
            time,
            message_time: Picos(time.0 / messages.max(1)),
            messages,
            payload_bytes: spec.counted_bytes(),
            ..Self::of_world(report)
        }
    }

    pub fn of_ports(report: &PortsReport, bytes: u64) -> Self {
        Self {
            time: report.end,
            message_time: Picos(report.latency.0 / report.writes.max(1)),
            messages: report.writes,
            payload_bytes: report.writes * bytes,
            packets: report.writes,
            packets_in_flight: 0,
            counts: report.counts,
            rank_rate: 0.0,
            network: NetworkCounts::default(),
        }
    }

    pub fn of_dma(report: &DmaReport, spec: &DmaSpec) -> Self {
        Self {
            time: report.time,
            message_time: Picos(report.latency.0 / spec.accesses.max(1)),
            messages: spec.accesses,
            payload_bytes: spec.accesses.saturating_mul(spec.bytes),
            packets: 0,
            packets_in_flight: 0,
            counts: report.counts,
            rank_rate: 0.0,
            network: NetworkCounts::default(),
        }
    }

    pub fn of_program(messages: u64, payload_bytes: u64, report: &WorldReport) -> Self {
        Self {
            time: report.end,
            message_time: Picos(report.end.0 / messages.max(1)),
            messages,
            payload_bytes,
            ..Self::of_world(report)
        }
    }

    fn of_world(report: &WorldReport) -> Self {
        Self {
            time: Picos::ZERO,
            message_time: Picos::ZERO,
            messages: 0,
            payload_bytes: 0,
            packets: report.packets,
            packets_in_flight: report.packets_in_flight,
            counts: report.counts,
            rank_rate: 0.0,
            network: report.network.unwrap_or_default(),
        }
    }

    /// The row with everything that was measured.
    pub fn add_to(&self, row: Row) -> Row {
        let translation = &self.counts.translation;
        row.metric("time_ns", nanoseconds(self.time))
            .metric("message_time_ns", nanoseconds(self.message_time))
            .metric(
                "bandwidth_bytes_per_second",
                per_second(self.payload_bytes, self.time),
            )
            .metric("rank_bandwidth_bytes_per_second", self.rank_rate)
            .metric("messages_per_second", per_second(self.messages, self.time))
            .metric("messages", self.messages)
            .metric("payload_bytes", self.payload_bytes)
            .metric("packets", self.packets)
            .metric("packets_in_flight_max", self.packets_in_flight)
            .metric("att_lookups", translation.lookups)
            .metric("att_misses", translation.misses)
            .metric(
                "att_miss_rate",
                quotient(translation.misses as f64, translation.lookups),
            )
            .metric("att_prefetches", translation.prefetches)
            .metric(
                "att_wait_time_ns",
                quotient(nanoseconds(translation.waited), translation.lookups),
            )
            .metric("key_misses", translation.key_misses)
            .metric("page_walks", translation.walks)
            .metric("page_faults", translation.faults)
            .metric("registrations", self.counts.registrations)
            .metric(
                "registration_time_ns",
                quotient(
                    nanoseconds(self.counts.registering),
                    self.counts.registrations,
                ),
            )
            .metric("card_bytes", self.counts.card_bytes)
            .metric(
                "link_wait_time_ns",
                quotient(nanoseconds(self.network.waited), self.network.passed),
            )
            .metric(
                "link_use_max",
                quotient(self.network.busiest.0 as f64, self.time.0),
            )
            .metric("port_misses", self.counts.port_misses)
            .metric("refused", self.counts.refused.total())
            .metric("rejected", self.counts.rejected.total())
    }
}

fn nanoseconds(span: Picos) -> f64 {
    span.0 as f64 / 1000.0
}

fn per_second(amount: u64, span: Picos) -> f64 {
    if span == Picos::ZERO {
        0.0
    } else {
        amount as f64 / (span.0 as f64 / 1e12)
    }
}
