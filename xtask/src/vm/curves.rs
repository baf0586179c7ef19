//! Miss curves of the tasks that a boot traced, by `pagemill mrc`.

use std::path::Path;

use anyhow::{Context, Result};
use pagemill_vm::{Report, Suite};
use serde_json::Value;

use crate::{built, process};

/// Adds, for each test whose tasks were watched, the misses for every number of colors, and what they say of the task.
pub fn add(work: &Path, suite: &Suite, report: &mut Report) -> Result<()> {
    let curves = measure(&pagemill_vm::trace(work))?;
    for test in &suite.test {
        for task in report.observed_tasks(&test.name) {
            if task != 0 {
                add_task(&curves, &test.name, task, report);
            }
        }
    }
    Ok(())
}

fn measure(trace: &Path) -> Result<Value> {
    built::provide()?;
    let mut mrc = built::program("pagemill");
    mrc.args(["mrc", "--format", "json"]).arg(trace);
    let text = process::output(&mut mrc)?;
    serde_json::from_str(&text).context("`pagemill mrc` wrote no JSON")
}

fn add_task(curves: &Value, name: &str, task: u32, report: &mut Report) {
    let mut add = |what: &str, value: &Value, unit: &str| {
        let number = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        report.see_observed(&format!("value {name}.task{task}.{what} {number} {unit}"));
    };
    let facts = &curves["summary"]["facts"];
    for (fact, unit) in [
        ("class", "class"),
        ("best_quota_colors", "colors"),
        ("pages", "pages"),
    ] {
        add(fact, &facts[format!("task_{task}_{fact}")], unit);
    }
    let rows = curves["rows"].as_array().map_or(&[][..], Vec::as_slice);
    for row in rows.iter().filter(|row| row["task"] == task) {
        add(
            &format!("misses_in_{}_colors", row["colors"]),
            &row["misses"],
            "misses",
        );
    }
}
