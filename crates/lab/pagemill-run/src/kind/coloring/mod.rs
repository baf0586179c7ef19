//! `kind = "coloring"`: tasks that share a cache, and which colors their pages have.

mod known;
mod metrics;
mod plots;
mod streams;

use pagemill_pages::shared_cache::{
    PageSource, Partition, PlainOrder, SharedCacheError, SharingSpec, TaskReport, profile,
    run as run_tasks,
};
use pagemill_policy::coloring::MissCurve;
use pagemill_report::{ColumnKind, Row};
use pagemill_scenario::{ColoringPages, ColoringPoint, Point, TaskSource};

use pagemill_types::Picos;

use super::View;
use crate::pool::PointError;
use crate::results::parameters;
use crate::{Outcome, RunOptions};
use known::Known;
use metrics::{Measured, TaskMeasured};
use streams::stream;

pub const VIEW: View = View {
    identity: &[
        ("machine", ColumnKind::Text, "the machine file"),
        ("workload", ColumnKind::Text, "the task"),
        ("partner", ColumnKind::Text, "the task beside it, or none"),
        ("pages", ColumnKind::Text, "where pages come from"),
        (
            "colors",
            ColumnKind::Count,
            "colors for the pages of a task alone",
        ),
    ],
    metrics: metrics::columns,
    headline: &[
        "system_performance",
        "time_ns",
        "misses",
        "miss_ratio",
        "misses_by_others",
        "class",
        "quota_colors",
        "copied_pages",
    ],
    ratio: None,
    plots: plots::plots,
};

/// Miss curves of tasks, by machine and task.
static CURVES: Known<MissCurve> = Known::new();

/// Ends of tasks alone, by machine, task and seed.
static ALONE: Known<Picos> = Known::new();

/// Runs the tasks to their ends: each alone where there are two, and then together.
pub fn run(
    point: &Point,
    spec: &ColoringPoint,
    options: &RunOptions,
) -> Result<Outcome, PointError> {
    let measured = measure(spec, options).map_err(|error| {
        if options.is_stopped() {
            return PointError::Stopped;
        }
        PointError::Failed(error.to_string())
    })?;
    let partner = spec
        .partner
        .as_ref()
        .map_or(pagemill_scenario::NO_TASK, TaskSource::name);
    let row = Row::new()
        .parameter("machine", spec.machine.name.as_str())
        .parameter("workload", spec.task.name())
        .parameter("partner", partner)
        .parameter("pages", spec.pages.name())
        .parameter("colors", u64::from(spec.colors.count()));
    Ok(Outcome::of(measured.add_to(parameters(point, row))))
}

fn measure(spec: &ColoringPoint, options: &RunOptions) -> Result<Measured, SharedCacheError> {
    let tasks: Vec<&TaskSource> = std::iter::once(&spec.task).chain(&spec.partner).collect();
    let machine = &spec.machine.spec;
    let curves: Vec<MissCurve> = tasks
        .iter()
        .map(|task| {
            CURVES.find(&(machine, task), || {
                profile(machine, stream(task, machine.l1.line_bytes, options)?)
            })
        })
        .collect::<Result<_, _>>()?;
    // What both ways of dealing pages are compared with: each task alone, as a kernel would run it.
    let plain = PageSource::Plain(PlainOrder::Random);
    let alone = match tasks.as_slice() {
        [_] => Vec::new(),
        tasks => tasks
            .iter()
            .map(|task| {
                ALONE.find(&(machine, task, spec.seed), || {
                    Ok(run_sources(spec, &[*task], plain.clone(), options)?
                        .remove(0)
                        .end)
                })
            })
            .collect::<Result<_, SharedCacheError>>()?,
    };
    let reports = run_sources(spec, &tasks, page_source(spec, &curves), options)?;
    let of_tasks = reports.into_iter().zip(curves).enumerate();
    Ok(Measured {
        tasks: of_tasks
            .map(|(number, (report, curve))| TaskMeasured {
                alone: alone.get(number).copied(),
                report,
                curve,
            })
            .collect(),
    })
}

fn page_source(spec: &ColoringPoint, curves: &[MissCurve]) -> PageSource {
    match (spec.pages, spec.partner.is_some()) {
        (ColoringPages::Plain(order), _) => PageSource::Plain(order),
        (ColoringPages::Colored, false) => PageSource::Fixed(spec.colors),
        (ColoringPages::Colored, true) => PageSource::Partitioned(Partition {
            policy: spec.policy,
            curves: curves.to_vec(),
            on_end: spec.on_end,
            copy: spec.copy,
            flush: spec.flush,
        }),
    }
}

fn run_sources(
    spec: &ColoringPoint,
    sources: &[&TaskSource],
    pages: PageSource,
    options: &RunOptions,
) -> Result<Vec<TaskReport>, SharedCacheError> {
    let machine = &spec.machine.spec;
    let streams = sources
        .iter()
        .map(|source| stream(source, machine.l1.line_bytes, options));
    let streams = streams.collect::<Result<_, _>>()?;
    run_tasks(
        machine,
        &SharingSpec {
            pages,
            seed: spec.seed,
        },
        streams,
    )
}
