//! What tasks on a shared cache are measured by.

use pagemill_pages::shared_cache::{CacheUse, TaskReport};
use pagemill_policy::coloring::{ColorRange, MissCurve, Sensitivity, SensitivityRule};
use pagemill_report::ColumnKind::{Count, Number, Rate, Text, TimeNs};
use pagemill_report::{Column, Row, Value};
use pagemill_types::Picos;

use crate::quotient::{nanoseconds, quotient};
use pagemill_report::metric::{self, Metric};

/// What columns of the second task begin with.
const PARTNER: &str = "partner_";

#[rustfmt::skip]
const BOTH: &[Metric<Measured>] = &[
    Metric::sometimes("system_performance", Number, "of two tasks: mean of each one's time alone over its time beside the other; 1 is without interference",
        |measured| Some(measured.system_performance()?.into())),
];

#[rustfmt::skip]
const TASK: &[Metric<TaskMeasured>] = &[
    Metric::new("time_ns", TimeNs, "the task, from its start to its end",
        |task| nanoseconds(task.report.end).into()),
    Metric::sometimes("alone_time_ns", TimeNs, "the same alone, its pages anywhere (`random`); where there are two tasks",
        |task| Some(nanoseconds(task.alone?).into())),
    Metric::new("references", Count, "references of the task",
        |task| cache(task).references.into()),
    Metric::new("shared_references", Count, "those that missed in its core's own cache",
        |task| cache(task).shared_references.into()),
    Metric::new("misses", Count, "those that missed in the shared cache too",
        |task| cache(task).misses.into()),
    Metric::new("miss_ratio", Rate, "misses / shared_references",
        |task| quotient(cache(task).misses as f64, cache(task).shared_references).into()),
    Metric::new("misses_by_others", Count, "misses that there would not be if the other task did not use the shared cache; exact where the task waits for every reference",
        |task| cache(task).misses_by_others.into()),
    Metric::new("touched_pages", Count, "pages that the task touched",
        |task| task.report.pages.into()),
    Metric::sometimes("first_quota_colors", Count, "colors of the task at the start, where it has some",
        |task| count(task.report.first_colors)),
    Metric::sometimes("quota_colors", Count, "colors of the task at its end, where it has some",
        |task| count(task.report.colors)),
    Metric::new("recolorings", Count, "changes of its colors",
        |task| task.report.recolorings.into()),
    Metric::new("copied_pages", Count, "pages that were copied to another color",
        |task| task.report.copied_pages.into()),
    Metric::new("uncopied_pages", Count, "pages that did not have to be copied: they were not touched again",
        |task| task.report.uncopied_pages.into()),
    Metric::new("remapped_pages", Count, "pages that were unmapped and not copied",
        |task| task.report.remapped_pages.into()),
    Metric::new("copy_misses", Count, "misses in the shared cache while copying",
        |task| task.report.copy_cache.misses.into()),
    Metric::new("recolor_time_ns", TimeNs, "what changes of its colors cost the task: unmapping, flushes, faults, copies",
        |task| nanoseconds(task.report.recolor_time).into()),
    Metric::new("class", Text, "A and B: misses follow the share of the cache; C: many, whatever the share; D: few",
        |task| task.class().to_string().into()),
    Metric::new("best_quota_colors", Count, "the number of colors at which the miss ratio falls most",
        |task| u64::from(task.curve.best_quota()).into()),
    Metric::new("curve_fall", Rate, "miss ratio with an eighth of the colors less that with all",
        |task| task.curve_fall().into()),
    Metric::new("curve_miss_ratio", Rate, "miss ratio with all colors, dealt evenly",
        |task| task.miss_ratio_of_all().into()),
];

/// All columns: of both tasks, of the first, and of the one beside it.
pub fn columns() -> Vec<Column> {
    [
        metric::columns(BOTH),
        metric::columns(TASK),
        metric::prefixed_columns(PARTNER, TASK),
    ]
    .concat()
}

/// All tasks of a point, the first of them first.
pub struct Measured {
    pub tasks: Vec<TaskMeasured>,
}

/// One task of a point.
pub struct TaskMeasured {
    pub report: TaskReport,
    /// Its miss curve in the shared cache.
    pub curve: MissCurve,
    /// When it ends alone.
    pub alone: Option<Picos>,
}

impl Measured {
    /// The row with everything that was measured.
    pub fn add_to(&self, row: Row) -> Row {
        let tasks = self.tasks.iter().zip(["", PARTNER]);
        tasks.fold(metric::add(row, BOTH, self), |row, (task, prefix)| {
            metric::add_prefixed(prefix, row, TASK, task)
        })
    }

    fn system_performance(&self) -> Option<f64> {
        let shares: Option<Vec<f64>> = self
            .tasks
            .iter()
            .map(|task| Some(quotient(task.alone?.0 as f64, task.report.end.0)))
            .collect();
        let shares = shares?;
        Some(shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

impl TaskMeasured {
    fn class(&self) -> Sensitivity {
        SensitivityRule::default().class_of(&self.curve, self.smallest_share())
    }

    fn curve_fall(&self) -> f64 {
        self.curve.miss_ratio(self.smallest_share()) - self.miss_ratio_of_all()
    }

    fn miss_ratio_of_all(&self) -> f64 {
        self.curve.miss_ratio(self.curve.colors())
    }

    fn smallest_share(&self) -> u16 {
        SensitivityRule::smallest_share(self.curve.colors())
    }
}

fn cache(task: &TaskMeasured) -> &CacheUse {
    &task.report.cache
}

fn count(colors: Option<ColorRange>) -> Option<Value> {
    Some(u64::from(colors?.count()).into())
}
