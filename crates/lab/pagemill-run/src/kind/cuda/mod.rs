//! `kind = "cuda"`: a user's program on the simulated GPU: tables of programs, kernels, allocations, lines and defects.

mod about;
mod advice;
pub(super) mod allocations;
pub(super) mod capacity;
mod child;
pub(super) mod defects;
pub(super) mod failures;
pub(super) mod lines;
mod oversubscribe;
mod streams;

pub use child::environment;
pub(crate) use child::{Finished, run as run_child};
pub(crate) use oversubscribe::{divide, memory as memory_of};
pub(crate) use streams::Streams;

use pagemill_report::{Column, ColumnKind, Plot, Row, Summary};
use pagemill_scenario::{CudaPoint, CudaRun, Point, PointSpec};
use pagemill_sim::{Report, managed_name};
use pagemill_wire::readable_name;
use pagemill_wire::{FailedLaunches, Plan, Results};

use super::View;
use super::gpu::{self, RATIO, TIME_RATIO};
use crate::pool::PointError;
use crate::results::parameters;
use crate::{Outcome, RunOptions};
use about::{About, TABLE};
use allocations::FAULTED;
use capacity::{CAPACITY, Capacity};
use pagemill_report::metric::{self, Metric};

/// The columns of a GPU run, of launches that failed, of GPU memory, of source lines, and of mistakes of kernels.
fn columns() -> Vec<Column> {
    [
        metric::columns(MACHINE),
        gpu::metrics::columns(),
        metric::columns(failures::STATUS),
        metric::columns(failures::ENDED),
        metric::columns(FAULTED),
        metric::columns(CAPACITY),
        metric::columns(lines::WAITING),
        defects::columns(),
    ]
    .concat()
}

/// Beside `machine`, which only sweeps over machines have, so that rows of two machines can be compared.
pub(super) const MACHINE: &[Metric<CudaPoint>] = &[Metric::new(
    "gpu",
    ColumnKind::Text,
    "the name of the simulated machine",
    |spec| spec.machine.name.as_str().into(),
)];

pub const VIEW: View = View {
    identity: &[
        (
            TABLE,
            ColumnKind::Text,
            "what the row is about: program (all of it, with its copies), kernel, allocation, line, defect",
        ),
        ("program", ColumnKind::Text, "the program"),
        ("kernel", ColumnKind::Text, "of a kernel: its name"),
        (
            "allocation",
            ColumnKind::Text,
            "of an allocation of managed memory: managed #1 and so on in their order",
        ),
        (
            "line",
            ColumnKind::Text,
            "of a line or a defect: file and line",
        ),
        (
            "mode",
            ColumnKind::Text,
            "how its managed memory gets to the GPU",
        ),
    ],
    metrics: columns,
    headline: &[
        "time_ns",
        TIME_RATIO,
        "waiting_time_ns",
        "launches",
        "failed_launches",
        "findings",
        "allocated_bytes",
        "faulted_pages",
        "migrations",
        "migrated_bytes",
        "returned_bytes",
        "tlb_miss_rate",
        "thread_instructions",
    ],
    ratio: Some(RATIO),
    plots,
};

/// Figures of programs, and of kernels.
fn plots(rows: &[Row], columns: &[Column]) -> Vec<Plot> {
    let of = |about: About<'_>, prefix: &str| {
        let own = rows.iter().filter(|row| about.is_of(row));
        let own: Vec<Row> = own.cloned().collect();
        let mut plots = gpu::plots::plots(&own, columns, about.table());
        for plot in &mut plots {
            plot.id = format!("{prefix}{}", plot.id);
            plot.title = format!("{} of each {}", plot.title, about.table());
            plot.only.push((TABLE.to_owned(), about.table().into()));
        }
        plots
    };
    [of(About::Program, "program-"), of(About::Kernel(""), "")].concat()
}

/// Runs the program to its end and reads what it left.
pub fn run(point: &Point, spec: &CudaPoint, options: &RunOptions) -> Result<Outcome, PointError> {
    let how = CudaRun {
        events_max: options.events_max,
        gpu_memory_bytes: oversubscribe::memory(spec)?,
        threads: (options.threads > 0).then_some(options.threads),
        ..CudaRun::default()
    };
    let streams = Streams::shown(options.stdout);
    // A plan without hints.
    let plan = options.notes_allocations.then(Plan::default);
    let finished = child::run(spec, &how, plan.as_ref(), streams)?;
    let program = spec.command[0].clone();
    let mut whole = row(point, spec, &program, About::Program);
    if finished.results.is_empty() {
        whole = metric::add(whole, failures::ENDED, &finished.end_without_results());
    }
    let mut outcome = Outcome {
        exit_code: finished.exit_code,
        made: crate::made::made(&finished.results),
        ..Outcome::of(whole)
    };
    let several = finished.results.len() > 1;
    let early: Vec<_> = finished
        .results
        .iter()
        .map(|one| finished.early_end(one))
        .collect();
    for (
        number,
        Results {
            program: own,
            mut report,
            failed,
            defects,
            ..
        },
    ) in finished.results.into_iter().enumerate()
    {
        // A script may run several programs.
        let program = if several {
            format!("{own} #{}", number + 1)
        } else {
            program.clone()
        };
        let mut rows = rows(point, spec, &program, &report, &failed);
        if spec.check {
            let whole = std::mem::take(&mut rows[0]);
            rows[0] = metric::add(whole, defects::FINDINGS, &defects.len());
            rows.extend(defects.iter().map(|defect| {
                let row = row(point, spec, &program, About::Defect(&defect.place));
                metric::add(row, defects::DEFECT, defect)
            }));
        }
        if let Some(ended) = &early[number] {
            let all = rows.into_iter();
            rows = all
                .map(|row| metric::add(row, failures::ENDED, ended))
                .collect();
        }
        if number == 0 {
            outcome.row = rows.remove(0);
            outcome.page_map = std::mem::take(&mut report.page_map);
            outcome.events = Some(Box::new(std::mem::take(&mut report.timeline)));
        }
        outcome.details.append(&mut rows);
    }
    Ok(outcome)
}

/// The rows of a program that ran on the machine of `point`, which is of this kind; none if it is of another.
pub fn rows_of_program(point: &Point, program: &str, report: &Report) -> Vec<Row> {
    match &point.spec {
        PointSpec::Cuda(spec) => rows(point, spec, program, report, &[]),
        _ => Vec::new(),
    }
}

/// Adds to the summary of a run how many launches failed, and why; and what its page faults cost.
pub fn summarize(rows: &[Row], summary: &mut Summary) {
    failures::summarize(rows, summary);
    summary.facts.extend(allocations::why_faults_count(rows));
}

/// One row for the program, one for each kernel that was launched, even without success, one for each allocation of managed
/// memory that anything moved for, and one for each source line that anything happened for.
fn rows(
    point: &Point,
    spec: &CudaPoint,
    program: &str,
    report: &Report,
    failed: &[FailedLaunches],
) -> Vec<Row> {
    let whole = gpu::metrics::add_run(row(point, spec, program, About::Program), report);
    let whole = failures::add_status(whole, failed.iter());
    let memory = Capacity::of(report, spec.oversubscribe);
    let faulted = |row: Row, part: &Report| match report.driven {
        true => metric::add(row, FAULTED, &part.memory.migration.faulted_pages),
        false => row,
    };
    let mut rows = vec![metric::add(faulted(whole, report), CAPACITY, &memory)];
    let kernels = report.by_kernel();
    for (name, part) in &kernels {
        let own = row(point, spec, program, About::Kernel(&readable_name(name)));
        let row = gpu::metrics::add_run(own, part);
        let row = faulted(row, part);
        let own = failed.iter().filter(|failed| failed.kernel == *name);
        rows.push(failures::add_status(row, own));
    }
    let mut names: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
    for FailedLaunches { kernel, .. } in failed {
        if names.contains(&kernel.as_str()) {
            continue;
        }
        names.push(kernel);
        let row = row(point, spec, program, About::Kernel(&readable_name(kernel)))
            .metric("launches", 0u64);
        let own = failed.iter().filter(|other| other.kernel == *kernel);
        rows.push(failures::add_status(row, own));
    }
    for (number, allocation) in allocations::moved(&report.allocations) {
        let row = row(point, spec, program, About::Allocation(number));
        let row = allocations::add_demand(row, report, allocation.traffic.faults);
        rows.push(allocations::add_traffic(row, &allocation));
    }
    for line in lines::busiest(&report.lines) {
        let row = row(
            point,
            spec,
            program,
            About::Line(&lines::name(line, &report.lines)),
        );
        let row = allocations::add_demand(row, report, line.account.traffic.faults);
        rows.push(lines::add_account(row, line));
    }
    rows
}

fn row(point: &Point, spec: &CudaPoint, program: &str, about: About<'_>) -> Row {
    let row = Row::new()
        .parameter(TABLE, about.table())
        .parameter("program", program);
    let row = match about {
        About::Program => row,
        About::Kernel(name) => row.parameter("kernel", name),
        About::Allocation(number) => row.parameter("allocation", managed_name(number)),
        About::Line(place) | About::Defect(place) => row.parameter("line", place),
    };
    let row = parameters(point, row.parameter("mode", spec.transfer.mode));
    metric::add(row, MACHINE, spec)
}
