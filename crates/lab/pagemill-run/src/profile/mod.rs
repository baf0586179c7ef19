//! What a real GPU did, as rows and a page map like those of a simulated one: from a recording of CUPTI, or a profile.

mod areas;
mod event;
mod replay;

pub use event::{Event, What, Why};

use std::cmp::Reverse;

use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, PageMap, ResultSet, Row,
};

use areas::{Account, Area, Areas};
use replay::{Replay, Replayed};

/// The most rows of allocations, as of a simulated program.
const AREAS_MAX: usize = 50;

/// Which kinds of events were recorded; the others have no values.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Kernels.
    pub kernels: bool,
    /// Transfers and copies.
    pub copies: bool,
    /// Faults of the GPU.
    pub gpu_faults: bool,
    /// Faults of the CPU.
    pub cpu_faults: bool,
    /// Allocations of managed memory.
    pub allocations: bool,
}

/// Where events come from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What was recorded: a program, a file.
    pub of: &'a str,
    /// The tool that recorded it.
    pub by: &'a str,
    /// What it recorded.
    pub recorded: Recorded,
}

/// Rows and page map of a run. `events` gives all of them, none of which begins before the one before, to what it is called with, and
/// is called twice: for the memory that they speak of, and for what happened to it.
///
/// # Errors
/// As `events`, or pages moved in pieces that no pages have.
pub fn results<E: From<String>>(
    source: Source<'_>,
    mut events: impl FnMut(&mut dyn FnMut(Event) -> Result<(), E>) -> Result<(), E>,
) -> Result<ResultSet, E> {
    let mut areas = Areas::default();
    events(&mut |event| {
        areas.add(&event);
        Ok(())
    })?;
    let mut replay = Replay::new(&areas);
    events(&mut |event| replay.add(event).map_err(E::from))?;
    Ok(result_set(source, &replay.finish()))
}

fn columns() -> Vec<Column> {
    use ColumnKind::{Bytes, Count, Text, TimeNs};
    let about = "what the row is about: program, kernel, allocation";
    vec![
        Column::parameter("table", Text, about),
        Column::parameter("kernel", Text, "of a kernel: its name"),
        Column::parameter(
            "allocation",
            Text,
            "of an allocation: its name; the 50 that most bytes moved of",
        ),
        Column::metric(
            "time_ns",
            TimeNs,
            "from the first event to the end of the last; of a kernel: of its launches, summed",
        ),
        Column::metric(
            "kernel_time_ns",
            TimeNs,
            "part of time_ns with a kernel running",
        ),
        Column::metric(
            "copy_time_ns",
            TimeNs,
            "part of time_ns with a copy that the program asked for",
        ),
        Column::metric("launches", Count, "kernel launches"),
        Column::metric(
            "allocated_bytes",
            Bytes,
            "managed memory whose allocation was recorded",
        ),
        Column::metric(
            "migrated_bytes",
            Bytes,
            "unified memory that moved from CPU to GPU; of a kernel: while it was the one begun last",
        ),
        Column::metric(
            "repeated_bytes",
            Bytes,
            "part of migrated_bytes that had been on the GPU before",
        ),
        Column::metric(
            "prefetched_bytes",
            Bytes,
            "part of migrated_bytes by the driver ahead of faults, or by a call; empty where a cause was not recorded",
        ),
        Column::metric(
            "returned_bytes",
            Bytes,
            "unified memory that moved from GPU to CPU",
        ),
        Column::metric(
            "evicted_bytes",
            Bytes,
            "part of returned_bytes that made room on the GPU; empty where a cause was not recorded",
        ),
        Column::metric("migrations", Count, "copies of unified memory to the GPU"),
        Column::metric(
            "gpu_page_faults",
            Count,
            "faults of the GPU, as the profiler counts them; empty if none were recorded",
        ),
        Column::metric(
            "cpu_page_faults",
            Count,
            "faults of the CPU; empty if none were recorded",
        ),
    ]
}

fn result_set(source: Source<'_>, run: &Replayed) -> ResultSet {
    ResultSet {
        about: format!(
            "Measured by {}, not simulated. Compare with a simulation of the same program: pagemill report compare \
             simulated/results.json profiled/results.json",
            source.by
        ),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: columns(),
        rows: rows(source.recorded, run),
        maps: (crate::has_changes(&run.map).then(|| PageMap {
            title: String::new(),
            data: run.map.clone(),
        }))
        .into_iter()
        .collect(),
        description: vec![DescriptionSection {
            title: "Recording".to_owned(),
            entries: vec![DescriptionEntry {
                name: "of".to_owned(),
                value: source.of.to_owned(),
                source: source.by.to_owned(),
            }],
        }],
        ..ResultSet::default()
    }
}

/// The program, its kernels, and the allocations that most bytes moved of. What was not recorded has no value.
fn rows(recorded: Recorded, run: &Replayed) -> Vec<Row> {
    let allocated = run.areas.iter().filter_map(|area| area.bytes).sum();
    let of_kernels = |value: u64| recorded.kernels.then_some(value);
    let program = Row::new()
        .parameter("table", "program")
        .metric("time_ns", run.time_ns);
    let values = [
        ("kernel_time_ns", of_kernels(run.kernel_time_ns)),
        ("copy_time_ns", recorded.copies.then_some(run.copy_time_ns)),
        ("launches", of_kernels(run.launches)),
        ("allocated_bytes", recorded.allocations.then_some(allocated)),
    ];
    let program = add_known(program, values);
    let mut rows = vec![add_account(program, &run.whole, recorded)];
    rows.extend(run.kernels.iter().map(|(name, kernel)| {
        let row = Row::new()
            .parameter("table", "kernel")
            .parameter("kernel", name.as_str())
            .metric("time_ns", kernel.time_ns)
            .metric("launches", kernel.launches);
        add_account(row, &kernel.account, recorded)
    }));
    rows.extend(moved_most(&run.areas).map(|area| {
        let row = Row::new()
            .parameter("table", "allocation")
            .parameter("allocation", area.name.as_str());
        let row = add_known(row, [("allocated_bytes", area.bytes)]);
        add_account(row, &area.account, recorded)
    }));
    rows
}

/// The areas that most bytes moved of, by address.
fn moved_most(areas: &[Area]) -> impl Iterator<Item = &Area> {
    let moved = |area: &&Area| area.account.migrated_bytes + area.account.returned_bytes;
    let mut most: Vec<&Area> = areas.iter().collect();
    most.sort_by_key(|area| Reverse(moved(area)));
    most.truncate(AREAS_MAX);
    most.sort_by_key(|area| area.blocks.start);
    most.into_iter()
}

fn add_account(row: Row, account: &Account, recorded: Recorded) -> Row {
    let of_copies = |value: u64| recorded.copies.then_some(value);
    // A part for one cause is not known where another cause is not.
    let explained = |unexplained: u64, value| of_copies(value).filter(|_| unexplained == 0);
    let prefetched = explained(account.came_unexplained_bytes, account.prefetched_bytes);
    let evicted = explained(account.left_unexplained_bytes, account.evicted_bytes);
    let values = [
        ("migrated_bytes", of_copies(account.migrated_bytes)),
        ("repeated_bytes", of_copies(account.repeated_bytes)),
        ("prefetched_bytes", prefetched),
        ("returned_bytes", of_copies(account.returned_bytes)),
        ("evicted_bytes", evicted),
        ("migrations", of_copies(account.migrations)),
        (
            "gpu_page_faults",
            recorded.gpu_faults.then_some(account.gpu_faults),
        ),
        (
            "cpu_page_faults",
            recorded.cpu_faults.then_some(account.cpu_faults),
        ),
    ];
    add_known(row, values)
}

/// Adds the values that are known.
fn add_known<const N: usize>(row: Row, values: [(&str, Option<u64>); N]) -> Row {
    let known = values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known.fold(row, |row, (name, value)| row.metric(name, value))
}
