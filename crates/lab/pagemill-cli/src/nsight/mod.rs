//! `pagemill report nsight`: a profiled run of a real GPU as rows and a page map, like those of a simulated one.

mod areas;
mod export;
mod replay;

use std::cmp::Reverse;
use std::path::PathBuf;

use clap::Args;
use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, OutputDir, PageMap, ResultSet, Row,
};

use crate::failure::Failure;
use crate::output::{RunFormat, hand_over, print_results};
use areas::{Account, Area, Areas};
use export::{Choice, Export};
use replay::{Replay, Replayed};

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
    let set = set(&path.to_string(), export.gpu, replay.finish());
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
            "managed memory that anything is known of",
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
            "part of migrated_bytes by the driver ahead of faults, or by a call",
        ),
        Column::metric(
            "returned_bytes",
            Bytes,
            "unified memory that moved from GPU to CPU",
        ),
        Column::metric(
            "evicted_bytes",
            Bytes,
            "part of returned_bytes that made room on the GPU",
        ),
        Column::metric("migrations", Count, "copies of unified memory to the GPU"),
        Column::metric(
            "gpu_page_faults",
            Count,
            "faults of the GPU, as the profiler counts them; 0 if it was not asked to",
        ),
        Column::metric(
            "cpu_page_faults",
            Count,
            "faults of the CPU; 0 if the profiler was not asked for them",
        ),
    ]
}

fn set(path: &str, gpu: Option<String>, run: Replayed) -> ResultSet {
    let mut rows = vec![add_account(
        Row::new()
            .parameter("table", "program")
            .metric("time_ns", run.time_ns)
            .metric("kernel_time_ns", run.kernel_time_ns)
            .metric("copy_time_ns", run.copy_time_ns)
            .metric("launches", run.launches)
            .metric(
                "allocated_bytes",
                run.areas.iter().map(|area| area.bytes).sum::<u64>(),
            ),
        &run.whole,
    )];
    rows.extend(run.kernels.iter().map(|(name, kernel)| {
        let row = Row::new()
            .parameter("table", "kernel")
            .parameter("kernel", name.as_str())
            .metric("time_ns", kernel.time_ns)
            .metric("launches", kernel.launches);
        add_account(row, &kernel.account)
    }));
    rows.extend(moved_most(&run.areas).map(|area| {
        let row = Row::new()
            .parameter("table", "allocation")
            .parameter("allocation", area.name.as_str())
            .metric("allocated_bytes", area.bytes);
        add_account(row, &area.account)
    }));
    ResultSet {
        scenario: "nsight".to_owned(),
        title: format!("Profile of {}", gpu.as_deref().unwrap_or("a GPU")),
        about: "Measured by Nsight Systems, not simulated. Compare with a simulation of the same program: pagemill report compare \
                simulated/results.json profiled/results.json"
            .to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        columns: columns(),
        rows,
        maps: vec![PageMap {
            title: String::new(),
            data: run.map,
        }],
        description: vec![DescriptionSection {
            title: "Export".to_owned(),
            entries: vec![DescriptionEntry {
                name: "file".to_owned(),
                value: path.to_owned(),
                source: "Nsight Systems".to_owned(),
            }],
        }],
        ..ResultSet::default()
    }
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

fn add_account(row: Row, account: &Account) -> Row {
    row.metric("migrated_bytes", account.migrated_bytes)
        .metric("repeated_bytes", account.repeated_bytes)
        .metric("prefetched_bytes", account.prefetched_bytes)
        .metric("returned_bytes", account.returned_bytes)
        .metric("evicted_bytes", account.evicted_bytes)
        .metric("migrations", account.migrations)
        .metric("gpu_page_faults", account.gpu_faults)
        .metric("cpu_page_faults", account.cpu_faults)
}
