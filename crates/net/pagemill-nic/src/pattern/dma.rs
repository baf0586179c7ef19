use pagemill_types::Picos;

use super::super::counts::NicCounts;
use super::super::descriptor::{MemoryKey, Place};
use super::super::interface::Nic;
use super::super::machine::NicMachine;
use super::{AddressOrder, Addresses};
use pagemill_pages::SpecError;
use pagemill_pages::parts::entry_pool::EntryPool;

/// An interface that reads or writes random places of its own host's memory; nothing crosses the wire.
///
/// It measures the way to memory and what translates on it, as pcie-bench does (Neugebauer et al., SIGCOMM 2018).
#[derive(Clone, Copy, Debug)]
pub struct DmaSpec {
    /// Whether it writes.
    pub is_write: bool,
    /// Bytes of an access.
    pub bytes: u64,
    /// Memory in use, in bytes.
    pub span_bytes: u64,
    /// Accesses that count.
    pub accesses: u64,
    /// Accesses before them.
    pub warmup: u64,
    /// Accesses that may be under way.
    pub depth: u32,
    /// Seed of the addresses.
    pub seed: u64,
}

/// Results of the accesses of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DmaReport {
    /// From the first access that counts to the end of the last.
    pub time: Picos,
    /// From the start of an access to its end, summed.
    pub latency: Picos,
    /// What the interface counted, with the warm-up.
    pub counts: NicCounts,
}

/// Runs it: an access starts when one of those under way is over.
///
/// # Errors
/// A value of the machine is impossible.
pub fn run_dma(spec: &DmaSpec, machine: &NicMachine) -> Result<DmaReport, SpecError> {
    let mut nic = Nic::new(machine)?;
    let Some(port) = nic.open_port(0) else {
        let allowed = "the workload opens a port: give the machine one";
        return Err(SpecError::new("ports.count", machine.ports.count, allowed));
    };
    let mut addresses =
        Addresses::new(AddressOrder::Random, spec.bytes, spec.span_bytes, spec.seed);
    let (start, bytes) = addresses.extent();
    machine.check_reach(bytes)?;
    let key = MemoryKey::Registered(nic.register(port, start, bytes));
    let mut under_way = EntryPool::new(spec.depth);
    let mut report = DmaReport::default();
    let (mut at, mut end, mut counted_from) = (Picos::ZERO, Picos::ZERO, Picos::ZERO);
    for access in 0..spec.warmup + spec.accesses {
        at = under_way.admit(at);
        let address = addresses.next_address();
        let place = Place { address, key };
        let (started, done) = nic.access(at, port, place, spec.bytes, spec.is_write);
        under_way.hold_until(done);
        if access < spec.warmup {
            counted_from = done;
        } else {
            report.latency += done.saturating_since(started);
        }
        (at, end) = (started, end.max(done));
    }
    report.time = end.saturating_since(counted_from);
    report.counts = nic.counts();
    Ok(report)
}
