//! Finds values that no interface can have.

use pagemill_policy::translation::AttSpec;
use pagemill_types::{Bandwidth, Picos};

use super::iommu::spec_error;
use super::machine::{NicMachine, TablePlace};
use pagemill_pages::SpecError;

const SECOND: Picos = Picos(1_000_000_000_000);

impl NicMachine {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is impossible: its key, what was given and what is allowed.
    pub fn check(&self) -> Result<(), SpecError> {
        self.check_sizes()?;
        self.check_spans()?;
        self.check_network()?;
        self.check_translation()?;
        self.att.check().map_err(|error| {
            SpecError::new(
                format!("att.{}", error.key),
                error.value,
                format!("must be {}", error.allowed),
            )
        })
    }

    fn check_sizes(&self) -> Result<(), SpecError> {
        let (host, engine, wire) = (&self.host, &self.engine, &self.wire);
        let sizes = [
            ("host.payload_bytes", host.payload_bytes, 1, 1 << 20),
            (
                "host.write_header_bytes",
                host.write_header_bytes,
                0,
                1 << 20,
            ),
            (
                "host.completion_header_bytes",
                host.completion_header_bytes,
                0,
                1 << 20,
            ),
            (
                "host.read_request_bytes",
                host.read_request_bytes,
                1,
                1 << 20,
            ),
            ("host.read_header_bytes", host.read_header_bytes, 0, 1 << 20),
            (
                "host.read_window_bytes",
                host.read_window_bytes,
                64,
                1 << 30,
            ),
            ("ports.count", self.ports.count, 1, 1 << 16),
            ("ports.on_chip", self.ports.on_chip, 1, 1 << 16),
            ("engine.descriptor_bytes", engine.descriptor_bytes, 1, 4096),
            ("engine.completion_bytes", engine.completion_bytes, 1, 4096),
            ("engine.segment_bytes", engine.segment_bytes, 64, 1 << 20),
            (
                "att.fetches_in_flight",
                self.table.fetches_in_flight,
                1,
                1 << 16,
            ),
            ("wire.payload_bytes", wire.payload_bytes, 1, 1 << 20),
            ("wire.header_bytes", wire.header_bytes, 1, 1 << 20),
            ("wire.hops", wire.hops, 0, 1000),
            (
                "messages.short_bytes",
                self.messages.short_bytes,
                0,
                1 << 16,
            ),
            (
                "messages.eager_bytes",
                self.messages.eager_bytes,
                self.messages.short_bytes,
                1 << 24,
            ),
        ];
        check_counts(&sizes)?;
        match self.messages.window_bytes {
            // Smaller ones would make thousands of packets of a message.
            Some(bytes) if bytes < 1024 => Err(SpecError::new(
                "messages.window_bytes",
                bytes,
                "must be at least 1 KiB",
            )),
            _ => Ok(()),
        }
    }

    fn check_spans(&self) -> Result<(), SpecError> {
        let spans = [
            ("host.pio_latency", self.host.pio_latency),
            ("host.read_latency", self.host.read_latency),
            ("host.write_latency", self.host.write_latency),
            ("engine.mp_gap", self.engine.mp_gap),
            ("engine.rdma_gap", self.engine.rdma_gap),
            ("engine.send_latency", self.engine.send_latency),
            ("engine.receive_latency", self.engine.receive_latency),
            ("att.lookup_latency", self.table.lookup_latency),
            ("wire.latency", self.wire.latency),
            ("wire.hop_latency", self.wire.hop_latency),
            ("messages.send_overhead", self.messages.send_overhead),
            ("messages.receive_overhead", self.messages.receive_overhead),
            ("messages.rma_overhead", self.messages.rma_overhead),
        ];
        check_spans(&spans)?;
        let rates = [
            ("host.to_memory", self.host.to_memory),
            ("host.from_memory", self.host.from_memory),
            ("wire.bandwidth", self.wire.bandwidth),
            ("messages.copy_bandwidth", self.messages.copy_bandwidth),
        ];
        check_rates(&rates)?;
        if self.wire.flight() == Picos::ZERO {
            return Err(SpecError::new(
                "wire.latency",
                "0 ns",
                "must be more than nothing: a network without latency has no order of events",
            ));
        }
        Ok(())
    }

    /// What interfaces of today have beside the table.
    fn check_translation(&self) -> Result<(), SpecError> {
        let mut counts = Vec::new();
        let mut spans = Vec::new();
        if let Some(keys) = &self.table.keys {
            counts.push(("keys.entry_bytes", keys.entry_bytes, 1, 4096));
            check_cache("keys", keys.entries, keys.ways)?;
        }
        match &self.table.iommu {
            Some(iommu) => {
                counts.push(("iommu.walkers", iommu.walkers, 1, 1 << 16));
                spans.push(("iommu.walk_latency", iommu.walk_latency));
                spans.push(("iommu.request_latency", iommu.request_latency));
                check_cache("iommu", iommu.entries, iommu.ways)?;
            }
            None if self.table.place == TablePlace::Iommu => {
                let allowed = "such a table needs a section [iommu]";
                return Err(SpecError::new("att.table", "\"iommu\"", allowed));
            }
            None => {}
        }
        if let Some(paging) = &self.table.paging {
            counts.push(("paging.fault_pages", paging.fault_pages, 1, 1 << 20));
            counts.push(("paging.handlers", paging.handlers, 1, 1 << 16));
            spans.push(("paging.fault_latency", paging.fault_latency));
            spans.push(("paging.page_latency", paging.page_latency));
            spans.push(("paging.resend_latency", paging.resend_latency));
        }
        if let Some(gpu) = &self.gpu_memory {
            spans.push(("gpu_memory.read_latency", gpu.read_latency));
            check_rates(&[
                ("gpu_memory.reads", gpu.reads),
                ("gpu_memory.writes", gpu.writes),
            ])?;
        }
        if let Some(registration) = &self.messages.registration {
            spans.push((
                "registration.register_latency",
                registration.register_latency,
            ));
            spans.push(("registration.page_latency", registration.page_latency));
            spans.push((
                "registration.deregister_latency",
                registration.deregister_latency,
            ));
        }
        check_counts(&counts)?;
        check_spans(&spans)
    }

    fn check_network(&self) -> Result<(), SpecError> {
        let Some(network) = &self.network else {
            return Ok(());
        };
        network.build()?;
        let segment = self.engine.segment_bytes;
        if !(segment..=1 << 24).contains(&network.part_bytes) {
            return Err(SpecError::new(
                "network.part_bytes",
                network.part_bytes,
                format!(
                    "must be from {segment}, the engine's segment, to {}",
                    1 << 24
                ),
            ));
        }
        if network.cable_latency > SECOND {
            let given = format!("{} ns", network.cable_latency.0 / 1000);
            return Err(SpecError::new(
                "network.cable_latency",
                given,
                "must be at most a second",
            ));
        }
        check_rates(&[("network.bandwidth", network.bandwidth)])?;
        if self.wire.latency < Picos::from_nanos(1) {
            let given = format!("{} ps", self.wire.latency.0);
            return Err(SpecError::new(
                "wire.latency",
                given,
                "must be at least 1 ns: half of it lies before the first switch",
            ));
        }
        Ok(())
    }
}

fn check_counts(counts: &[(&str, u32, u32, u32)]) -> Result<(), SpecError> {
    for &(key, value, least, most) in counts {
        if !(least..=most).contains(&value) {
            let allowed = format!("must be from {least} to {most}");
            return Err(SpecError::new(key, value, allowed));
        }
    }
    Ok(())
}

fn check_rates(rates: &[(&str, Bandwidth)]) -> Result<(), SpecError> {
    for (key, rate) in rates {
        // Slower rates would let one large message outlast what 64 bits of picoseconds can count.
        if rate.bytes_per_second() < 1_000_000 {
            let given = format!("{} B/s", rate.bytes_per_second());
            return Err(SpecError::new(*key, given, "must be at least 1 MB/s"));
        }
    }
    Ok(())
}

fn check_spans(spans: &[(&str, Picos)]) -> Result<(), SpecError> {
    for &(key, span) in spans {
        if span > SECOND {
            let given = format!("{} ns", span.0 / 1000);
            return Err(SpecError::new(key, given, "must be at most a second"));
        }
    }
    Ok(())
}

fn check_cache(section: &str, entries: u32, ways: u32) -> Result<(), SpecError> {
    match AttSpec::of_entries(entries, ways).check() {
        Ok(()) => Ok(()),
        Err(error) => Err(spec_error(section, &error)),
    }
}
