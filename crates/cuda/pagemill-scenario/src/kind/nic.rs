//! `kind = "nic"`: communication over simulated network interfaces.

use pagemill_nic::NicMachine;
use pagemill_nic::pattern::{
    AddressOrder, Addresses, BandwidthSpec, DmaSpec, ExchangePattern, ExchangeSpec, LatencySpec,
    Level, PortsSpec,
};
use pagemill_types::Picos;

use super::input::PointInput;
use crate::document::{Node, Section};
use crate::machine::{self, Machine};
use crate::quantity::{self, Wrong};

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] = &[("workload.name", "workload")];

/// One pattern of communication on one kind of node.
#[derive(Debug)]
pub struct NicPoint {
    /// The node and its interface.
    pub machine: Machine<NicMachine>,
    /// What its processes do.
    pub workload: NicWorkload,
}

/// What the processes do.
#[derive(Debug)]
pub enum NicWorkload {
    /// Ping-pong.
    Latency(LatencySpec),
    /// Windows of transfers, one way or both.
    Bandwidth(BandwidthSpec),
    /// Many ports of one node.
    Ports(PortsSpec),
    /// One interface and its own memory.
    Dma(DmaSpec),
    /// A generated program of many ranks.
    Exchange(ExchangeSpec),
}

const LATENCY: &str = "latency";
const BANDWIDTH: &str = "bandwidth";
const BIDIRECTIONAL: &str = "bidirectional";
const PORTS: &str = "ports";
const DMA: &str = "dma";
const RING: &str = "ring";
const ALL_TO_ALL: &str = "all-to-all";
const HALO: &str = "halo";
const SHIFT: &str = "shift";
const INCAST: &str = "incast";
const PAIRS: &str = "pairs";

/// Every workload of this kind: name, and what it is.
pub const NIC_WORKLOADS: &[(&str, &str)] = &[
    (LATENCY, "ping-pong of two ranks; half of a round trip"),
    (BANDWIDTH, "windows of transfers from one rank to another"),
    (
        BIDIRECTIONAL,
        "windows of transfers of two ranks to each other",
    ),
    (
        PORTS,
        "many processes of a node, each with its own port, write to another node",
    ),
    (
        DMA,
        "an interface reads or writes random places of its own memory",
    ),
    (RING, "each rank sends to the next"),
    (
        ALL_TO_ALL,
        "each rank sends to every other, one distance after the other",
    ),
    (HALO, "each rank exchanges with six neighbors of a torus"),
    (SHIFT, "each rank sends to the one a distance further on"),
    (INCAST, "all other ranks send to rank 0"),
    (
        PAIRS,
        "each rank exchanges with one other, drawn anew in each iteration",
    ),
];

impl NicPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let workload = root
            .section("workload")
            .and_then(|section| read_workload(section, input.seed));
        let machine = input
            .machine
            .and_then(|file| machine::nic::read(file, input.reader));
        Some(Self {
            machine: machine?,
            workload: workload?,
        })
    }
}

impl NicWorkload {
    /// The name that scenarios use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Latency(_) => LATENCY,
            Self::Bandwidth(spec) if spec.both_ways => BIDIRECTIONAL,
            Self::Bandwidth(_) => BANDWIDTH,
            Self::Ports(_) => PORTS,
            Self::Dma(_) => DMA,
            Self::Exchange(spec) => match spec.pattern {
                ExchangePattern::Ring => RING,
                ExchangePattern::AllToAll => ALL_TO_ALL,
                ExchangePattern::Halo => HALO,
                ExchangePattern::Shift { .. } => SHIFT,
                ExchangePattern::Incast => INCAST,
                ExchangePattern::Pairs { .. } => PAIRS,
            },
        }
    }
}

fn read_workload(mut section: Section<'_>, seed: u64) -> Option<NicWorkload> {
    let names: Vec<&str> = NIC_WORKLOADS.iter().map(|(name, _)| *name).collect();
    let Some(name) = section.required("name", quantity::choice("workloads", &names)) else {
        section.abandon();
        return None;
    };
    match name.as_str() {
        LATENCY => read_latency(&mut section, seed).map(NicWorkload::Latency),
        BANDWIDTH => read_bandwidth(&mut section, false, seed).map(NicWorkload::Bandwidth),
        BIDIRECTIONAL => read_bandwidth(&mut section, true, seed).map(NicWorkload::Bandwidth),
        PORTS => read_ports(&mut section, seed).map(NicWorkload::Ports),
        DMA => read_dma(&mut section, seed).map(NicWorkload::Dma),
        exchange => {
            let pattern = read_pattern(exchange, &mut section, seed);
            read_exchange(&mut section, pattern).map(NicWorkload::Exchange)
        }
    }
}

fn read_latency(section: &mut Section<'_>, seed: u64) -> Option<LatencySpec> {
    let level = section.required("level", level);
    let bytes = section.required("bytes", message_bytes);
    let iterations = section.or("iterations", 100, quantity::count(1..=ITERATIONS_MAX));
    let warmup = section.or("warmup", 10, quantity::count(0..=ITERATIONS_MAX));
    let (source, target) = read_buffers(section, bytes.unwrap_or(1), seed)?;
    Some(LatencySpec {
        level: level?,
        bytes: bytes?,
        iterations: iterations?,
        warmup: warmup?,
        source,
        target,
    })
}

fn read_bandwidth(section: &mut Section<'_>, both_ways: bool, seed: u64) -> Option<BandwidthSpec> {
    let level = section.required("level", level);
    let bytes = section.required("bytes", message_bytes);
    let window = section.or("window", 64, quantity::count(1..=1 << 20));
    let iterations = section.or("iterations", 20, quantity::count(1..=ITERATIONS_MAX));
    let warmup = section.or("warmup", 2, quantity::count(0..=ITERATIONS_MAX));
    let (source, target) = read_buffers(section, bytes.unwrap_or(1), seed)?;
    Some(BandwidthSpec {
        level: level?,
        both_ways,
        bytes: bytes?,
        window: window?,
        iterations: iterations?,
        warmup: warmup?,
        source,
        target,
    })
}

/// Where transfers come from and where they go.
fn read_buffers(
    section: &mut Section<'_>,
    bytes: u64,
    seed: u64,
) -> Option<(Addresses, Addresses)> {
    let names = ["same", "first-touch", "random", "stride"];
    let order = |key: &str, section: &mut Section<'_>| {
        section.or(
            key,
            "same".to_owned(),
            quantity::choice("orders of buffers", &names),
        )
    };
    let (source, target) = (order("source", section), order("target", section));
    let (Some(source), Some(target)) = (source, target) else {
        section.pass_over();
        return None;
    };
    let uses = |name: &str| source == name || target == name;
    let span_bytes = match uses("first-touch") || uses("random") {
        true => section.or("span", 1 << 30, memory_bytes),
        false => Some(0),
    };
    let (distance_bytes, buffers) = match uses("stride") {
        true => (
            section.or("distance", 128 << 20, memory_bytes),
            section.or("buffers", 2, quantity::count(1..=1 << 16)),
        ),
        false => (Some(0), Some(1)),
    };
    let (span_bytes, distance_bytes, buffers) = (span_bytes?, distance_bytes?, buffers?);
    let addresses = |name: &str, seed: u64| {
        let order = match name {
            "first-touch" => AddressOrder::FirstTouch,
            "random" => AddressOrder::Random,
            "stride" => AddressOrder::Stride {
                distance_bytes,
                buffers,
            },
            _ => AddressOrder::Same,
        };
        Addresses::new(order, bytes, span_bytes, seed)
    };
    // Two sequences that have nothing to do with each other.
    Some((addresses(&source, seed), addresses(&target, !seed)))
}

fn read_ports(section: &mut Section<'_>, seed: u64) -> Option<PortsSpec> {
    let ports = section.required("ports", quantity::count(1..=1 << 16));
    let bytes = section.or("bytes", 64, message_bytes);
    let writes = section.or("writes", 1000, quantity::count(1..=ITERATIONS_MAX));
    let span_bytes = section.or("span", 1 << 20, memory_bytes);
    let regions = section.or("regions", 1, quantity::count(1..=1 << 20));
    Some(PortsSpec {
        ports: ports? as u32,
        bytes: bytes?,
        writes: writes?,
        span_bytes: span_bytes?,
        regions: regions? as u32,
        seed,
    })
}

fn read_dma(section: &mut Section<'_>, seed: u64) -> Option<DmaSpec> {
    let operation = section.or(
        "operation",
        "read".to_owned(),
        quantity::choice("operations", &["read", "write"]),
    );
    let bytes = section.or("bytes", 64, message_bytes);
    let span_bytes = section.or("span", 1 << 20, memory_bytes);
    let accesses = section.or("accesses", 10_000, quantity::count(1..=ITERATIONS_MAX));
    let warmup = section.or("warmup", 1000, quantity::count(0..=ITERATIONS_MAX));
    let depth = section.or("depth", 64, quantity::count(1..=1 << 20));
    Some(DmaSpec {
        is_write: operation? == "write",
        bytes: bytes?,
        span_bytes: span_bytes?,
        accesses: accesses?,
        warmup: warmup?,
        depth: depth? as u32,
        seed,
    })
}

fn read_pattern(name: &str, section: &mut Section<'_>, seed: u64) -> Option<ExchangePattern> {
    Some(match name {
        RING => ExchangePattern::Ring,
        ALL_TO_ALL => ExchangePattern::AllToAll,
        HALO => ExchangePattern::Halo,
        SHIFT => {
            let distance = section.required("distance", quantity::count(0..=1 << 20))?;
            ExchangePattern::Shift {
                distance: distance as u32,
            }
        }
        INCAST => ExchangePattern::Incast,
        _ => ExchangePattern::Pairs { seed },
    })
}

fn read_exchange(
    section: &mut Section<'_>,
    pattern: Option<ExchangePattern>,
) -> Option<ExchangeSpec> {
    let ranks = section.required("ranks", quantity::count(1..=1 << 20));
    let bytes = section.required("bytes", message_bytes);
    let iterations = section.or("iterations", 10, quantity::count(1..=ITERATIONS_MAX));
    let compute = section.or("compute", Picos::ZERO, quantity::time);
    Some(ExchangeSpec {
        pattern: pattern?,
        ranks: ranks? as u32,
        bytes: bytes?,
        iterations: iterations?,
        compute: compute?,
    })
}

/// More repetitions than this are taken for a mistake.
const ITERATIONS_MAX: u64 = 1_000_000_000;

fn level(node: &Node) -> Result<Level, Wrong> {
    let found = quantity::choice("levels", &["rdma", "mpi"])(node)?;
    Ok(if found == "rdma" {
        Level::Rdma
    } else {
        Level::Mpi
    })
}

fn message_bytes(node: &Node) -> Result<u64, Wrong> {
    at_most(quantity::bytes(node)?, 1 << 40, "1 TiB")
}

fn memory_bytes(node: &Node) -> Result<u64, Wrong> {
    at_most(quantity::bytes(node)?, 1 << 44, "16 TiB")
}

fn at_most(bytes: u64, most: u64, shown: &str) -> Result<u64, Wrong> {
    if bytes <= most {
        Ok(bytes)
    } else {
        Err(Wrong::new(format!("it has to be at most {shown}")))
    }
}
