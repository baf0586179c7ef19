use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pagemill_types::Picos;

use super::super::counts::NicCounts;
use super::super::descriptor::{Key, Lane, MemoryKey, Operation, Place, PortId, Post, Posted};
use super::super::interface::Nic;
use super::super::machine::NicMachine;
use super::{AddressOrder, Addresses};
use pagemill_pages::SpecError;

/// Many processes of one node, each with its own port, that write to as many of another node.
#[derive(Clone, Debug)]
pub struct PortsSpec {
    /// Ports in use on each node.
    pub ports: u32,
    /// Bytes of a write.
    pub bytes: u64,
    /// Writes of each process.
    pub writes: u64,
    /// Memory of each process that writes go to, in bytes.
    pub span_bytes: u64,
    /// Registrations that the memory of a process is divided into, on either side.
    pub regions: u32,
    /// Seed of the addresses.
    pub seed: u64,
}

/// Results of the writes of many ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortsReport {
    /// When the last write was in memory.
    pub end: Picos,
    /// From doorbell to completion entry, summed over all writes.
    pub latency: Picos,
    /// Writes.
    pub writes: u64,
    /// Writes that ended in an error.
    pub errors: u64,
    /// Both interfaces together.
    pub counts: NicCounts,
}

/// Runs it: a process posts its next write when the buffer of the one before is free again.
///
/// # Errors
/// A value of the machine is impossible, or it has fewer ports.
pub fn run_ports(spec: &PortsSpec, machine: &NicMachine) -> Result<PortsReport, SpecError> {
    let most = spec.span_bytes.max(spec.bytes) / spec.bytes.max(1);
    if u64::from(spec.regions) > most {
        let allowed = format!("each registration has to hold a write: at most {most}");
        return Err(SpecError::new("workload.regions", spec.regions, allowed));
    }
    machine.check_reach(spec.span_bytes.saturating_mul(u64::from(spec.ports)))?;
    let mut processes = Processes::open(spec, machine)?;
    let mut queue: BinaryHeap<Reverse<(Picos, u32)>> = (0..spec.ports)
        .map(|process| Reverse((Picos::ZERO, process)))
        .collect();
    let mut report = PortsReport::default();
    while let Some(Reverse((at, process))) = queue.pop() {
        let (done_at, next_at) = processes.write(at, process, &mut report);
        report.writes += 1;
        report.end = report.end.max(done_at);
        report.latency += done_at - at;
        let left = &mut processes.all[process as usize].writes_left;
        *left -= 1;
        if *left > 0 {
            queue.push(Reverse((next_at, process)));
        }
    }
    report.counts = processes.near.counts();
    report.counts.add(&processes.far.counts());
    Ok(report)
}

struct Processes {
    near: Nic,
    far: Nic,
    all: Vec<Process>,
    bytes: u64,
    overhead: Picos,
}

struct Process {
    port: PortId,
    keys: (Keys, Keys),
    source: Addresses,
    target: Addresses,
    writes_left: u64,
}

/// The registrations of a process' memory, side by side.
struct Keys {
    start: u64,
    bytes: u64,
    region_bytes: u64,
    keys: Vec<Key>,
}

impl Keys {
    /// Registers `bytes` bytes from `start` on for `port`, in `regions` equal parts; the last one takes the rest.
    fn register(nic: &mut Nic, port: PortId, (start, bytes): (u64, u64), regions: u32) -> Self {
        let regions = u64::from(regions.max(1));
        let region_bytes = bytes / regions;
        let keys = (0..regions).map(|region| {
            let offset = region * region_bytes;
            let is_last = region + 1 == regions;
            let length = if is_last {
                bytes - offset
            } else {
                region_bytes
            };
            nic.register(port, start + offset, length)
        });
        Self {
            keys: keys.collect(),
            start,
            bytes,
            region_bytes,
        }
    }

    /// The place of `bytes` bytes near `address` within one registration: one that would cross into the next ends with its own.
    fn place(&self, address: u64, bytes: u64) -> Place {
        let last = self.keys.len() as u64 - 1;
        let region = ((address - self.start) / self.region_bytes.max(1)).min(last);
        let end = match region == last {
            true => self.start + self.bytes,
            false => self.start + (region + 1) * self.region_bytes,
        };
        Place {
            address: address.min(end - bytes),
            key: MemoryKey::Registered(self.keys[region as usize]),
        }
    }
}

impl Processes {
    fn open(spec: &PortsSpec, machine: &NicMachine) -> Result<Self, SpecError> {
        let (mut near, mut far) = (Nic::new(machine)?, Nic::new(machine)?);
        let mut all = Vec::with_capacity(spec.ports as usize);
        for process in 0..spec.ports {
            let (Some(port), Some(_)) = (
                near.open_port(process.into()),
                far.open_port(process.into()),
            ) else {
                let allowed = format!(
                    "the workload opens {} ports: give the machine as many",
                    spec.ports
                );
                return Err(SpecError::new("ports.count", machine.ports.count, allowed));
            };
            let seed = spec.seed.wrapping_add(u64::from(process));
            let addresses =
                |seed| Addresses::new(AddressOrder::Random, spec.bytes, spec.span_bytes, seed);
            let (source, target) = (addresses(seed), addresses(!seed));
            let keys = (
                Keys::register(&mut near, port, source.extent(), spec.regions),
                Keys::register(&mut far, port, target.extent(), spec.regions),
            );
            all.push(Process {
                port,
                keys,
                source,
                target,
                writes_left: spec.writes.max(1),
            });
        }
        Ok(Self {
            near,
            far,
            all,
            bytes: spec.bytes,
            overhead: machine.messages.rma_overhead,
        })
    }

    /// Process `number` posts a write at `at`; returns when it is in memory and when the process can go on.
    fn write(&mut self, at: Picos, number: u32, report: &mut PortsReport) -> (Picos, Picos) {
        let process = &mut self.all[number as usize];
        let bytes = self.bytes;
        let operation = Operation::Write {
            local: (process.keys.0).place(process.source.next_address(), bytes),
            remote: (process.keys.1).place(process.target.next_address(), bytes),
            bytes,
            lane: Lane::Bulk,
        };
        let post = Post {
            port: process.port,
            process: number.into(),
            target_port: process.port,
            operation,
        };
        match self.near.post(at + self.overhead, &post) {
            Posted::Sent {
                flight,
                reusable_at,
                ..
            } => {
                // One sender, one lane: flights arrive in the order in which they were posted.
                let arrived = self.far.arrive(&flight);
                report.errors += u64::from(!arrived.status.is_success());
                (arrived.done_at, reusable_at)
            }
            Posted::Refused { at, .. } => {
                report.errors += 1;
                (at, at)
            }
        }
    }
}
