//! What a network interface and its node are made of: plain values, each from a machine file.

use pagemill_policy::routing::{Routing, Topology, TopologySpec};
use pagemill_policy::translation::AttSpec;
use pagemill_types::{Bandwidth, Picos};
use serde::{Deserialize, Serialize};

use pagemill_pages::SpecError;

/// A node with one network interface, and the wire to the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicMachine {
    /// Name of the machine.
    pub name: String,
    /// The way between interface and main memory.
    pub host: HostSpec,
    /// The memory of a GPU that transfers use instead of main memory; `None` where they use that.
    pub gpu_memory: Option<GpuMemorySpec>,
    /// The virtual ports.
    pub ports: PortSpec,
    /// The engines.
    pub engine: EngineSpec,
    /// The address translation table and its cache.
    pub att: AttSpec,
    /// Where the table is, and what reading it takes.
    pub table: TableSpec,
    /// The link and the routing stage.
    pub wire: WireSpec,
    /// The switches between the nodes; `None` where any two nodes have the wire for themselves.
    #[serde(skip)]
    pub network: Option<NetworkSpec>,
    /// The message-passing library.
    pub messages: MessageSpec,
}

/// The way between the interface and its processor and memory: on the chip, or a bus of packets with headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Rate towards memory, headers included.
    pub to_memory: Bandwidth,
    /// Rate from memory, headers included.
    pub from_memory: Bandwidth,
    /// Most data of one packet in either direction, in bytes.
    pub payload_bytes: u32,
    /// Header of a packet that writes memory, in bytes; 0 on a chip.
    pub write_header_bytes: u32,
    /// Header of a packet that brings read data, in bytes.
    pub completion_header_bytes: u32,
    /// Most data that one read asks for, in bytes.
    pub read_request_bytes: u32,
    /// Header of a read request, in bytes; it goes towards memory.
    pub read_header_bytes: u32,
    /// Most read data that may be on its way, in bytes: for messages and for bulk data each.
    pub read_window_bytes: u32,
    /// From a store of the processor to the interface's register.
    pub pio_latency: Picos,
    /// From a read request to its first data.
    pub read_latency: Picos,
    /// From a write's last byte on the way to its being visible to the processor.
    pub write_latency: Picos,
}

/// Memory of a GPU that the interface reads and writes over the bus, past main memory (GPUDirect RDMA). Descriptors, completion entries
/// and tables stay in main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuMemorySpec {
    /// Rate of reads, headers included: the slowest of the GPU's port and of what is between it and the interface.
    pub reads: Bandwidth,
    /// Rate of writes, headers included.
    pub writes: Bandwidth,
    /// From a read request to its first data.
    pub read_latency: Picos,
    /// Bytes of it that other devices can reach: its window on the bus (BAR).
    pub bar_bytes: u64,
}

/// Virtual ports: each process works with its own, without the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSpec {
    /// Ports that can be open.
    pub count: u32,
    /// Port states held on the chip; the others are read from memory when they are needed.
    pub on_chip: u32,
}

/// Who brings a descriptor to the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DescriptorPath {
    /// The processor writes it into the port.
    Pushed,
    /// The interface reads it from memory after the doorbell.
    Fetched,
}

/// The engines: short messages (mini packets, MP) and RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSpec {
    /// How descriptors come.
    pub descriptors: DescriptorPath,
    /// Bytes of a descriptor.
    pub descriptor_bytes: u32,
    /// Bytes of a completion entry in memory.
    pub completion_bytes: u32,
    /// How long a descriptor occupies the MP engine.
    pub mp_gap: Picos,
    /// How long a descriptor occupies the RDMA engine.
    pub rdma_gap: Picos,
    /// From a descriptor to the first request or packet it causes.
    pub send_latency: Picos,
    /// From an arrived packet to its write to memory.
    pub receive_latency: Picos,
    /// Whether translations are asked for ahead of reads, for as many segments as there may be reads of the table, and where data arrives
    /// without waiting for earlier ones; otherwise each is asked for when there is room for its own read, and after the one before.
    pub translate_ahead: bool,
    /// Most bytes that an RDMA handles as one: it is cut at pages and at multiples of this.
    pub segment_bytes: u32,
}

/// Where the address translation table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TablePlace {
    /// In main memory, behind the cache of `att`.
    MainMemory,
    /// In memory of the interface's own: no cache is needed.
    OwnMemory,
    /// The page tables of the process itself, behind the processor's IOMMU ([`TableSpec::iommu`]).
    Iommu,
}

/// Reading the address translation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// Where it is.
    pub place: TablePlace,
    /// Time of a look-up in the cache, or in the interface's own memory.
    pub lookup_latency: Picos,
    /// Reads of the table that may be under way, for what is sent and for what is received each.
    pub fetches_in_flight: u32,
    /// Memory keys have entries of their own, which the interface caches; `None` where a key costs nothing.
    pub keys: Option<KeySpec>,
    /// The processor's IOMMU, for [`TablePlace::Iommu`].
    pub iommu: Option<IommuSpec>,
    /// What happens at a page that is not mapped; `None` where all pages are pinned.
    pub paging: Option<PagingSpec>,
}

/// Memory keys: what a registration allows is in a table of the host, of which the interface caches some entries (Mellanox calls
/// it MPT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySpec {
    /// Keys that the cache holds.
    pub entries: u32,
    /// Keys of a set.
    pub ways: u32,
    /// Bytes of a key's entry, which a miss reads.
    pub entry_bytes: u32,
}

impl KeySpec {
    /// Bytes of the cache.
    pub fn bytes(&self) -> u64 {
        u64::from(self.entries) * u64::from(self.entry_bytes)
    }
}

/// An IOMMU between the interface and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IommuSpec {
    /// Translations that it keeps.
    pub entries: u32,
    /// Translations of a set.
    pub ways: u32,
    /// Time of a walk of the page tables.
    pub walk_latency: Picos,
    /// Walks that may be under way, for what is sent and for what is received each.
    pub walkers: u32,
    /// Whether the interface asks for translations and keeps them in the cache of `att` (PCIe's address translation services);
    /// otherwise the IOMMU translates each access on its way.
    pub has_device_tlb: bool,
    /// From the interface's request for a translation to the answer, without the walk.
    pub request_latency: Picos,
}

/// Page faults of an interface: PCIe's page requests, or on-demand paging by a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagingSpec {
    /// Whether pages are mapped when they are first used; otherwise all are pinned, and the other values have no effect.
    pub is_on_demand: bool,
    /// From a fault to its end, without what each page takes.
    pub fault_latency: Picos,
    /// What each page of a fault takes.
    pub page_latency: Picos,
    /// Most pages that a fault maps: those that the transfer needs next.
    pub fault_pages: u32,
    /// Faults that the host handles at once, for what is sent and for what is received each.
    pub handlers: u32,
    /// What a fault costs in addition where data arrives: the sender sends it again.
    pub resend_latency: Picos,
    /// Most memory that is mapped at once, in bytes.
    pub resident_bytes: u64,
    /// Whether pages fault when they are used for the first time; otherwise they have been used before, as far as they fit.
    pub first_use_faults: bool,
}

/// What it costs to let the interface use a buffer, where the message-passing library does that when it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistrationSpec {
    /// When a buffer is registered.
    pub mode: RegistrationMode,
    /// Processor time of a registration, without its pages.
    pub register_latency: Picos,
    /// Processor time of each of its pages.
    pub page_latency: Picos,
    /// Processor time of taking one back.
    pub deregister_latency: Picos,
    /// Registrations that the cache holds.
    pub cache_regions: u32,
    /// Memory of the registrations that the cache holds, in bytes.
    pub cache_bytes: u64,
}

/// When a message-passing library registers the buffers of long messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegistrationMode {
    /// Before the program begins, at no cost.
    Once,
    /// For each message, and takes it back after.
    Each,
    /// When no cached registration covers it.
    Cached,
}

/// The link and the network between two interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireSpec {
    /// Rate of each direction after line coding.
    pub bandwidth: Bandwidth,
    /// Most data of one packet, in bytes.
    pub payload_bytes: u32,
    /// Header and check of a packet, in bytes.
    pub header_bytes: u32,
    /// Serializers and cables, from one interface to the other.
    pub latency: Picos,
    /// One routing stage.
    pub hop_latency: Picos,
    /// Routing stages between two nodes.
    pub hops: u32,
}

/// A network of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// How the switches are linked.
    pub topology: TopologySpec,
    /// Who picks the route of a transfer.
    pub routing: Routing,
    /// Rate of a link between switches after line coding; links to nodes have the wire's.
    pub bandwidth: Bandwidth,
    /// Cable between two switches.
    pub cable_latency: Picos,
    /// Bytes of a transfer that pass a link without a break.
    pub part_bytes: u32,
}

/// What a message-passing library costs and how it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSpec {
    /// Processor time of a send, until the doorbell.
    pub send_overhead: Picos,
    /// Processor time of a receive, from the completion entry to the program.
    pub receive_overhead: Picos,
    /// Processor time of an RDMA without a library around it: to post it, or to take notice of its end.
    pub rma_overhead: Picos,
    /// Messages up to this size go as one mini packet.
    pub short_bytes: u32,
    /// Messages up to this size are sent without asking, through copy buffers.
    pub eager_bytes: u32,
    /// Most bytes of a longer message that its receiver has under way: it asks for the next ones when these are there. `None`: all.
    pub window_bytes: Option<u64>,
    /// Rate of copies between a program's buffer and a copy buffer.
    pub copy_bandwidth: Bandwidth,
    /// What registering the buffers of longer messages costs; `None`: nothing.
    pub registration: Option<RegistrationSpec>,
}

impl WireSpec {
    /// Time from the first bit on the wire to the first bit at the other end.
    pub fn flight(&self) -> Picos {
        Picos(self.latency.0 + u64::from(self.hops) * self.hop_latency.0)
    }

    /// Bytes on the wire for `bytes` of data; a packet without data is a header.
    #[inline]
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(u64::from(self.payload_bytes)).max(1) * u64::from(self.header_bytes)
    }
}

impl NetworkSpec {
    /// The topology.
    ///
    /// # Errors
    /// A value of it is impossible.
    pub fn build(&self) -> Result<Box<dyn Topology>, SpecError> {
        self.topology.build().map_err(|error| {
            SpecError::new(format!("network.{}", error.key), error.value, error.allowed)
        })
    }
}

impl HostSpec {
    /// Bytes on the way towards memory for a write of `bytes`.
    #[inline]
    pub fn write_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(u64::from(self.payload_bytes)) * u64::from(self.write_header_bytes)
    }

    /// Bytes on the way from memory for a read of `bytes`.
    #[inline]
    pub fn read_bytes(&self, bytes: u64) -> u64 {
        bytes
            + bytes.div_ceil(u64::from(self.payload_bytes))
                * u64::from(self.completion_header_bytes)
    }

    /// Bytes on the way towards memory that ask for a read of `bytes`.
    #[inline]
    pub fn request_bytes(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.read_request_bytes)) * u64::from(self.read_header_bytes)
    }
}

fn slower(one: Bandwidth, other: Bandwidth) -> Bandwidth {
    match one.bytes_per_second() < other.bytes_per_second() {
        true => one,
        false => other,
    }
}

impl NicMachine {
    /// The way to the data of transfers.
    pub(crate) fn data_path(&self) -> HostSpec {
        match &self.gpu_memory {
            None => self.host,
            Some(gpu) => HostSpec {
                to_memory: slower(self.host.to_memory, gpu.writes),
                from_memory: slower(self.host.from_memory, gpu.reads),
                read_latency: gpu.read_latency,
                ..self.host
            },
        }
    }

    /// Checks that the interface can reach `bytes` bytes of data at once.
    ///
    /// # Errors
    /// They lie in the memory of a GPU that shows fewer.
    pub(crate) fn check_reach(&self, bytes: u64) -> Result<(), SpecError> {
        match &self.gpu_memory {
            Some(gpu) if gpu.bar_bytes < bytes => {
                let allowed = format!("must be at least the {bytes} bytes that the workload uses");
                Err(SpecError::new(
                    "gpu_memory.bar_bytes",
                    gpu.bar_bytes,
                    allowed,
                ))
            }
            _ => Ok(()),
        }
    }

    /// The least span between a call and the arrival of any packet that it causes, at another node or at a switch.
    pub fn lookahead(&self) -> Picos {
        match self.network {
            None => self.wire.flight(),
            Some(_) => Picos(self.wire.latency.0 / 2),
        }
    }
}
