use pagemill_policy::coloring::quota::{QuotaPolicyEntry, divide};
use pagemill_policy::coloring::{ArrangeError, ColorRange, MissCurve, arrange};
use pagemill_types::Picos;

use super::frames::{Frames, PlainOrder};
use super::hierarchy::Hierarchy;
use super::machine::SharedCacheMachine;
use super::reference::{ReferenceStream, StreamError};
use super::report::TaskReport;
use super::task::{Progress, Shared, Task};
use crate::SpecError;

/// How tasks get their pages.
#[derive(Clone, Debug)]
pub struct SharingSpec {
    /// Where each task's pages come from.
    pub pages: PageSource,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Where pages come from.
#[derive(Clone, Debug)]
pub enum PageSource {
    /// Frames of any color.
    Plain(PlainOrder),
    /// These colors for every task: one task alone, or tasks that share.
    Fixed(ColorRange),
    /// Disjoint colors by policy.
    Partitioned(Partition),
}

/// Disjoint colors for all tasks.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Who divides the colors.
    pub policy: &'static QuotaPolicyEntry,
    /// What is known of each task beforehand.
    pub curves: Vec<MissCurve>,
    /// Whether the colors of a task that ends are divided among those that go on.
    pub on_end: OnEnd,
    /// When pages are copied to new colors.
    pub copy: CopyTime,
    /// What is flushed when pages were unmapped.
    pub flush: FlushScope,
}

/// What becomes of the colors of a task that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnEnd {
    /// Not in use.
    Keep,
    /// They are divided anew.
    Recolor,
}

/// When pages are copied to new colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyTime {
    /// All at once, before the task goes on.
    Eager,
    /// Each when it is touched.
    Lazy,
}

/// What is flushed when pages were unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushScope {
    /// What cores remember of page tables: all that is needed where caches hold physical addresses.
    Translations,
    /// That, and all caches (CachePM, section 3.2.2).
    Caches,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum SharedCacheError {
    /// The machine cannot be.
    #[error(transparent)]
    Machine(#[from] SpecError),
    /// Each task needs a core.
    #[error("{tasks} tasks need as many cores, the machine has {cores}")]
    TooManyTasks {
        /// How many tasks there are.
        tasks: usize,
        /// How many cores.
        cores: u32,
    },
    /// Curves and tasks do not go together.
    #[error("{tasks} tasks cannot be given {colors} colors by {curves} miss curves")]
    Undivided {
        /// How many tasks there are.
        tasks: usize,
        /// How many curves.
        curves: usize,
        /// Colors of the cache.
        colors: u16,
    },
    /// Curves are made for every number of colors at once.
    #[error("no miss curve can be made for {colors} colors: at most 64 can")]
    NoCurve {
        /// Colors of the cache.
        colors: u16,
    },
    /// The quotas do not fit.
    #[error(transparent)]
    Arrange(#[from] ArrangeError),
    /// The references of a task end in an error.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A task touches more pages than can be numbered.
    #[error("a task touches more than {} pages", u32::MAX)]
    TooManyPages,
}

/// Runs tasks beside each other, each on its core, each to its end.
///
/// # Errors
/// The machine cannot run them, or their references end in an error.
pub fn run(
    machine: &SharedCacheMachine,
    spec: &SharingSpec,
    streams: Vec<Box<dyn ReferenceStream>>,
) -> Result<Vec<TaskReport>, SharedCacheError> {
    machine.check()?;
    if streams.len() > machine.core.count as usize {
        return Err(SharedCacheError::TooManyTasks {
            tasks: streams.len(),
            cores: machine.core.count,
        });
    }
    let palette = machine.palette()?;
    let ranges = first_ranges(&spec.pages, palette.colors(), streams.len())?;
    let order = match spec.pages {
        PageSource::Plain(order) => order,
        _ => PlainOrder::Sequential,
    };
    let mut shared = Shared {
        machine,
        caches: Hierarchy::new(machine),
        frames: Frames::new(palette, order, spec.seed),
    };
    let mut tasks: Vec<Task> = streams
        .into_iter()
        .zip(ranges)
        .enumerate()
        .map(|(number, (stream, range))| Task::new(number, stream, range, machine))
        .collect();
    let mut running: Vec<usize> = (0..tasks.len()).collect();
    let earliest = |tasks: &[Task], running: &[usize]| {
        let by_time = |task: &usize| (tasks[*task].now, *task);
        running.iter().copied().min_by_key(by_time)
    };
    while let Some(task) = earliest(&tasks, &running) {
        let until = until(&tasks, &running, task);
        if tasks[task].run(until, &mut shared)? == Progress::Ended {
            running.retain(|other| *other != task);
            recolor(
                &spec.pages,
                &mut tasks,
                &running,
                palette.colors(),
                &mut shared,
            )?;
        }
    }
    Ok(tasks.into_iter().map(Task::into_report).collect())
}

/// The colors of each of `tasks` tasks at the start.
fn first_ranges(
    pages: &PageSource,
    colors: u16,
    tasks: usize,
) -> Result<Vec<Option<ColorRange>>, SharedCacheError> {
    Ok(match pages {
        PageSource::Plain(_) => vec![None; tasks],
        PageSource::Fixed(range) => vec![Some(*range); tasks],
        PageSource::Partitioned(partition) => {
            let all: Vec<usize> = (0..tasks).collect();
            let ranges = divided(partition, colors, &all, &vec![None; tasks])?;
            ranges.into_iter().map(Some).collect()
        }
    })
}

/// After a task ended: divides all colors among the others, where that is wanted.
fn recolor(
    pages: &PageSource,
    tasks: &mut [Task],
    running: &[usize],
    colors: u16,
    shared: &mut Shared<'_>,
) -> Result<(), SharedCacheError> {
    let PageSource::Partitioned(partition) = pages else {
        return Ok(());
    };
    if running.is_empty() || partition.on_end == OnEnd::Keep {
        return Ok(());
    }
    let former: Vec<_> = running.iter().map(|task| tasks[*task].colors()).collect();
    let ranges = divided(partition, colors, running, &former)?;
    for (task, range) in running.iter().zip(ranges) {
        tasks[*task].recolor(range, partition.copy, partition.flush, shared);
    }
    Ok(())
}

/// How long `task`, the earliest, stays the earliest: by time, and then by number.
fn until(tasks: &[Task], running: &[usize], task: usize) -> Picos {
    let others = running.iter().filter(|other| **other != task);
    let limits = others.map(|other| tasks[*other].now + Picos(u64::from(task < *other)));
    limits.min().unwrap_or(Picos(u64::MAX))
}

/// The colors of the tasks `running`, near their `former` ones.
fn divided(
    partition: &Partition,
    colors: u16,
    running: &[usize],
    former: &[Option<ColorRange>],
) -> Result<Vec<ColorRange>, SharedCacheError> {
    let curves: Option<Vec<MissCurve>> = running
        .iter()
        .map(|task| partition.curves.get(*task).cloned())
        .collect();
    let quotas = curves.and_then(|curves| divide(partition.policy, colors, &curves));
    let quotas = quotas.ok_or(SharedCacheError::Undivided {
        tasks: running.len(),
        curves: partition.curves.len(),
        colors,
    })?;
    Ok(arrange(colors, &quotas, former)?)
}
