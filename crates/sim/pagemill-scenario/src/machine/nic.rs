//! The values of a simulated network interface and its node.

mod translation;

use pagemill_policy::routing::{ROUTINGS, TopologySpec};
use pagemill_sim::nic::{
    DescriptorPath, EngineSpec, GpuMemorySpec, HostSpec, MessageSpec, NetworkSpec, NicMachine,
    PortSpec, TableSpec, WireSpec,
};

use super::amounts::{bytes, number};
use super::{Machine, MachineFile, Refused};
use crate::document::{Kind, Node, Origin, Reader, SourceText};
use crate::error::{InputErrors, Problem};
use crate::files::find_machine;
use crate::kind_names;
use crate::machine::base::table_over_base;
use crate::quantity::{self, Wrong, one_of, registered};
use crate::sourced::SourcedSection;

/// The machine of kind `nic` called `given`: a path, or the name of a built-in machine.
///
/// # Errors
/// Everything that is wrong with the file, each with its place.
pub fn load_nic_machine(given: &str) -> Result<Machine<NicMachine>, InputErrors> {
    let argument = SourceText::argument(given);
    let node = Node {
        origin: Origin::new(&argument, 0..0),
        kind: Kind::String(given.to_owned()),
    };
    let source = find_machine(given, &node, None)?;
    let table = table_over_base(&source, &mut |name, node| find_machine(name, node, None))?;
    let reader = Reader::default();
    let machine = read(&MachineFile { source, table }, &reader);
    reader.finish()?;
    machine.ok_or_else(|| Problem::new(format!("machine {given} has no values")).into())
}

/// Reads and checks the network interface of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<NicMachine>> {
    Machine::read(file, kind_names::NIC, reader, |root| {
        let nic = read_nic(root, file.source.stem())?;
        if let Err(error) = nic.check() {
            let refused = Refused {
                key: file_key(&error.key),
                value: error.value,
                why: error.allowed.trim_start_matches("it has to be ").to_owned(),
            };
            let why = format!("must be {}", refused.why.trim_start_matches("must be "));
            Refused { why, ..refused }.report(file, reader);
            return None;
        }
        Some(nic)
    })
}

/// The name in a machine file of a value that the simulator calls `key`.
fn file_key(key: &str) -> String {
    match key {
        "att.cache_bytes" => "att.cache".to_owned(),
        "keys.entry_bytes" => "keys.entry".to_owned(),
        _ => key.trim_end_matches("_bytes").to_owned(),
    }
}

fn read_nic(root: &mut SourcedSection<'_>, name: String) -> Option<NicMachine> {
    // Every section is read before the first `?`, so that all of its problems are reported at once.
    let host = root.section("host").and_then(read_host);
    let ports = root.section("ports").and_then(|mut ports| {
        let (count, on_chip) = (ports.value("count", number), ports.value("on_chip", number));
        Some(PortSpec {
            count: count?,
            on_chip: on_chip?,
        })
    });
    let engine = root.section("engine").and_then(read_engine);
    let att = root.section("att").and_then(translation::read_att);
    let (keys, iommu, paging) = translation::read_optional(root);
    let registration = translation::optional(root, "registration", translation::read_registration);
    let gpu_memory = translation::optional(root, "gpu_memory", read_gpu_memory);
    let wire = root.section("wire").and_then(read_wire);
    let network = match root.contains("network") {
        true => root.section("network").and_then(read_network).map(Some),
        false => Some(None),
    };
    let messages = root.section("messages").and_then(read_messages);
    let (att, table) = att?;
    let table = TableSpec {
        keys: keys?,
        iommu: iommu?,
        paging: paging?,
        ..table
    };
    let messages = MessageSpec {
        registration: registration?,
        ..messages?
    };
    Some(NicMachine {
        name,
        host: host?,
        gpu_memory: gpu_memory?,
        ports: ports?,
        engine: engine?,
        att,
        table,
        wire: wire?,
        network: network?,
        messages,
    })
}

fn read_host(mut host: SourcedSection<'_>) -> Option<HostSpec> {
    let to_memory = host.value("to_memory", quantity::bandwidth);
    let from_memory = host.value("from_memory", quantity::bandwidth);
    let payload_bytes = host.value("payload", bytes);
    let write_header_bytes = host.value("write_header", bytes);
    let completion_header_bytes = host.value("completion_header", bytes);
    let read_request_bytes = host.value("read_request", bytes);
    let read_header_bytes = host.value("read_header", bytes);
    let read_window_bytes = host.value("read_window", bytes);
    let pio_latency = host.value("pio_latency", quantity::time);
    let read_latency = host.value("read_latency", quantity::time);
    let write_latency = host.value("write_latency", quantity::time);
    Some(HostSpec {
        to_memory: to_memory?,
        from_memory: from_memory?,
        payload_bytes: payload_bytes?,
        write_header_bytes: write_header_bytes?,
        completion_header_bytes: completion_header_bytes?,
        read_request_bytes: read_request_bytes?,
        read_header_bytes: read_header_bytes?,
        read_window_bytes: read_window_bytes?,
        pio_latency: pio_latency?,
        read_latency: read_latency?,
        write_latency: write_latency?,
    })
}

fn read_gpu_memory(mut gpu: SourcedSection<'_>) -> Option<GpuMemorySpec> {
    let reads = gpu.value("reads", quantity::bandwidth);
    let writes = gpu.value("writes", quantity::bandwidth);
    let read_latency = gpu.value("read_latency", quantity::time);
    let bar_bytes = gpu.value("bar", quantity::bytes);
    Some(GpuMemorySpec {
        reads: reads?,
        writes: writes?,
        read_latency: read_latency?,
        bar_bytes: bar_bytes?,
    })
}

fn read_engine(mut engine: SourcedSection<'_>) -> Option<EngineSpec> {
    let paths = [
        ("pushed", DescriptorPath::Pushed),
        ("fetched", DescriptorPath::Fetched),
    ];
    let descriptors = engine.value("descriptors", one_of("ways of a descriptor", &paths));
    let descriptor_bytes = engine.value("descriptor", bytes);
    let completion_bytes = engine.value("completion", bytes);
    let mp_gap = engine.value("mp_gap", quantity::time);
    let rdma_gap = engine.value("rdma_gap", quantity::time);
    let send_latency = engine.value("send_latency", quantity::time);
    let receive_latency = engine.value("receive_latency", quantity::time);
    let translate_ahead = engine.value("translate_ahead", quantity::boolean);
    let segment_bytes = engine.value("segment", bytes);
    Some(EngineSpec {
        descriptors: descriptors?,
        descriptor_bytes: descriptor_bytes?,
        completion_bytes: completion_bytes?,
        mp_gap: mp_gap?,
        rdma_gap: rdma_gap?,
        send_latency: send_latency?,
        receive_latency: receive_latency?,
        translate_ahead: translate_ahead?,
        segment_bytes: segment_bytes?,
    })
}

fn read_wire(mut wire: SourcedSection<'_>) -> Option<WireSpec> {
    let bandwidth = wire.value("bandwidth", quantity::bandwidth);
    let payload_bytes = wire.value("payload", bytes);
    let header_bytes = wire.value("header", bytes);
    let latency = wire.value("latency", quantity::time);
    let hop_latency = wire.value("hop_latency", quantity::time);
    let hops = wire.value("hops", number);
    Some(WireSpec {
        bandwidth: bandwidth?,
        payload_bytes: payload_bytes?,
        header_bytes: header_bytes?,
        latency: latency?,
        hop_latency: hop_latency?,
        hops: hops?,
    })
}

fn read_network(mut network: SourcedSection<'_>) -> Option<NetworkSpec> {
    let topology = read_topology(&mut network);
    let routing = network.value("routing", registered("routings", &ROUTINGS));
    let bandwidth = network.value("bandwidth", quantity::bandwidth);
    let cable_latency = network.value("cable_latency", quantity::time);
    let part_bytes = network.value("part", bytes);
    Some(NetworkSpec {
        topology: topology?,
        routing: routing?.routing,
        bandwidth: bandwidth?,
        cable_latency: cable_latency?,
        part_bytes: part_bytes?,
    })
}

/// The keys that the named topology has; others are unknown in its section.
fn read_topology(network: &mut SourcedSection<'_>) -> Option<TopologySpec> {
    #[derive(Clone, Copy)]
    enum Name {
        FatTree,
        Dragonfly,
        Torus,
    }
    let names = [
        ("fat-tree", Name::FatTree),
        ("dragonfly", Name::Dragonfly),
        ("torus", Name::Torus),
    ];
    let Some(name) = network.value("topology", one_of("topologies", &names)) else {
        network.plain().pass_over();
        return None;
    };
    match name {
        Name::FatTree => {
            let children = network.value("children", switches);
            let parents = network.value("parents", switches);
            Some(TopologySpec::FatTree {
                children: children?,
                parents: parents?,
            })
        }
        Name::Dragonfly => {
            let nodes_per_router = network.value("nodes_per_router", number);
            let routers_per_group = network.value("routers_per_group", number);
            let global_links = network.value("global_links", number);
            let groups = network.value("groups", number);
            Some(TopologySpec::Dragonfly {
                nodes_per_router: nodes_per_router?,
                routers_per_group: routers_per_group?,
                global_links: global_links?,
                groups: groups?,
            })
        }
        Name::Torus => {
            let shape = network.value("shape", switches)?;
            Some(TopologySpec::Torus { shape })
        }
    }
}

fn switches(node: &Node) -> Result<Vec<u32>, Wrong> {
    let counts = quantity::counts(1..=1 << 20)(node)?;
    Ok(counts.into_iter().map(|count| count as u32).collect())
}

fn read_messages(mut messages: SourcedSection<'_>) -> Option<MessageSpec> {
    let send_overhead = messages.value("send_overhead", quantity::time);
    let receive_overhead = messages.value("receive_overhead", quantity::time);
    let rma_overhead = messages.value("rma_overhead", quantity::time);
    let short_bytes = messages.value("short", bytes);
    let eager_bytes = messages.value("eager", bytes);
    let window_bytes = match messages.contains("window") {
        true => messages.value("window", quantity::bytes).map(Some),
        false => Some(None),
    };
    let copy_bandwidth = messages.value("copy_bandwidth", quantity::bandwidth);
    Some(MessageSpec {
        send_overhead: send_overhead?,
        receive_overhead: receive_overhead?,
        rma_overhead: rma_overhead?,
        short_bytes: short_bytes?,
        eager_bytes: eager_bytes?,
        window_bytes: window_bytes?,
        copy_bandwidth: copy_bandwidth?,
        registration: None,
    })
}
