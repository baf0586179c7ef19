//! A machine as text, on the job's board: `pagemill mpi` writes it, every process of the job reads it.
//!
//! One `key=value` a line, in integers: no unit to convert, nothing to round. It never outlives a job.

mod translation;

use std::collections::BTreeMap;
use std::fmt::Write;

use pagemill_policy::translation::{AttSpec, LargePages, ORGANIZATIONS, TableLayout};
use pagemill_sim::nic::{
    DescriptorPath, EngineSpec, GpuMemorySpec, HostSpec, MessageSpec, NicMachine, PortSpec,
    WireSpec,
};
use pagemill_types::{Bandwidth, PageSize, Picos};

/// Why a text is no machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineTextError {
    /// The key whose value is missing or wrong.
    pub key: String,
}

impl std::fmt::Display for MachineTextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the job's machine has no usable `{}`: is the library of another version than `pagemill`?",
            self.key
        )
    }
}

impl std::error::Error for MachineTextError {}

/// The text of `machine`.
pub fn write(machine: &NicMachine) -> String {
    let mut writer = Writer::default();
    let NicMachine {
        name,
        host,
        gpu_memory,
        ports,
        engine,
        att,
        table,
        wire,
        // Ranks hand packets to each other: there is no process for the switches. The command refuses such machines.
        network: _,
        messages,
    } = machine;
    writer.put("name", name);
    put_host(&mut writer, host);
    if let Some(gpu) = gpu_memory {
        put_gpu_memory(&mut writer, gpu);
    }
    writer.put("ports.count", ports.count);
    writer.put("ports.on_chip", ports.on_chip);
    put_engine(&mut writer, engine);
    put_att(&mut writer, att);
    translation::put_table(&mut writer, table);
    put_wire(&mut writer, wire);
    put_messages(&mut writer, messages);
    writer.text
}

/// The machine of a text.
///
/// # Errors
/// A value is missing or none of its kind.
pub fn read(text: &str) -> Result<NicMachine, MachineTextError> {
    let values = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let reader = Reader { values };
    Ok(NicMachine {
        name: reader.text("name")?.to_owned(),
        host: host(&reader)?,
        gpu_memory: gpu_memory(&reader)?,
        ports: PortSpec {
            count: reader.get("ports.count")?,
            on_chip: reader.get("ports.on_chip")?,
        },
        engine: engine(&reader)?,
        att: att(&reader)?,
        table: translation::table(&reader)?,
        wire: wire(&reader)?,
        network: None,
        messages: messages(&reader)?,
    })
}

#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{key}={value}");
    }
}

struct Reader<'a> {
    values: BTreeMap<&'a str, &'a str>,
}

impl Reader<'_> {
    fn text(&self, key: &str) -> Result<&str, MachineTextError> {
        self.values.get(key).copied().ok_or_else(|| wrong(key))
    }

    fn get<T: std::str::FromStr>(&self, key: &str) -> Result<T, MachineTextError> {
        self.text(key)?.parse().map_err(|_| wrong(key))
    }

    fn time(&self, key: &str) -> Result<Picos, MachineTextError> {
        self.get(key).map(Picos)
    }

    fn rate(&self, key: &str) -> Result<Bandwidth, MachineTextError> {
        Bandwidth::new(self.get(key)?).ok_or_else(|| wrong(key))
    }
}

fn wrong(key: &str) -> MachineTextError {
    MachineTextError {
        key: key.to_owned(),
    }
}

fn put_host(writer: &mut Writer, host: &HostSpec) {
    let HostSpec {
        to_memory,
        from_memory,
        payload_bytes,
        write_header_bytes,
        completion_header_bytes,
        read_request_bytes,
        read_header_bytes,
        read_window_bytes,
        pio_latency,
        read_latency,
        write_latency,
    } = host;
    writer.put("host.to_memory", to_memory.bytes_per_second());
    writer.put("host.from_memory", from_memory.bytes_per_second());
    writer.put("host.payload_bytes", payload_bytes);
    writer.put("host.write_header_bytes", write_header_bytes);
    writer.put("host.completion_header_bytes", completion_header_bytes);
    writer.put("host.read_request_bytes", read_request_bytes);
    writer.put("host.read_header_bytes", read_header_bytes);
    writer.put("host.read_window_bytes", read_window_bytes);
    writer.put("host.pio_latency", pio_latency.0);
    writer.put("host.read_latency", read_latency.0);
    writer.put("host.write_latency", write_latency.0);
}

fn host(reader: &Reader<'_>) -> Result<HostSpec, MachineTextError> {
    Ok(HostSpec {
        to_memory: reader.rate("host.to_memory")?,
        from_memory: reader.rate("host.from_memory")?,
        payload_bytes: reader.get("host.payload_bytes")?,
        write_header_bytes: reader.get("host.write_header_bytes")?,
        completion_header_bytes: reader.get("host.completion_header_bytes")?,
        read_request_bytes: reader.get("host.read_request_bytes")?,
        read_header_bytes: reader.get("host.read_header_bytes")?,
        read_window_bytes: reader.get("host.read_window_bytes")?,
        pio_latency: reader.time("host.pio_latency")?,
        read_latency: reader.time("host.read_latency")?,
        write_latency: reader.time("host.write_latency")?,
    })
}

/// The first line of a section that a machine may leave out.
const GPU_READS: &str = "gpu_memory.reads";

fn put_gpu_memory(writer: &mut Writer, gpu: &GpuMemorySpec) {
    let GpuMemorySpec {
        reads,
        writes,
        read_latency,
        bar_bytes,
    } = gpu;
    writer.put(GPU_READS, reads.bytes_per_second());
    writer.put("gpu_memory.writes", writes.bytes_per_second());
    writer.put("gpu_memory.read_latency", read_latency.0);
    writer.put("gpu_memory.bar_bytes", bar_bytes);
}

fn gpu_memory(reader: &Reader<'_>) -> Result<Option<GpuMemorySpec>, MachineTextError> {
    if !reader.values.contains_key(GPU_READS) {
        return Ok(None);
    }
    Ok(Some(GpuMemorySpec {
        reads: reader.rate(GPU_READS)?,
        writes: reader.rate("gpu_memory.writes")?,
        read_latency: reader.time("gpu_memory.read_latency")?,
        bar_bytes: reader.get("gpu_memory.bar_bytes")?,
    }))
}

fn put_engine(writer: &mut Writer, engine: &EngineSpec) {
    let EngineSpec {
        descriptors,
        descriptor_bytes,
        completion_bytes,
        mp_gap,
        rdma_gap,
        send_latency,
        receive_latency,
        segment_bytes,
        translate_ahead,
    } = engine;
    writer.put(
        "engine.pushed",
        u8::from(*descriptors == DescriptorPath::Pushed),
    );
    writer.put("engine.descriptor_bytes", descriptor_bytes);
    writer.put("engine.completion_bytes", completion_bytes);
    writer.put("engine.mp_gap", mp_gap.0);
    writer.put("engine.rdma_gap", rdma_gap.0);
    writer.put("engine.send_latency", send_latency.0);
    writer.put("engine.receive_latency", receive_latency.0);
    writer.put("engine.segment_bytes", segment_bytes);
    writer.put("engine.translate_ahead", u8::from(*translate_ahead));
}

fn engine(reader: &Reader<'_>) -> Result<EngineSpec, MachineTextError> {
    Ok(EngineSpec {
        descriptors: match reader.get::<u8>("engine.pushed")? {
            0 => DescriptorPath::Fetched,
            _ => DescriptorPath::Pushed,
        },
        descriptor_bytes: reader.get("engine.descriptor_bytes")?,
        completion_bytes: reader.get("engine.completion_bytes")?,
        mp_gap: reader.time("engine.mp_gap")?,
        rdma_gap: reader.time("engine.rdma_gap")?,
        send_latency: reader.time("engine.send_latency")?,
        receive_latency: reader.time("engine.receive_latency")?,
        segment_bytes: reader.get("engine.segment_bytes")?,
        translate_ahead: reader.get::<u8>("engine.translate_ahead")? != 0,
    })
}

fn put_att(writer: &mut Writer, att: &AttSpec) {
    let AttSpec {
        layout,
        organization,
        cache_bytes,
        ways,
        prefetch_groups,
    } = att;
    let TableLayout {
        page,
        large,
        entry_bytes,
        group_entries,
    } = layout;
    writer.put("att.page_bytes", page.bytes());
    if let Some(LargePages {
        page,
        share_percent,
    }) = large
    {
        writer.put("att.large_page_bytes", page.bytes());
        writer.put("att.large_share_percent", share_percent);
    }
    writer.put("att.entry_bytes", entry_bytes);
    writer.put("att.group_entries", group_entries);
    writer.put("att.organization", organization.name);
    writer.put("att.cache_bytes", cache_bytes);
    writer.put("att.ways", ways);
    writer.put("att.prefetch_groups", prefetch_groups);
}

fn att(reader: &Reader<'_>) -> Result<AttSpec, MachineTextError> {
    let organization = ORGANIZATIONS.find(reader.text("att.organization")?);
    Ok(AttSpec {
        layout: TableLayout {
            page: PageSize::new(reader.get("att.page_bytes")?)
                .map_err(|_| wrong("att.page_bytes"))?,
            large: large(reader)?,
            entry_bytes: reader.get("att.entry_bytes")?,
            group_entries: reader.get("att.group_entries")?,
        },
        organization: organization.map_err(|_| wrong("att.organization"))?,
        cache_bytes: reader.get("att.cache_bytes")?,
        ways: reader.get("att.ways")?,
        prefetch_groups: reader.get("att.prefetch_groups")?,
    })
}

fn large(reader: &Reader<'_>) -> Result<Option<LargePages>, MachineTextError> {
    const PAGE: &str = "att.large_page_bytes";
    if !reader.values.contains_key(PAGE) {
        return Ok(None);
    }
    Ok(Some(LargePages {
        page: PageSize::new(reader.get(PAGE)?).map_err(|_| wrong(PAGE))?,
        share_percent: reader.get("att.large_share_percent")?,
    }))
}

fn put_wire(writer: &mut Writer, wire: &WireSpec) {
    let WireSpec {
        bandwidth,
        payload_bytes,
        header_bytes,
        latency,
        hop_latency,
        hops,
    } = wire;
    writer.put("wire.bandwidth", bandwidth.bytes_per_second());
    writer.put("wire.payload_bytes", payload_bytes);
    writer.put("wire.header_bytes", header_bytes);
    writer.put("wire.latency", latency.0);
    writer.put("wire.hop_latency", hop_latency.0);
    writer.put("wire.hops", hops);
}

fn wire(reader: &Reader<'_>) -> Result<WireSpec, MachineTextError> {
    Ok(WireSpec {
        bandwidth: reader.rate("wire.bandwidth")?,
        payload_bytes: reader.get("wire.payload_bytes")?,
        header_bytes: reader.get("wire.header_bytes")?,
        latency: reader.time("wire.latency")?,
        hop_latency: reader.time("wire.hop_latency")?,
        hops: reader.get("wire.hops")?,
    })
}

/// The key of a value that a machine may leave out.
const WINDOW: &str = "messages.window_bytes";

fn put_messages(writer: &mut Writer, messages: &MessageSpec) {
    let MessageSpec {
        send_overhead,
        receive_overhead,
        rma_overhead,
        short_bytes,
        eager_bytes,
        window_bytes,
        copy_bandwidth,
        registration,
    } = messages;
    writer.put("messages.send_overhead", send_overhead.0);
    writer.put("messages.receive_overhead", receive_overhead.0);
    writer.put("messages.rma_overhead", rma_overhead.0);
    writer.put("messages.short_bytes", short_bytes);
    writer.put("messages.eager_bytes", eager_bytes);
    if let Some(window_bytes) = window_bytes {
        writer.put(WINDOW, window_bytes);
    }
    writer.put("messages.copy_bandwidth", copy_bandwidth.bytes_per_second());
    translation::put_registration(writer, registration.as_ref());
}

fn messages(reader: &Reader<'_>) -> Result<MessageSpec, MachineTextError> {
    Ok(MessageSpec {
        send_overhead: reader.time("messages.send_overhead")?,
        receive_overhead: reader.time("messages.receive_overhead")?,
        rma_overhead: reader.time("messages.rma_overhead")?,
        short_bytes: reader.get("messages.short_bytes")?,
        eager_bytes: reader.get("messages.eager_bytes")?,
        window_bytes: match reader.values.contains_key(WINDOW) {
            true => Some(reader.get(WINDOW)?),
            false => None,
        },
        copy_bandwidth: reader.rate("messages.copy_bandwidth")?,
        registration: translation::registration(reader)?,
    })
}

#[cfg(test)]
mod tests;
