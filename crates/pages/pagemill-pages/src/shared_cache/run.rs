use pagemill_policy::coloring::quota::{QuotaPolicyEntry, divide};
use pagemill_policy::coloring::{ArrangeError, ColorRange, DueChange, MissCurve, arrange};
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
    /// They are divided anew once it pays ([`DueChange`]).
    WhenDue,
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
    let mut waiting: Option<Waiting> = None;
    while let Some(task) = earliest(&tasks, &running) {
        let mut until = until(&tasks, &running, task);
        if waiting.is_some() {
            until = until.min(tasks[task].now + LOOK_INTERVAL);
        }
        let has_ended = tasks[task].run(until, &mut shared)? == Progress::Ended;
        if has_ended {
            running.retain(|other| *other != task);
        }
        let PageSource::Partitioned(partition) = &spec.pages else {
            continue;
        };
        if has_ended && partition.on_end == OnEnd::WhenDue {
            waiting = Waiting::new(partition, palette.colors(), &tasks, &running)?;
        }
        let is_due = match &waiting {
            Some(waiting) => waiting.is_due(partition, &tasks, machine),
            None => has_ended && partition.on_end == OnEnd::Recolor,
        };
        if is_due && !running.is_empty() {
            waiting = None;
            recolor(
                partition,
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

/// How often it is looked whether a change is due.
const LOOK_INTERVAL: Picos = Picos(100_000_000);

/// Tasks that wait for colors: the misses that they had when the wait began, and how many colors they would have.
struct Waiting(Vec<(usize, u64, u16)>);

impl Waiting {
    /// For the colors of a task that has ended; none where no other runs.
    fn new(
        partition: &Partition,
        colors: u16,
        tasks: &[Task],
        running: &[usize],
    ) -> Result<Option<Self>, SharedCacheError> {
        if running.is_empty() {
            return Ok(None);
        }
        let former: Vec<_> = running.iter().map(|task| tasks[*task].colors()).collect();
        let ranges = divided(partition, colors, running, &former)?;
        let waiting = running.iter().zip(ranges);
        let of_task =
            |(task, range): (&usize, ColorRange)| (*task, tasks[*task].misses(), range.count());
        Ok(Some(Self(waiting.map(of_task).collect())))
    }

    /// Whether the change pays for one of them, with the pages that it has by now.
    fn is_due(&self, partition: &Partition, tasks: &[Task], machine: &SharedCacheMachine) -> bool {
        let miss_ns = machine.memory.latency.0 as f64 / 1e3;
        self.0.iter().any(|&(number, before, wanted)| {
            let task = &tasks[number];
            let has = task.colors().map_or(wanted, |range| range.count());
            let change_ns = change_ns(machine, task.pages(), (has, wanted), partition.flush);
            let curve = &partition.curves[number];
            DueChange::new(curve, (has, wanted), change_ns, miss_ns)
                .is_some_and(|change| change.is_due(task.misses() - before))
        })
    }
}

/// An estimate of what it costs a task with `pages` pages to have `wanted` colors for the `has` it has: the pages that move are copied
/// over the bus after a fault each, and what `flush` names is flushed.
fn change_ns(
    machine: &SharedCacheMachine,
    pages: u64,
    (has, wanted): (u16, u16),
    flush: FlushScope,
) -> f64 {
    // As if the smaller number of colors lay within the larger one. Pages are spread evenly over colors: of those of a
    // color that stays, as many stay as the larger number leaves it.
    let stay = f64::from(has.min(wanted)) / f64::from(has.max(wanted));
    let moved = pages as f64 * (1.0 - stay);
    let copy = machine
        .memory
        .bandwidth
        // Read and written: a copied page crosses the bus twice.
        .time_for(2 * machine.paging.page.bytes());
    let page = machine.paging.unmap + machine.paging.fault + copy;
    let flushed = match flush {
        FlushScope::Translations => machine.paging.flush_translations,
        FlushScope::Caches => machine.paging.flush_translations + machine.paging.flush_caches,
    };
    (moved * page.0 as f64 + flushed.0 as f64) / 1e3
}

/// Divides all colors among the tasks `running`.
fn recolor(
    partition: &Partition,
    tasks: &mut [Task],
    running: &[usize],
    colors: u16,
    shared: &mut Shared<'_>,
) -> Result<(), SharedCacheError> {
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
