//! `pagemill report nsight`: a profiled run of a real GPU as rows and a page map, like those of a simulated one.

mod areas;
mod export;
mod replay;
mod tables;

use std::cmp::Reverse;
use std::path::PathBuf;

use clap::Args;
use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, OutputDir, PageMap, ResultSet, Row,
    Summary,
};

use crate::failure::Failure;
use crate::output::{RunFormat, hand_over, print_results};
use areas::{Account, Area};
use export::{Choice, Export};
use replay::Replayed;

pub use areas::Areas;
pub use export::{Event, What, Why};
pub use replay::Replay;
pub use tables::Recorded;

/// The most rows of allocations, as of a simulated program.
const AREAS_MAX: usize = 50;

/// Profile with: nsys profile --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true --cuda-memory-usage=true ./program,
/// then: nsys export --type sqlite report1.nsys-rep
#[derive(Args, Debug)]
pub struct NsightArguments {
    /// The export: a SQLite file
    #[arg(value_name = "EXPORT.sqlite")]
    pub export: PathBuf,

    /// Write results.json, results.csv, results.parquet, report.html and pages.json there
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The process, where the export has several
    #[arg(long, value_name = "PID")]
    pub process: Option<u32>,

    /// The GPU, where the export has several
    #[arg(long, value_name = "NUMBER")]
    pub device: Option<u32>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,
}

/// Reads the export twice: for the memory it speaks of, and for what happened to it.
pub fn nsight(arguments: &NsightArguments) -> Result<(), Failure> {
    if let Some(out) = &arguments.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let path = arguments.export.display();
    let failed = |reason: String| Failure::Usage(format!("cannot read {path}: {reason}"));
    let choice = Choice {
        process: arguments.process,
        device: arguments.device,
    };
    let export = Export::open(&arguments.export, choice).map_err(failed)?;
    let mut areas = Areas::default();
    let found = export.for_each(|event| {
        areas.add(&event);
        Ok(())
    });
    found.map_err(failed)?;
    let mut replay = Replay::new(&areas);
    export.for_each(|event| replay.add(event)).map_err(failed)?;
    let set = result_set(
        (&path.to_string(), "Nsight Systems"),
        export.gpu,
        export.recorded,
        &replay.finish(),
    );
    hand_over(arguments.out.as_deref(), &set, || {
        print_results(&set, arguments.format)
    })
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

/// Rows and page map of a run, which is of `what`, by the tool that recorded it.
pub fn result_set(
    (what, by): (&str, &str),
    gpu: Option<String>,
    recorded: Recorded,
    run: &Replayed,
) -> ResultSet {
    let missing = recorded.missing();
    let warnings = match missing.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "not recorded, or there were none: {}",
            missing.join(", ")
        )],
    };
    ResultSet {
        scenario: "nsight".to_owned(),
        title: format!("Profile of {}", gpu.as_deref().unwrap_or("a GPU")),
        about: format!(
            "Measured by {by}, not simulated. Compare with a simulation of the same program: pagemill report compare \
             simulated/results.json profiled/results.json"
        ),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: columns(),
        rows: rows(recorded, run),
        summary: Summary {
            warnings,
            ..Summary::default()
        },
        maps: Some(run.map.clone())
            .filter(|map| pagemill_run::has_changes(map))
            .map(|data| PageMap {
                title: String::new(),
                data,
            })
            .into_iter()
            .collect(),
        description: vec![DescriptionSection {
            title: "Recording".to_owned(),
            entries: vec![DescriptionEntry {
                name: "of".to_owned(),
                value: what.to_owned(),
                source: by.to_owned(),
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
