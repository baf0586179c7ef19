//! The miss-ratio curve of references to memory, for every number of page colors.

use pagemill_pages::shared_cache::{ColorSweep, StackDistance, SweepError, SweepSpec};
use pagemill_policy::coloring::{CacheGeometry, MissCurve, Palette, SensitivityRule};
use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, Fact, Lines, Plot, PlotForm,
    ResultSet, Row,
};
use pagemill_trace::{Reference, TraceError};
use pagemill_types::PageSize;

use crate::quotient::quotient;

/// Colors are swept up to here, evenly spaced where the cache has more.
const COLORS_MAX: u16 = 64;

/// The cache, and how it is watched.
#[derive(Clone, Debug)]
pub struct MrcSpec {
    /// Title of the results.
    pub title: String,
    /// Capacity of the shared cache in bytes.
    pub cache_bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Size of a line in bytes.
    pub line_bytes: u64,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Every n-th line of a page is watched; 1 for all.
    pub sample_every: u32,
    /// Whether all lines are watched beside a sample.
    pub exact: bool,
    /// Whether the approximation by stack distances is made beside.
    pub stack_distance: bool,
}

/// Why there is no curve.
#[derive(Debug, thiserror::Error)]
pub enum MrcError {
    /// There is no such cache.
    #[error("{0}")]
    Spec(String),
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A reference cannot be counted.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// There was no reference to data.
    #[error("the trace holds no reference to data")]
    Empty,
}

/// Misses for every number of colors, task by task, while references come.
pub struct Mrc {
    spec: MrcSpec,
    sweep: SweepSpec,
    line_bytes: u32,
    /// By their number in the trace; `None` for numbers without a reference.
    tasks: Vec<Option<Task>>,
}

impl Mrc {
    /// Nothing touched yet.
    ///
    /// # Errors
    /// [`MrcError::Spec`] if there is no such cache.
    pub fn new(spec: MrcSpec) -> Result<Self, MrcError> {
        let refused = |error: &dyn std::fmt::Display| MrcError::Spec(error.to_string());
        let page = PageSize::new(spec.page_bytes).map_err(|error| refused(&error))?;
        let line_bytes = u32::try_from(spec.line_bytes).map_err(|_| {
            MrcError::Spec(format!("a line of {} bytes is too large", spec.line_bytes))
        })?;
        let geometry = CacheGeometry {
            bytes: spec.cache_bytes,
            ways: spec.ways,
            line_bytes,
        };
        let palette = Palette::new(geometry, page).map_err(|error| refused(&error))?;
        let sweep = SweepSpec {
            palette,
            colors: colors(palette),
            sample_every: spec.sample_every,
        };
        // What is wrong with the specification is found before anything is read.
        ColorSweep::new(&sweep).map_err(|error| refused(&error))?;
        Ok(Self {
            spec,
            sweep,
            line_bytes,
            tasks: Vec::new(),
        })
    }

    /// The next references of the trace.
    ///
    /// # Errors
    /// A reference that cannot be counted.
    pub fn touch(&mut self, block: &[Reference]) -> Result<(), MrcError> {
        for reference in block {
            let place = usize::from(reference.task);
            if place >= self.tasks.len() {
                self.tasks.resize_with(place + 1, || None);
            }
            let task = match &mut self.tasks[place] {
                Some(task) => task,
                empty => empty.insert(Task::new(&self.spec, &self.sweep)?),
            };
            task.touch(*reference, self.line_bytes.trailing_zeros())?;
        }
        Ok(())
    }

    /// The curves of all tasks.
    ///
    /// # Errors
    /// [`MrcError::Empty`] if nothing was touched.
    pub fn finish(mut self) -> Result<ResultSet, MrcError> {
        if self.tasks.is_empty() {
            return Err(MrcError::Empty);
        }
        let mut set = ResultSet {
            scenario: "mrc".to_owned(),
            title: self.spec.title.clone(),
            pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
            columns: columns(&self.spec),
            plots: vec![plot()],
            description: vec![description(&self.sweep)],
            ..ResultSet::default()
        };
        for (number, task) in self.tasks.iter_mut().enumerate() {
            if let Some(task) = task {
                add_task(&mut set, &self.sweep, number, task);
            }
        }
        Ok(set)
    }
}

/// Every number of colors where they are few, else as many as can be swept, up to all.
fn colors(palette: Palette) -> Vec<u16> {
    let step = palette.colors().div_ceil(COLORS_MAX);
    (1..=palette.colors() / step)
        .map(|count| count * step)
        .collect()
}

/// What is known of one task of the trace.
struct Task {
    sweep: ColorSweep,
    /// Of all lines, beside a sample.
    exact: Option<ColorSweep>,
    stack: Option<StackDistance>,
}

impl Task {
    fn new(mrc: &MrcSpec, spec: &SweepSpec) -> Result<Self, SweepError> {
        let whole = || {
            ColorSweep::new(&SweepSpec {
                sample_every: 1,
                ..spec.clone()
            })
        };
        Ok(Self {
            sweep: ColorSweep::new(spec)?,
            exact: mrc.exact.then(whole).transpose()?,
            stack: mrc.stack_distance.then(StackDistance::new),
        })
    }

    fn touch(&mut self, reference: Reference, line_shift: u32) -> Result<(), SweepError> {
        if let Some(stack) = &mut self.stack {
            let last = reference
                .address
                .saturating_add(u64::from(reference.bytes) - 1);
            for line in reference.address >> line_shift..=last >> line_shift {
                stack.touch(line);
            }
        }
        if let Some(exact) = &mut self.exact {
            exact.touch(reference.address, reference.bytes)?;
        }
        self.sweep.touch(reference.address, reference.bytes)
    }
}

fn add_task(set: &mut ResultSet, spec: &SweepSpec, number: usize, task: &mut Task) {
    let geometry = spec.palette.geometry();
    let color_bytes = geometry.bytes / u64::from(spec.palette.colors());
    let swept = ratios(&mut task.sweep);
    let references = task.sweep.references();
    let errors = task.sweep.sampling_errors();
    let exact = task.exact.as_mut().map(ratios);
    // What the figures are off from: all lines where they are known, else those that are watched.
    let truth: Vec<f64> = exact
        .as_ref()
        .unwrap_or(&swept)
        .iter()
        .map(|(_, _, ratio)| *ratio)
        .collect();
    let mut stack_ratios = Vec::new();
    for (place, (colors, misses, miss_ratio)) in swept.iter().copied().enumerate() {
        let cache_bytes = color_bytes * u64::from(colors);
        let mut row = Row::new()
            .parameter("task", number)
            .parameter("colors", u64::from(colors))
            .metric("cache_bytes", cache_bytes)
            .metric("references", references)
            .metric("misses", misses)
            .metric("miss_ratio", miss_ratio);
        if let Some(errors) = &errors {
            row = row.metric("miss_ratio_standard_error", errors[place]);
        }
        if exact.is_some() {
            row = row.metric("exact_miss_ratio", truth[place]);
        }
        if let Some(stack) = &task.stack {
            let lines = (cache_bytes / u64::from(geometry.line_bytes)) as usize;
            stack_ratios.push(quotient(stack.misses(lines) as f64, stack.references()));
            row = row.metric("stack_distance_miss_ratio", stack_ratios[place]);
        }
        set.rows.push(row);
    }
    if exact.is_some() {
        let sampled: Vec<f64> = swept.iter().map(|(_, _, ratio)| *ratio).collect();
        add_distance(set, number, "sample", &sampled, &truth);
    }
    if task.stack.is_some() {
        add_distance(set, number, "stack_distance", &stack_ratios, &truth);
    }
    add_curve(set, number, task);
}

/// Numbers of colors, misses and miss ratios.
fn ratios(sweep: &mut ColorSweep) -> Vec<(u16, u64, f64)> {
    let ratios = sweep.miss_ratios();
    let counts = sweep.misses().zip(ratios);
    counts
        .map(|((colors, misses), ratio)| (colors, misses, ratio))
        .collect()
}

/// How far miss ratios are from the exact ones: on average, and at most.
fn add_distance(set: &mut ResultSet, task: usize, what: &str, found: &[f64], exact: &[f64]) {
    let distances: Vec<f64> = found
        .iter()
        .zip(exact)
        .map(|(found, exact)| (found - exact).abs())
        .collect();
    let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
    let most = distances.iter().copied().fold(0.0, f64::max);
    for (name, value, doc) in [
        (
            "mean",
            mean,
            "distance of its miss ratios from the exact ones, mean over numbers of colors",
        ),
        ("largest", most, "the largest of these distances"),
    ] {
        let name = format!("task_{task}_{what}_error_{name}");
        let fact = Fact::new(name, value, ColumnKind::Rate, doc);
        set.summary.facts.push(fact);
    }
}

/// What the curve says of the task, where every number of colors was swept.
fn add_curve(set: &mut ResultSet, number: usize, task: &mut Task) {
    let Some(curve) = task.sweep.curve() else {
        return;
    };
    let class = SensitivityRule::default()
        .class_of(&curve, SensitivityRule::smallest_share(curve.colors()));
    let mut fact = |name: &str, value: pagemill_report::Value, kind, doc: &str| {
        let fact = Fact::new(format!("task_{number}_{name}"), value, kind, doc);
        set.summary.facts.push(fact);
    };
    fact(
        "class",
        class.to_string().into(),
        ColumnKind::Text,
        "A and B: misses follow the share of the cache; C: many, whatever the share; D: few",
    );
    fact(
        "best_quota_colors",
        u64::from(MissCurve::best_quota(&curve)).into(),
        ColumnKind::Count,
        "the number of colors at which the miss ratio falls most",
    );
    fact(
        "pages",
        task.sweep.pages().into(),
        ColumnKind::Count,
        "pages that were touched",
    );
}

fn columns(spec: &MrcSpec) -> Vec<Column> {
    use ColumnKind::{Bytes, Count, Rate};
    let mut columns = vec![
        Column::parameter("task", Count, "number of the task in the trace"),
        Column::parameter("colors", Count, "page colors that the task may use"),
        Column::metric("cache_bytes", Bytes, "their part of the cache"),
        Column::metric("references", Count, "lines touched"),
        Column::metric(
            "misses",
            Count,
            "of these references; exact; with --sample N, of those that are watched",
        ),
        Column::metric(
            "miss_ratio",
            Rate,
            "misses / references; with --sample N, N times that",
        ),
    ];
    if spec.sample_every > 1 {
        columns.push(Column::metric(
            "miss_ratio_standard_error",
            Rate,
            "how far miss_ratio may be from that of all lines, from the spread between the watched places",
        ));
    }
    if spec.exact {
        columns.push(Column::metric(
            "exact_miss_ratio",
            Rate,
            "the same of all lines",
        ));
    }
    if spec.stack_distance {
        columns.push(Column::metric(
            "stack_distance_miss_ratio",
            Rate,
            "of a fully associative cache of the same size: the usual approximation",
        ));
    }
    columns
}

fn plot() -> Plot {
    let form = Lines {
        x: "colors".to_owned(),
        series: "task".to_owned(),
        y: "miss_ratio".to_owned(),
        log2_x: true,
        ..Lines::default()
    };
    Plot::new("mrc", "Miss ratio", PlotForm::Lines(form))
}

fn description(spec: &SweepSpec) -> DescriptionSection {
    let geometry = spec.palette.geometry();
    let entry = |name: &str, value: String| DescriptionEntry {
        name: name.to_owned(),
        value,
        source: "the command line".to_owned(),
    };
    DescriptionSection {
        title: "The cache".to_owned(),
        entries: vec![
            entry("bytes", geometry.bytes.to_string()),
            entry("ways", geometry.ways.to_string()),
            entry("line_bytes", geometry.line_bytes.to_string()),
            entry("page_bytes", spec.palette.page().bytes().to_string()),
            entry("colors", spec.palette.colors().to_string()),
            entry("sample_every", spec.sample_every.to_string()),
        ],
    }
}
