//! What a network run is measured by.

use pagemill_nic::pattern::{BandwidthSpec, DmaReport, DmaSpec, LatencySpec, PortsReport};
use pagemill_nic::{NetworkCounts, NicCounts, TranslationCounts, WorldReport};
use pagemill_report::ColumnKind::{Bytes, BytesPerSecond, Count, Number, Rate, TimeNs};
use pagemill_types::Picos;

use super::super::att_metrics::{Translates, att_lookups, att_miss_rate, att_misses};
use crate::quotient::{nanoseconds, quotient};
use pagemill_report::metric::Metric;

#[rustfmt::skip]
pub const METRICS: &[Metric<Measured>] = &[
    Metric::new("time_ns", TimeNs, "simulated time of what is counted: without the warm-up of latency and bandwidth",
        |run| nanoseconds(run.time).into()),
    Metric::new("message_time_ns", TimeNs, "latency: half of a round trip; ports: from doorbell to completion entry, mean; dma: from start to data, mean; else time_ns / messages",
        |run| nanoseconds(run.message_time).into()),
    Metric::new("bandwidth_bytes_per_second", BytesPerSecond, "payload_bytes / time_ns; bidirectional: both ways together",
        |run| per_second(run.payload_bytes, run.time).into()),
    Metric::new("rank_bandwidth_bytes_per_second", BytesPerSecond, "ring, all-to-all, halo, shift, incast, pairs: mean over the sending ranks of the bytes that a rank sent over the time when it ended; else 0",
        |run| run.rank_rate.into()),
    Metric::new("messages_per_second", Number, "messages / time_ns, of simulated time",
        |run| per_second(run.messages, run.time).into()),
    Metric::new("messages", Count, "transfers or messages that are counted",
        |run| run.messages.into()),
    Metric::new("payload_bytes", Bytes, "data of these messages",
        |run| run.payload_bytes.into()),
    Metric::new("packets", Count, "arrived at some interface, with protocol packets and warm-up; the segments of a transfer are one",
        |run| run.packets.into()),
    Metric::new("packets_in_flight_max", Count, "most of them under way at once",
        |run| run.packets_in_flight.into()),
    att_lookups(),
    att_misses(),
    att_miss_rate(),
    Metric::new("att_prefetches", Count, "groups read before they were needed",
        |run| table(run).prefetches.into()),
    Metric::new("att_wait_time_ns", TimeNs, "from lookup to physical address, mean",
        |run| quotient(nanoseconds(table(run).waited), table(run).lookups).into()),
    Metric::new("key_misses", Count, "memory keys that were not cached on the interface",
        |run| table(run).key_misses.into()),
    Metric::new("page_walks", Count, "walks of the processor's page tables by its IOMMU",
        |run| table(run).walks.into()),
    Metric::new("page_faults", Count, "faults of the interface at pages that were not mapped",
        |run| table(run).faults.into()),
    Metric::new("registrations", Count, "buffers that the library registered for a message",
        |run| run.counts.registrations.into()),
    Metric::new("registration_time_ns", TimeNs, "processor time of a registration, with what it drives out, mean",
        |run| quotient(nanoseconds(run.counts.registering), run.counts.registrations).into()),
    Metric::new("card_bytes", Bytes, "memory for translations on the interface: its caches, or the table where the interface holds it",
        |run| run.counts.card_bytes.into()),
    Metric::new("link_wait_time_ns", TimeNs, "for how long a part of a transfer waited at a link of the network, mean; 0 without a network",
        |run| quotient(nanoseconds(run.network.waited), run.network.passed).into()),
    Metric::new("link_use_max", Rate, "time for which the busiest link was busy / time_ns; 0 without a network",
        |run| quotient(run.network.busiest.0 as f64, run.time.0).into()),
    Metric::new("port_misses", Count, "port states that had to be read from memory",
        |run| run.counts.port_misses.into()),
    Metric::new("refused", Count, "operations that the own interface refused",
        |run| run.counts.refused.total().into()),
    Metric::new("rejected", Count, "transfers that the other interface refused",
        |run| run.counts.rejected.total().into()),
];

fn table(run: &Measured) -> &TranslationCounts {
    &run.counts.translation
}

impl Translates for Measured {
    fn translation(&self) -> Option<&TranslationCounts> {
        Some(table(self))
    }
}

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
}

fn per_second(amount: u64, span: Picos) -> f64 {
    if span == Picos::ZERO {
        0.0
    } else {
        amount as f64 / (span.0 as f64 / 1e12)
    }
}
