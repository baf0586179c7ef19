//! The values of a simulated network interface and its node.

use pagemill_nic::{
    DescriptorPath, EngineSpec, GpuMemorySpec, HostSpec, IommuSpec, KeySpec, MessageSpec,
    NetworkSpec, NicMachine, PagingSpec, PortSpec, RegistrationMode, RegistrationSpec, TablePlace,
    TableSpec, WireSpec,
};
use pagemill_policy::routing::{ROUTINGS, TopologySpec};
use pagemill_policy::translation::{AttSpec, LargePages, ORGANIZATIONS, TableLayout};

use super::Machine;
use crate::document::{Node, Reader};
use crate::keys::{if_any, keys, optional, optional_section, part, read_key, section};
use crate::kind_names;
use crate::machine_files::MachineFile;
use crate::quantity::{
    Wrong, any_count, bandwidth, boolean, bytes, counts, one_of, page_size, registered, time,
};
use crate::sourced::SourcedSection;

/// Reads and checks the network interface of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<NicMachine>> {
    let name = file.source.stem();
    let read = |root: &mut SourcedSection<'_>| nic(root, name);
    let check = NicMachine::check;
    Machine::read(file, kind_names::NIC, reader, read, check)
}

keys! {
    fn nic(name: String) -> NicMachine {
        host: section(keys!(HostSpec {
            to_memory, from_memory: bandwidth,
            payload_bytes = "payload": bytes,
            write_header_bytes = "write_header", completion_header_bytes = "completion_header": bytes,
            read_request_bytes = "read_request", read_header_bytes = "read_header": bytes,
            read_window_bytes = "read_window": bytes,
            pio_latency, read_latency, write_latency: time,
        })),
        ports: section(keys!(PortSpec { count, on_chip: any_count, })),
        engine: section(keys!(EngineSpec {
            descriptors: one_of("ways of a descriptor", &[("pushed", DescriptorPath::Pushed), ("fetched", DescriptorPath::Fetched)]),
            descriptor_bytes = "descriptor", completion_bytes = "completion": bytes,
            mp_gap, rdma_gap, send_latency, receive_latency: time,
            translate_ahead: boolean,
            segment_bytes = "segment": bytes,
        })),
        att: section(att),
        table: part(table),
        let registration: optional_section(registration),
        gpu_memory: optional_section(keys!(GpuMemorySpec {
            reads, writes: bandwidth, read_latency: time, bar_bytes = "bar": bytes,
        })),
        wire: section(keys!(WireSpec {
            bandwidth: bandwidth,
            payload_bytes = "payload", header_bytes = "header": bytes,
            latency, hop_latency: time,
            hops: any_count,
        })),
        network: optional_section(keys!(NetworkSpec {
            topology: part(topology),
            let entry = "routing": registered("routings", &ROUTINGS),
            bandwidth: bandwidth,
            cable_latency: time,
            part_bytes = "part": bytes,
        } with { routing: entry.routing })),
        let library = "messages": section(keys!(MessageSpec {
            send_overhead, receive_overhead, rma_overhead: time,
            short_bytes = "short", eager_bytes = "eager": bytes,
            window_bytes = "window": optional(bytes),
            copy_bandwidth: bandwidth,
        } with { registration: None })),
    } with { name, messages: MessageSpec { registration, ..library } }

    fn att() -> AttSpec {
        layout: part(keys!(TableLayout {
            page: page_size,
            let second: if_any(&["large_share", "large_page"], keys!(LargePages {
                share_percent = "large_share": any_count, page = "large_page": page_size,
            })),
            entry_bytes = "entry": bytes,
            group_entries: any_count,
        } with { large: second.filter(|large: &LargePages| large.share_percent > 0) })),
        organization: registered("organizations of an ATT cache", &ORGANIZATIONS),
        cache_bytes = "cache": bytes,
        ways, prefetch_groups: any_count,
    }

    fn table() -> TableSpec {
        place = "att.table": one_of("places of a table",
            &[("main-memory", TablePlace::MainMemory), ("own-memory", TablePlace::OwnMemory),
              ("iommu", TablePlace::Iommu)]),
        lookup_latency = "att.lookup_latency": time,
        fetches_in_flight = "att.fetches_in_flight": any_count,
        keys: optional_section(keys!(KeySpec { entries, ways: any_count, entry_bytes = "entry": bytes, })),
        iommu: optional_section(keys!(IommuSpec {
            entries, ways: any_count,
            walk_latency: time,
            walkers: any_count,
            has_device_tlb = "device_tlb": boolean,
            request_latency: time,
        })),
        paging: optional_section(keys!(PagingSpec {
            is_on_demand = "pages": one_of("ways of pages", &[("pinned", false), ("on-demand", true)]),
            fault_latency, page_latency: time,
            fault_pages, handlers: any_count,
            resend_latency: time,
            resident_bytes = "resident": bytes,
            first_use_faults: boolean,
        })),
    }

    fn registration() -> RegistrationSpec {
        mode: one_of("times of a registration",
            &[("once", RegistrationMode::Once), ("each", RegistrationMode::Each),
              ("cached", RegistrationMode::Cached)]),
        register_latency, page_latency, deregister_latency: time,
        cache_regions: any_count,
        cache_bytes = "cache": bytes,
    }
}

/// The keys that the named topology has; others are unknown in its section.
fn topology(network: &mut SourcedSection<'_>) -> Option<TopologySpec> {
    let names = ["fat-tree", "dragonfly", "torus"].map(|name| (name, name));
    let Some(name) = read_key(network, "topology", one_of("topologies", &names)) else {
        network.plain().pass_over();
        return None;
    };
    match name {
        "fat-tree" => keys!(TopologySpec::FatTree {
            children,
            parents: switches,
        })(network),
        "dragonfly" => keys!(TopologySpec::Dragonfly {
            nodes_per_router,
            routers_per_group,
            global_links,
            groups: any_count,
        })(network),
        _ => keys!(TopologySpec::Torus { shape: switches })(network),
    }
}

fn switches(node: &Node) -> Result<Vec<u32>, Wrong> {
    let counts = counts(1..=1 << 20)(node)?;
    Ok(counts.into_iter().map(|count| count as u32).collect())
}
