//! What a residency run is measured by. `docs/results.md` describes the same columns.

use pagemill_report::{ColumnKind, Row};
use pagemill_sim::uvm::UvmReport;

/// Every metric with what it means, in the order of the row.
#[rustfmt::skip]
pub const METRICS: &[(&str, ColumnKind, &str)] = &[
    ("bandwidth_bytes_per_second", ColumnKind::BytesPerSecond, "allocated bytes over the mean time of a loop: useful bytes alone"),
    ("time_ns", ColumnKind::TimeNs, "mean time of the kernel over all loops"),
    ("setup_ns", ColumnKind::TimeNs, "time of the program's calls before the first loop"),
    ("gpu_bytes", ColumnKind::Bytes, "GPU memory free for the allocation"),
    ("allocated_bytes", ColumnKind::Bytes, "the managed allocation"),
    ("blocks", ColumnKind::Count, "thread blocks of the grid, all resident at once"),
    ("loops", ColumnKind::Count, "runs of the kernel"),
    ("reads", ColumnKind::Count, "reads of a warp, over all loops as all that follows"),
    ("faults", ColumnKind::Count, "accesses of a step to a page that faulted; neighboring warps of a block count once"),
    ("fault_entries", ColumnKind::Count, "entries made in the fault buffer"),
    ("batches", ColumnKind::Count, "batches that the driver served"),
    ("block_services", ColumnKind::Count, "blocks of 2 MiB served, over all batches"),
    ("migrated_bytes", ColumnKind::Bytes, "copied to GPU memory while kernels ran"),
    ("evicted_bytes", ColumnKind::Bytes, "copied back to CPU memory while kernels ran"),
    ("local_bytes", ColumnKind::Bytes, "read in GPU memory, in sectors of 32 bytes"),
    ("remote_bytes", ColumnKind::Bytes, "read in CPU memory over the link, in sectors of 32 bytes"),
    ("tlb_lookups", ColumnKind::Count, "lookups of first-level TLBs: one for each page of a step"),
    ("page_walks", ColumnKind::Count, "lookups that missed the second level as well"),
    ("tlb_miss_rate", ColumnKind::Rate, "page_walks / tlb_lookups"),
    ("throttles", ColumnKind::Count, "faults put off because their page thrashes"),
    ("pins", ColumnKind::Count, "pages pinned in CPU memory because they thrash"),
    ("counter_migrations", ColumnKind::Count, "blocks moved because access counters reported them"),
    ("bound", ColumnKind::Text, "what most of the time went to"),
];

/// Adds the metrics of `report` to `row`.
pub fn add_metrics(row: Row, report: &UvmReport) -> Row {
    row.metric(
        "bandwidth_bytes_per_second",
        report.bandwidth_bytes_per_second(),
    )
    .metric("time_ns", report.time.as_nanos())
    .metric("setup_ns", report.setup.as_nanos())
    .metric("gpu_bytes", report.gpu_bytes)
    .metric("allocated_bytes", report.allocated_bytes)
    .metric("blocks", u64::from(report.blocks))
    .metric("loops", u64::from(report.loops))
    .metric("reads", report.reads)
    .metric("faults", report.faults)
    .metric("fault_entries", report.fault_entries)
    .metric("batches", report.batches)
    .metric("block_services", report.block_services)
    .metric("migrated_bytes", report.migrated_bytes)
    .metric("evicted_bytes", report.evicted_bytes)
    .metric("local_bytes", report.local_bytes)
    .metric("remote_bytes", report.remote_bytes)
    .metric("tlb_lookups", report.tlb_lookups)
    .metric("page_walks", report.page_walks)
    .metric("tlb_miss_rate", report.tlb_miss_rate())
    .metric("throttles", report.throttles)
    .metric("pins", report.pins)
    .metric("counter_migrations", report.counter_migrations)
    .metric("bound", report.bound.name())
}
