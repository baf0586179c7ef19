//! The values of cores that share a cache.

use pagemill_sim::parts::cache::CacheSpec;
use pagemill_sim::shared_cache::{CoreSpec, MemorySpec, PagingSpec, SharedCacheMachine};

use super::{Machine, MachineFile, Refused};
use crate::document::{Node, Reader};
use crate::kind_names;
use crate::quantity::{self, Wrong};
use crate::sourced::SourcedSection;

/// Reads and checks the cores and caches of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<SharedCacheMachine>> {
    Machine::read(file, kind_names::COLORING, reader, |root| {
        let machine = read_machine(root, file.source.stem())?;
        if let Err(error) = machine.check() {
            let refused = Refused {
                key: error.key,
                value: error.value,
                why: error.allowed.replace("it has to", "has to"),
            };
            refused.report(file, reader);
            return None;
        }
        Some(machine)
    })
}

fn read_machine(root: &mut SourcedSection<'_>, name: String) -> Option<SharedCacheMachine> {
    // Every section is read before the first `?`, so that all of its problems are reported at once.
    let core = root.section("core").and_then(read_core);
    let l1 = root.section("l1").and_then(read_cache);
    let l2 = root.section("l2").and_then(read_cache);
    let memory = root.section("memory").and_then(read_memory);
    let paging = root.section("paging").and_then(read_paging);
    Some(SharedCacheMachine {
        name,
        core: core?,
        l1: l1?,
        l2: l2?,
        memory: memory?,
        paging: paging?,
    })
}

fn read_core(mut core: SourcedSection<'_>) -> Option<CoreSpec> {
    let count = core.value("count", quantity::count(1..=64));
    let clock = core.value("clock", quantity::frequency);
    let reference_cycles = core.value("reference", quantity::cycles);
    Some(CoreSpec {
        count: count? as u32,
        clock: clock?,
        reference_cycles: reference_cycles?,
    })
}

fn read_cache(mut cache: SourcedSection<'_>) -> Option<CacheSpec> {
    let bytes = cache.value("bytes", small_bytes);
    let line_bytes = cache.value("line", small_bytes);
    let ways = cache.value("ways", quantity::count(1..=255));
    let hit = cache.value("hit", small_cycles);
    let misses = cache.value("misses", quantity::count(1..=4096));
    Some(CacheSpec {
        bytes: bytes?,
        line_bytes: line_bytes?,
        ways: ways? as u32,
        hit_latency_cycles: hit?,
        mshr_entries: misses? as u32,
        hashed_sets: false,
    })
}

fn read_memory(mut memory: SourcedSection<'_>) -> Option<MemorySpec> {
    let latency = memory.value("latency", quantity::time);
    let bandwidth = memory.value("bandwidth", quantity::bandwidth);
    Some(MemorySpec {
        latency: latency?,
        bandwidth: bandwidth?,
    })
}

fn read_paging(mut paging: SourcedSection<'_>) -> Option<PagingSpec> {
    let page = paging.value("page", quantity::page_size);
    let fault = paging.value("fault", quantity::time);
    let unmap = paging.value("unmap", quantity::time);
    let flush_translations = paging.value("flush_translations", quantity::time);
    let flush_caches = paging.value("flush_caches", quantity::time);
    Some(PagingSpec {
        page: page?,
        fault: fault?,
        unmap: unmap?,
        flush_translations: flush_translations?,
        flush_caches: flush_caches?,
    })
}

fn small_bytes(node: &Node) -> Result<u32, Wrong> {
    let bytes = quantity::bytes(node)?;
    u32::try_from(bytes).map_err(|_| Wrong::new("it has to be below 4 GiB"))
}

fn small_cycles(node: &Node) -> Result<u32, Wrong> {
    let cycles = quantity::cycles(node)?;
    u32::try_from(cycles).map_err(|_| Wrong::new("it has to be below 2^32 cycles"))
}
