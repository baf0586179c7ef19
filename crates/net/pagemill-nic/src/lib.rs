//! A network interface that keeps its address translation table in main memory, and the messages that go over it
//! (Guo et al. 2011).
//!
//! [`Nic`] is one interface in two ends: [`Nic::post`] says when data leaves, [`Nic::arrive`] when it is in memory.
//! [`Rank`] puts tagged messages on top. Both know nothing of other nodes: a driver carries [`Packet`]s between them.
//! [`World`] is the driver in simulation: one [`Program`] for each rank, and the switches between them if the machine has any.
#![forbid(unsafe_code)]

mod ahead;
mod att;
mod counts;
mod descriptor;
mod host_path;
mod interface;
mod iommu;
mod machine;
mod machine_check;
mod matching;
mod moment;
mod network;
mod node;
mod packet;
mod paging;
pub mod pattern;
mod presets;
mod program;
mod rank;
mod region;
mod registration;
mod slab;
mod split;
mod table_map;
mod timed_cache;
mod vport;
mod wire;
mod world;

pub use counts::{ErrorCounts, NicCounts, TranslationCounts};
pub use descriptor::{
    Arrived, Departure, Flight, FlightKind, Key, Lane, MemoryKey, Operation, Part, Place, PortId,
    Post, Posted, Status,
};
pub use interface::Nic;
pub use machine::{
    DescriptorPath, EngineSpec, GpuMemorySpec, HostSpec, IommuSpec, KeySpec, MessageSpec,
    NetworkSpec, NicMachine, PagingSpec, PortSpec, RegistrationMode, RegistrationSpec, TablePlace,
    TableSpec, WireSpec,
};
pub use moment::{Cause, Moment, Moments, Sent, Traced};
pub use network::NetworkCounts;
pub use node::{NicCall, NodeSpec};
pub use packet::{
    Body, CallKind, Completion, MessageId, Packet, Receive, Request, Rma, Send, Step,
};
pub use pagemill_pages::SpecError;
pub use program::{Action, Program};
pub use rank::Rank;
pub use world::{World, WorldError, WorldReport};
