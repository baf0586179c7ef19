//! What tasks on a shared cache are measured by. `docs/results.md` describes the same columns.

use pagemill_policy::coloring::{MissCurve, SensitivityRule};
use pagemill_report::{ColumnKind, Row};
use pagemill_sim::shared_cache::TaskReport;
use pagemill_types::Picos;

use crate::quotient::quotient;

use ColumnKind::{Count, Number, Rate, Text, TimeNs};

/// Every metric with what it means, in the order of the row.
pub const METRICS: &[(&str, ColumnKind, &str)] = &[
    (
        "system_performance",
        Number,
        "of two tasks: mean of each one's time alone over its time beside the other; 1 is without interference",
    ),
    ("time_ns", TimeNs, "the task, from its start to its end"),
    (
        "alone_time_ns",
        TimeNs,
        "the same alone, its pages anywhere; where there are two tasks",
    ),
    ("references", Count, "references of the task"),
    (
        "shared_references",
        Count,
        "those that missed in its core's own cache",
    ),
    ("misses", Count, "those that missed in the shared cache too"),
    ("miss_ratio", Rate, "misses / shared_references"),
    (
        "misses_by_others",
        Count,
        "misses that there would not be if the other task did not use the shared cache",
    ),
    ("touched_pages", Count, "pages that the task touched"),
    (
        "first_quota_colors",
        Count,
        "colors of the task at the start, where it has some",
    ),
    (
        "quota_colors",
        Count,
        "colors of the task at its end, where it has some",
    ),
    ("recolorings", Count, "changes of its colors"),
    (
        "copied_pages",
        Count,
        "pages that were copied to another color",
    ),
    (
        "uncopied_pages",
        Count,
        "pages that did not have to be copied: they were not touched again",
    ),
    (
        "remapped_pages",
        Count,
        "pages that were unmapped and not copied",
    ),
    (
        "copy_misses",
        Count,
        "misses in the shared cache while copying",
    ),
    (
        "recolor_time_ns",
        TimeNs,
        "what changes of colors cost the task, copies included",
    ),
    (
        "class",
        Text,
        "A and B: misses follow the share of the cache; C: many, whatever the share; D: few",
    ),
    (
        "best_quota_colors",
        Count,
        "the number of colors at which the miss ratio falls most",
    ),
    (
        "curve_fall",
        Rate,
        "miss ratio with an eighth of the colors less that with all",
    ),
    (
        "curve_miss_ratio",
        Rate,
        "miss ratio with all colors, dealt evenly",
    ),
    (
        "partner_time_ns",
        TimeNs,
        "of the task beside it, as time_ns; so are all that follow",
    ),
    ("partner_alone_time_ns", TimeNs, "as alone_time_ns"),
    ("partner_references", Count, "as references"),
    ("partner_shared_references", Count, "as shared_references"),
    ("partner_misses", Count, "as misses"),
    ("partner_miss_ratio", Rate, "as miss_ratio"),
    ("partner_misses_by_others", Count, "as misses_by_others"),
    ("partner_touched_pages", Count, "as touched_pages"),
    ("partner_first_quota_colors", Count, "as first_quota_colors"),
    ("partner_quota_colors", Count, "as quota_colors"),
    ("partner_recolorings", Count, "as recolorings"),
    ("partner_copied_pages", Count, "as copied_pages"),
    ("partner_uncopied_pages", Count, "as uncopied_pages"),
    ("partner_remapped_pages", Count, "as remapped_pages"),
    ("partner_copy_misses", Count, "as copy_misses"),
    ("partner_recolor_time_ns", TimeNs, "as recolor_time_ns"),
    ("partner_class", Text, "as class"),
    ("partner_best_quota_colors", Count, "as best_quota_colors"),
    ("partner_curve_fall", Rate, "as curve_fall"),
    ("partner_curve_miss_ratio", Rate, "as curve_miss_ratio"),
];

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
        let row = match self.system_performance() {
            Some(performance) => row.metric("system_performance", performance),
            None => row,
        };
        self.tasks
            .iter()
            .zip(["", "partner_"])
            .fold(row, |row, (task, prefix)| task.add_to(row, prefix))
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
    fn add_to(&self, row: Row, prefix: &str) -> Row {
        let name = |metric: &str| format!("{prefix}{metric}");
        let nanos = |time: Picos| time.0 as f64 / 1e3;
        let (report, cache) = (&self.report, &self.report.cache);
        let mut row = row.metric(name("time_ns"), nanos(report.end));
        if let Some(alone) = self.alone {
            row = row.metric(name("alone_time_ns"), nanos(alone));
        }
        row = row
            .metric(name("references"), cache.references)
            .metric(name("shared_references"), cache.shared_references)
            .metric(name("misses"), cache.misses)
            .metric(
                name("miss_ratio"),
                quotient(cache.misses as f64, cache.shared_references),
            )
            .metric(name("misses_by_others"), cache.misses_by_others)
            .metric(name("touched_pages"), report.pages);
        for (metric, colors) in [
            ("first_quota_colors", report.first_colors),
            ("quota_colors", report.colors),
        ] {
            if let Some(colors) = colors {
                row = row.metric(name(metric), u64::from(colors.count()));
            }
        }
        let curve = &self.curve;
        let all = curve.miss_ratio(curve.colors());
        let smallest = SensitivityRule::smallest_share(curve.colors());
        let class = SensitivityRule::default().class_of(curve, smallest);
        row.metric(name("recolorings"), report.recolorings)
            .metric(name("copied_pages"), report.copied_pages)
            .metric(name("uncopied_pages"), report.uncopied_pages)
            .metric(name("remapped_pages"), report.remapped_pages)
            .metric(name("copy_misses"), report.copy_cache.misses)
            .metric(name("recolor_time_ns"), nanos(report.recolor_time))
            .metric(name("class"), class.to_string())
            .metric(name("best_quota_colors"), u64::from(curve.best_quota()))
            .metric(name("curve_fall"), curve.miss_ratio(smallest) - all)
            .metric(name("curve_miss_ratio"), all)
    }
}
