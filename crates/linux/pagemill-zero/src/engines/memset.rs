use super::cpu::CpuEngine;
use super::engine::{EngineEntry, Probe};

/// Ordinary stores, as the C library does it: the base line. Reads every line it writes, and fills the caches with zeroes.
pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "memset",
    summary: "ordinary stores of the C library, through the caches",
    probe: || Probe::Ready("every processor".to_owned()),
    open: || Ok(CpuEngine::boxed("memset", |page| page.fill(0))),
};
