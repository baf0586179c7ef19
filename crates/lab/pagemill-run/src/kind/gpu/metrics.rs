//! What a GPU run is measured by.

use pagemill_pages::parts::cache::CacheCounts;
use pagemill_report::ColumnKind::{Bytes, BytesPerSecond, Count, Number, Rate, Text, TimeNs};
use pagemill_report::{Column, Row, Value};
use pagemill_sim::{MigrationCounts, Report, Sampling};
use pagemill_types::{Clock, Picos};
use pagemill_workloads::Checked;

use super::ranges_per_page::RangesPerPage;
use crate::quotient::quotient;
use pagemill_report::metric::{self, Metric, unless_zero};

#[rustfmt::skip]
const RUN: &[Metric<Report>] = &[
    Metric::new("time_ns", TimeNs, "simulated time from the first request of the host to the end of the last",
        |report| report.time_ns.into()),
    Metric::new("kernel_time_ns", TimeNs, "part of time_ns with a kernel running",
        |report| report.kernel_time_ns.into()),
    Metric::new("copy_time_ns", TimeNs, "part of time_ns with a copy of the host, or pages coming back for it",
        |report| report.copy_time_ns.into()),
    Metric::sometimes("time_detail", Text, "how much was timed, if not every launch: sampled, or pages (time_ns is then a lower bound)",
        |report| Some(sampling(report)?.detail.name().into())),
    Metric::sometimes("time_error_ns", TimeNs, "with `detail = \"sampled\"`: the time of full detail is within this much of time_ns, at a confidence of 95 %",
        |report| Some(sampling(report)?.time_error_ns?.into())),
    Metric::sometimes("timed_launches", Count, "with a detail: launches that were timed; cache, TLB and DRAM columns are of these alone",
        |report| Some(sampling(report)?.timed_launches.into())),
    Metric::sometimes("timed_instructions_share", Rate, "with a detail: thread instructions of the timed launches, of all",
        |report| Some(timed_instructions_share(report, sampling(report)?).into())),
    Metric::sometimes("untimed_moved_bytes", Bytes, "with a detail: bytes that moved, in either direction, in launches that were not timed",
        |report| Some(sampling(report)?.untimed_moved_bytes.into())),
    Metric::sometimes("page_traffic", Text, "with a detail: exact if full detail moves the same bytes, estimated if that depends on the order of accesses in launches that were not timed",
        |report| Some(if sampling(report)?.is_exact { "exact" } else { "estimated" }.into())),
    Metric::new("migrated_bytes", Bytes, "moved from CPU to GPU, by migration or by the copies of `programmer-copy`; 0 under `ideal-overlap`",
        |report| report.migrated_bytes.into()),
    Metric::new("repeated_bytes", Bytes, "part of migrated_bytes that demand had moved to the GPU before: the page left in between, or requests did not share a migration",
        |report| (moves(report).repeated_bytes + moves(report).refetched_bytes).into()),
    Metric::new("returned_bytes", Bytes, "moved from GPU to CPU: pages coming back, evictions, copies",
        |report| report.returned_bytes.into()),
    Metric::new("touched_bytes", Bytes, "distinct 128-byte segments of the program's buffers that kernels touched",
        |report| report.touched_bytes.into()),
    Metric::new("allocated_bytes", Bytes, "buffers of the program",
        |report| report.allocated_bytes.into()),
    Metric::new("launches", Count, "kernel launches",
        |report| report.launches.len().into()),
    Metric::new("warp_instructions", Count, "PTX instructions that warps executed",
        |report| report.execution.warp_instructions.into()),
    Metric::new("thread_instructions", Count, "PTX instructions times the lanes that executed them",
        |report| report.execution.thread_instructions.into()),
    Metric::new("tlb_lookups", Count, "one for each 128-byte segment of a warp-wide access; with `tlb.retry` also those that waiting requests repeat",
        |report| report.memory.tlb_lookups.into()),
    Metric::new("tlb_misses", Count, "lookups without a translation at hand: those that started a walk, those that joined one, and all that were repeated",
        |report| tlb_misses(report).into()),
    Metric::new("tlb_miss_rate", Rate, "tlb_misses / tlb_lookups",
        |report| quotient(tlb_misses(report) as f64, report.memory.tlb_lookups).into()),
    Metric::new("page_walks", Count, "walks of the page table",
        |report| report.memory.walks.into()),
    Metric::new("l1_hit_rate", Rate, "loads and stores that found their line in L1",
        |report| hit_rate(&report.memory.l1).into()),
    Metric::new("l2_hit_rate", Rate, "loads and stores that found their line in L2",
        |report| hit_rate(&report.memory.l2).into()),
    Metric::new("dram_bytes", Bytes, "read from and written to GPU memory",
        |report| report.memory.dram.bytes.into()),
    Metric::new("migrations", Count, "ranges moved on demand, each with its own transfer and buffer entry",
        |report| moves(report).migrations.into()),
    Metric::new("joined_requests", Count, "requests that found the bytes they need on the way",
        |report| moves(report).joined_requests.into()),
    Metric::new("evictions", Count, "pages moved out of GPU memory to make room",
        |report| moves(report).evictions.into()),
    Metric::new("migration_buffer_stalls", Count, "migrations that found the buffer of their memory partition full",
        |report| moves(report).buffer_stalls.into()),
    Metric::new("migration_buffer_stall_time_ns", TimeNs, "how long these waited for an entry, summed",
        |report| moves(report).buffer_stalled.as_nanos().into()),
    Metric::sometimes("resident_bytes", Bytes, "valid in GPU memory at the end, where pages migrate",
        |report| (report.driven || RangesPerPage::of(report).is_some()).then(|| report.resident_bytes.into())),
    Metric::sometimes("resident_pages", Count, "pages with anything valid in GPU memory at the end, where pages migrate",
        |report| Some(RangesPerPage::of(report)?.pages.into())),
    Metric::sometimes("ranges_per_page_mean", Number, "valid ranges of such a page, on average",
        |report| Some(RangesPerPage::of(report)?.mean().into())),
    Metric::sometimes("ranges_per_page_max", Count, "most valid ranges of such a page",
        |report| Some(RangesPerPage::of(report)?.most().into())),
    Metric::sometimes("pages_with_1_range", Count, "of resident_pages",
        |report| Some(RangesPerPage::of(report)?.with(1).into())),
    Metric::sometimes("pages_with_2_ranges", Count, "of resident_pages",
        |report| Some(RangesPerPage::of(report)?.with(2).into())),
    Metric::sometimes("pages_with_3_ranges", Count, "of resident_pages",
        |report| Some(RangesPerPage::of(report)?.with(3).into())),
    Metric::sometimes("pages_with_4_or_more_ranges", Count, "of resident_pages",
        |report| Some(RangesPerPage::of(report)?.with_4_or_more().into())),
    Metric::sometimes("populated_bytes", Bytes, "of CUDA programs, and under a driver: allocated on the GPU at their first touch; nothing moved for them",
        |report| of_driver(report, |moves| moves.populated_bytes).or_else(|| unless_zero(moves(report).populated_bytes))),
    Metric::sometimes("dropped_bytes", Bytes, "under a driver: left the GPU without a copy, because CPU memory had them too",
        |report| of_driver(report, |moves| moves.dropped_bytes)),
    Metric::sometimes("remote_bytes", Bytes, "under a driver: used by the GPU in CPU memory, in sectors of 32 bytes",
        |report| of_driver(report, |moves| moves.remote_bytes)),
    Metric::sometimes("host_remote_bytes", Bytes, "where the GPU walks the host's page tables: used by the CPU in GPU memory, over the link; left out where it is 0",
        |report| report.driven.then(|| unless_zero(moves(report).host_remote_bytes))?),
    Metric::sometimes("faults", Count, "under a driver: accesses that faulted and slept",
        |report| of_driver(report, |moves| moves.faults)),
    Metric::sometimes("fault_entries", Count, "under a driver: entries of the fault buffer that batches held: a page for each first-level TLB that faulted on it",
        |report| of_driver(report, |moves| moves.fault_entries)),
    Metric::sometimes("batches", Count, "under a driver: batches of faults and reports served",
        |report| of_driver(report, |moves| moves.batches)),
    Metric::sometimes("block_services", Count, "under a driver: blocks of 2 MiB served, over all batches",
        |report| of_driver(report, |moves| moves.block_services)),
    Metric::sometimes("driver_busy_ns", TimeNs, "under a driver: time in which it served batches",
        |report| of_driver(report, |moves| moves.driver_busy.as_nanos())),
    Metric::sometimes("batch_time_ns", TimeNs, "under a driver: time of a batch, on average",
        |report| of_driver(report, |moves| moves.driver_busy.as_nanos() / moves.batches.max(1))),
    Metric::sometimes("throttles", Count, "under a driver: faults put off because their page thrashes",
        |report| of_driver(report, |moves| moves.throttles)),
    Metric::sometimes("pins", Count, "under a driver: pages pinned in CPU memory because they thrash",
        |report| of_driver(report, |moves| moves.pins)),
    Metric::sometimes("counter_migrations", Count, "under a driver: blocks moved because access counters reported them",
        |report| of_driver(report, |moves| moves.counter_migrations)),
    Metric::sometimes("unheeded_hints", Count, "hints of the program that have no effect in this transfer mode, if there were any",
        |report| unless_zero(report.unheeded_hints)),
    Metric::sometimes("loads_beyond", Count, "loads of single threads that reached beyond an allocation and read zeros there (`limits.read_granule`), if there were any: a mistake of the program",
        |report| unless_zero(report.loads_beyond)),
];

#[rustfmt::skip]
const LAST_LAUNCH: &[Metric<LastLaunch>] = &[
    Metric::sometimes("cycles_per_access", Number, "of `pointer-chase`: core cycles of the last launch over its loads, each of which needs the one before",
        |last| (last.accesses > 0).then(|| last.cycles_per_access().into())),
    Metric::sometimes("bandwidth_bytes_per_second", BytesPerSecond, "of `streams` and `line-reads`: what the last launch read and wrote over its time",
        |last| (last.streamed_bytes > 0).then(|| last.bytes_per_second().into())),
];

#[rustfmt::skip]
const CHECKED: &[Metric<Checked>] = &[
    Metric::new("checked_values", Count, "results compared with the CPU reference; a run with a result outside its tolerance fails",
        |checked| checked.values.into()),
    Metric::new("largest_error", Number, "largest relative difference among them; 0 is bit-exact",
        |checked| checked.largest_error.into()),
];

/// All columns of a run.
pub fn columns() -> Vec<Column> {
    [
        metric::columns(RUN),
        metric::columns(LAST_LAUNCH),
        metric::columns(CHECKED),
    ]
    .concat()
}

/// The row with everything that was measured of a run, or of a part of it.
pub fn add_run(row: Row, report: &Report) -> Row {
    metric::add(row, RUN, report)
}

/// The row with what a program that checks its results says; its cores have `clock`.
pub fn add_program(row: Row, report: &Report, checked: &Checked, clock: Clock) -> Row {
    let row = match LastLaunch::of(report, checked, clock) {
        Some(last) => metric::add(row, LAST_LAUNCH, &last),
        None => row,
    };
    metric::add(row, CHECKED, checked)
}

/// The last launch of a program that measures.
struct LastLaunch {
    time: Picos,
    clock: Clock,
    accesses: u64,
    streamed_bytes: u64,
}

impl LastLaunch {
    fn of(report: &Report, checked: &Checked, clock: Clock) -> Option<Self> {
        let time = report.launches.last()?.time();
        (time.0 > 0).then_some(Self {
            time,
            clock,
            accesses: checked.accesses,
            streamed_bytes: checked.streamed_bytes,
        })
    }

    fn cycles_per_access(&self) -> f64 {
        let cycle = self.clock.cycles(1_000_000).0 as f64 / 1e6;
        self.time.0 as f64 / cycle / self.accesses as f64
    }

    fn bytes_per_second(&self) -> u64 {
        (self.streamed_bytes as f64 / self.time.0 as f64 * 1e12).round() as u64
    }
}

fn moves(report: &Report) -> &MigrationCounts {
    &report.memory.migration
}

fn of_driver(report: &Report, count: fn(&MigrationCounts) -> u64) -> Option<Value> {
    report.driven.then(|| count(moves(report)).into())
}

fn sampling(report: &Report) -> Option<&Sampling> {
    report.sampling.as_ref()
}

fn timed_instructions_share(report: &Report, sampling: &Sampling) -> f64 {
    quotient(
        sampling.timed_thread_instructions as f64,
        report.execution.thread_instructions,
    )
}

fn tlb_misses(report: &Report) -> u64 {
    report.memory.tlb_misses + report.memory.tlb_merged_misses
}

fn hit_rate(cache: &CacheCounts) -> f64 {
    let hits = cache.load_hits + cache.store_hits;
    quotient(hits as f64, hits + cache.load_misses + cache.store_misses)
}
