//! The values of cores that share a cache.

use pagemill_pages::parts::cache::CacheSpec;
use pagemill_pages::shared_cache::{CoreSpec, MemorySpec, PagingSpec, SharedCacheMachine};

use super::Machine;
use crate::document::Reader;
use crate::keys::{keys, section};
use crate::kind_names;
use crate::machine_files::MachineFile;
use crate::quantity::{any_count, bandwidth, bytes, cycles, frequency, page_size, time};

/// Reads and checks the cores and caches of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<SharedCacheMachine>> {
    let read = keys!(SharedCacheMachine {
        core: section(keys!(CoreSpec {
            count: any_count,
            clock: frequency,
            reference_cycles = "reference": cycles,
        })),
        l1, l2: section(cache),
        memory: section(keys!(MemorySpec { latency: time, bandwidth: bandwidth })),
        paging: section(keys!(PagingSpec {
            page: page_size,
            fault, unmap, flush_translations, flush_caches: time,
        })),
    } with { name: file.source.stem() });
    let check = SharedCacheMachine::check;
    Machine::read(file, kind_names::COLORING, reader, read, check)
}

keys! {
    fn cache() -> CacheSpec {
        bytes, line_bytes = "line": bytes,
        ways: any_count,
        hit_latency_cycles = "hit": cycles,
        mshr_entries = "misses": any_count,
    } with { hashed_sets: false }
}
