//! What a GPU run is measured by. `docs/results.md` describes the same columns.

use pagemill_report::{ColumnKind, Row};
use pagemill_sim::Report;
use pagemill_types::Clock;
use pagemill_workloads::Checked;

use crate::quotient::quotient;

/// Every metric with what it means, in the order of the row.
pub const METRICS: &[(&str, ColumnKind, &str)] = &[
    (
        "time_ns",
        ColumnKind::TimeNs,
        "simulated time from the first request of the host to the end of the last",
    ),
    (
        "kernel_time_ns",
        ColumnKind::TimeNs,
        "part of time_ns with a kernel running",
    ),
    (
        "copy_time_ns",
        ColumnKind::TimeNs,
        "part of time_ns with a copy of the host, or pages coming back for it",
    ),
    (
        "time_detail",
        ColumnKind::Text,
        "how much was timed, if not every launch: sampled, or pages (time_ns is then a lower bound)",
    ),
    (
        "time_error_ns",
        ColumnKind::TimeNs,
        "with `detail = \"sampled\"`: the time of full detail is within this much of time_ns, at a confidence of 95 %",
    ),
    (
        "timed_launches",
        ColumnKind::Count,
        "with a detail: launches that were timed; cache, TLB and DRAM columns are of these alone",
    ),
    (
        "timed_instructions_share",
        ColumnKind::Rate,
        "with a detail: thread instructions of the timed launches, of all",
    ),
    (
        "untimed_moved_bytes",
        ColumnKind::Bytes,
        "with a detail: moved in launches that were not timed",
    ),
    (
        "page_traffic",
        ColumnKind::Text,
        "with a detail: exact if full detail moves the same bytes, estimated if that depends on the order of accesses in launches that were not timed",
    ),
    (
        "migrated_bytes",
        ColumnKind::Bytes,
        "moved from CPU to GPU, by migration or by copies",
    ),
    (
        "repeated_bytes",
        ColumnKind::Bytes,
        "part of migrated_bytes that demand had moved to the GPU before",
    ),
    (
        "returned_bytes",
        ColumnKind::Bytes,
        "moved from GPU to CPU: pages coming back, evictions, copies",
    ),
    (
        "touched_bytes",
        ColumnKind::Bytes,
        "distinct 128-byte segments that kernels touched",
    ),
    (
        "allocated_bytes",
        ColumnKind::Bytes,
        "buffers of the program",
    ),
    ("launches", ColumnKind::Count, "kernel launches"),
    (
        "warp_instructions",
        ColumnKind::Count,
        "PTX instructions that warps executed",
    ),
    (
        "thread_instructions",
        ColumnKind::Count,
        "PTX instructions times the lanes that executed them",
    ),
    (
        "tlb_lookups",
        ColumnKind::Count,
        "one for each 128-byte segment of a warp-wide access",
    ),
    (
        "tlb_misses",
        ColumnKind::Count,
        "lookups without a translation at hand, whether they started a walk or joined one",
    ),
    (
        "tlb_miss_rate",
        ColumnKind::Rate,
        "tlb_misses / tlb_lookups",
    ),
    ("page_walks", ColumnKind::Count, "walks of the page table"),
    (
        "l1_hit_rate",
        ColumnKind::Rate,
        "loads and stores that found their line in L1",
    ),
    (
        "l2_hit_rate",
        ColumnKind::Rate,
        "loads and stores that found their line in L2",
    ),
    (
        "dram_bytes",
        ColumnKind::Bytes,
        "read from and written to GPU memory",
    ),
    (
        "migrations",
        ColumnKind::Count,
        "ranges moved on demand, each with its own transfer",
    ),
    (
        "joined_requests",
        ColumnKind::Count,
        "requests that found the bytes they need on the way",
    ),
    (
        "evictions",
        ColumnKind::Count,
        "pages moved out of GPU memory to make room",
    ),
    (
        "migration_buffer_stalls",
        ColumnKind::Count,
        "migrations that found the buffer of their memory partition full",
    ),
    (
        "migration_buffer_stall_time_ns",
        ColumnKind::TimeNs,
        "how long they waited, summed",
    ),
    (
        "resident_bytes",
        ColumnKind::Bytes,
        "valid in GPU memory at the end, where pages migrate",
    ),
    (
        "resident_pages",
        ColumnKind::Count,
        "pages with anything valid in GPU memory at the end",
    ),
    (
        "ranges_per_page_mean",
        ColumnKind::Number,
        "valid ranges of such a page, on average",
    ),
    (
        "ranges_per_page_max",
        ColumnKind::Count,
        "most valid ranges of such a page",
    ),
    ("pages_with_1_range", ColumnKind::Count, "of resident_pages"),
    (
        "pages_with_2_ranges",
        ColumnKind::Count,
        "of resident_pages",
    ),
    (
        "pages_with_3_ranges",
        ColumnKind::Count,
        "of resident_pages",
    ),
    (
        "pages_with_4_or_more_ranges",
        ColumnKind::Count,
        "of resident_pages",
    ),
    (
        "populated_bytes",
        ColumnKind::Bytes,
        "of CUDA programs, and under a driver: allocated on the GPU at their first touch; nothing moved for them",
    ),
    (
        "dropped_bytes",
        ColumnKind::Bytes,
        "under a driver: left the GPU without a copy, because CPU memory had them too",
    ),
    (
        "remote_bytes",
        ColumnKind::Bytes,
        "under a driver: used by the GPU in CPU memory, in segments of 128 bytes",
    ),
    (
        "host_remote_bytes",
        ColumnKind::Bytes,
        "where the GPU walks the host's page tables: used by the CPU in GPU memory, over the link",
    ),
    (
        "faults",
        ColumnKind::Count,
        "under a driver: accesses that faulted and slept",
    ),
    (
        "batches",
        ColumnKind::Count,
        "under a driver: batches of faults and reports served",
    ),
    (
        "block_services",
        ColumnKind::Count,
        "under a driver: blocks of 2 MiB served, over all batches",
    ),
    (
        "driver_busy_ns",
        ColumnKind::TimeNs,
        "under a driver: time that it served batches",
    ),
    (
        "batch_time_ns",
        ColumnKind::TimeNs,
        "under a driver: time of a batch, on average",
    ),
    (
        "throttles",
        ColumnKind::Count,
        "under a driver: faults put off because their page thrashes",
    ),
    (
        "pins",
        ColumnKind::Count,
        "under a driver: pages pinned in CPU memory because they thrash",
    ),
    (
        "counter_migrations",
        ColumnKind::Count,
        "under a driver: blocks moved because access counters reported them",
    ),
    (
        "unheeded_hints",
        ColumnKind::Count,
        "hints of the program that have no effect in this transfer mode, if there were any",
    ),
    (
        "loads_beyond",
        ColumnKind::Count,
        "loads of single threads that reached beyond an allocation and read zeros there (limits.read_granule), if there were any: a mistake of the program",
    ),
    (
        "cycles_per_access",
        ColumnKind::Number,
        "of pointer-chase: core cycles of the last launch over its loads, each of which needs the one before",
    ),
    (
        "bandwidth_bytes_per_second",
        ColumnKind::BytesPerSecond,
        "of streams: what the last launch read and wrote over its time",
    ),
    (
        "checked_values",
        ColumnKind::Count,
        "results compared with the CPU reference, all within their tolerance",
    ),
    (
        "largest_error",
        ColumnKind::Number,
        "largest relative difference among them; 0 is bit-exact",
    ),
];

/// The row with everything that was measured; `checked` where results were compared with a reference.
pub fn add_metrics(row: Row, report: &Report, checked: Option<&Checked>) -> Row {
    let (execution, memory) = (&report.execution, &report.memory);
    let repeated_bytes = memory.migration.repeated_bytes + memory.migration.refetched_bytes;
    let misses = memory.tlb_misses + memory.tlb_merged_misses;
    let row = row
        .metric("time_ns", report.time_ns)
        .metric("kernel_time_ns", report.kernel_time_ns)
        .metric("copy_time_ns", report.copy_time_ns)
        .metric("migrated_bytes", report.migrated_bytes)
        .metric("repeated_bytes", repeated_bytes)
        .metric("returned_bytes", report.returned_bytes)
        .metric("touched_bytes", report.touched_bytes)
        .metric("allocated_bytes", report.allocated_bytes)
        .metric("launches", report.launches.len())
        .metric("warp_instructions", execution.warp_instructions)
        .metric("thread_instructions", execution.thread_instructions)
        .metric("tlb_lookups", memory.tlb_lookups)
        .metric("tlb_misses", misses)
        .metric("tlb_miss_rate", quotient(misses as f64, memory.tlb_lookups))
        .metric("page_walks", memory.walks)
        .metric("l1_hit_rate", hit_rate(&memory.l1))
        .metric("l2_hit_rate", hit_rate(&memory.l2))
        .metric("dram_bytes", memory.dram.bytes);
    let row = add_sampling(row, report);
    let row = add_migration(row, report);
    let row = add_driver(row, report);
    match checked {
        Some(checked) => row
            .metric("checked_values", checked.values)
            .metric("largest_error", checked.largest_error),
        None => row,
    }
}

/// What a program that measures says of its last launch, which had cores of `clock`.
pub fn add_last_launch(row: Row, report: &Report, checked: &Checked, clock: Clock) -> Row {
    let Some(launch) = report.launches.last().filter(|launch| launch.time().0 > 0) else {
        return row;
    };
    let (time, cycle) = (
        launch.time().0 as f64,
        clock.cycles(1_000_000).0 as f64 / 1e6,
    );
    let row = match checked.accesses {
        0 => row,
        accesses => row.metric("cycles_per_access", time / cycle / accesses as f64),
    };
    match checked.streamed_bytes {
        0 => row,
        bytes => row.metric(
            "bandwidth_bytes_per_second",
            (bytes as f64 / time * 1e12).round() as u64,
        ),
    }
}

/// How much was timed, where not everything was.
fn add_sampling(row: Row, report: &Report) -> Row {
    let Some(sampling) = &report.sampling else {
        return row;
    };
    let row = row
        .metric("time_detail", sampling.detail.name())
        .metric("timed_launches", sampling.timed_launches)
        .metric(
            "timed_instructions_share",
            quotient(
                sampling.timed_thread_instructions as f64,
                report.execution.thread_instructions,
            ),
        )
        .metric("untimed_moved_bytes", sampling.untimed_moved_bytes)
        .metric(
            "page_traffic",
            if sampling.is_exact {
                "exact"
            } else {
                "estimated"
            },
        );
    match sampling.time_error_ns {
        Some(error) => row.metric("time_error_ns", error),
        None => row,
    }
}

fn add_migration(row: Row, report: &Report) -> Row {
    let migration = &report.memory.migration;
    let row = row
        .metric("migrations", migration.migrations)
        .metric("joined_requests", migration.joined_requests)
        .metric("evictions", migration.evictions)
        .metric("migration_buffer_stalls", migration.buffer_stalls)
        .metric(
            "migration_buffer_stall_time_ns",
            migration.buffer_stalled.as_nanos(),
        );
    let histogram = &report.ranges_per_page;
    let with = |ranges: usize| histogram.get(ranges).copied().unwrap_or(0);
    let pages: u64 = histogram.iter().skip(1).sum();
    if pages == 0 {
        return row;
    }
    let ranges: u64 = histogram
        .iter()
        .zip(0..)
        .map(|(pages, ranges)| pages * ranges)
        .sum();
    let most = histogram.iter().rposition(|pages| *pages > 0).unwrap_or(0);
    row.metric("resident_bytes", report.resident_bytes)
        .metric("resident_pages", pages)
        .metric("ranges_per_page_mean", quotient(ranges as f64, pages))
        .metric("ranges_per_page_max", most)
        .metric("pages_with_1_range", with(1))
        .metric("pages_with_2_ranges", with(2))
        .metric("pages_with_3_ranges", with(3))
        .metric(
            "pages_with_4_or_more_ranges",
            pages - with(1) - with(2) - with(3),
        )
}

/// What a driver did, where there was one, and hints that nothing heeded.
fn add_driver(row: Row, report: &Report) -> Row {
    let did = &report.memory.migration;
    let row = match report.unheeded_hints {
        0 => row,
        hints => row.metric("unheeded_hints", hints),
    };
    let row = match report.loads_beyond {
        0 => row,
        loads => row.metric("loads_beyond", loads),
    };
    if !report.driven {
        // Only of CUDA programs is it known what their CPU has touched.
        return match did.populated_bytes {
            0 => row,
            bytes => row.metric("populated_bytes", bytes),
        };
    }
    let row = match did.host_remote_bytes {
        0 => row,
        bytes => row.metric("host_remote_bytes", bytes),
    };
    row.metric("populated_bytes", did.populated_bytes)
        .metric("dropped_bytes", did.dropped_bytes)
        .metric("remote_bytes", did.remote_bytes)
        .metric("faults", did.faults)
        .metric("batches", did.batches)
        .metric("block_services", did.block_services)
        .metric("driver_busy_ns", did.driver_busy.as_nanos())
        .metric(
            "batch_time_ns",
            did.driver_busy.as_nanos() / did.batches.max(1),
        )
        .metric("throttles", did.throttles)
        .metric("pins", did.pins)
        .metric("counter_migrations", did.counter_migrations)
        .metric("resident_bytes", report.resident_bytes)
}

fn hit_rate(cache: &pagemill_sim::parts::cache::CacheCounts) -> f64 {
    let hits = cache.load_hits + cache.store_hits;
    quotient(hits as f64, hits + cache.load_misses + cache.store_misses)
}
