use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pagemill_report::{ColumnRole, ResultSet, heading, human, json};
use pagemill_run::{Outcome, PointProgress, RunOptions, result_set, run_point, terminal_view};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Scenario, load_text};
use serde_json::{Value, json};

/// What the page saves a copied scenario as.
const FILE: &str = "playground.toml";

/// Enough for the page map, which is recorded where events are kept; the page has no timeline.
const EVENTS_MAX: usize = 1000;

/// Receives the share of a run that is done, from 0 to 1.
pub type TellShare = dyn Fn(f64) + Send + Sync;

/// Runs the scenario `text`; `tell` is called from time to time.
///
/// The answer is JSON: `error`, or
/// * `results`: the text of `results.json`, as `pagemill run --format json` prints it,
/// * `maps`: of each point with a page map its `title`, and the map's bytes in base64,
/// * `rows`: of each row the `name`, `heading`, `text` and `exact` value of what a terminal's table shows,
/// * `findings`: `point`, `reason` and `hint` of what made the slowest points slow.
pub fn answer(text: &str, tell: Arc<TellShare>) -> String {
    let answer = run(text, tell).unwrap_or_else(|error| json!({ "error": error }));
    answer.to_string()
}

fn run(text: &str, tell: Arc<TellShare>) -> Result<Value, String> {
    let source = SourceText::given(FILE, text);
    let scenario = load_text(&source, &[]).map_err(|errors| errors.render(false))?;
    let outcomes = run_points(&scenario, &tell)?;
    let points = &scenario.points;
    let set = result_set(&scenario, outcomes.iter().flat_map(Outcome::rows).cloned());
    let mut results = Vec::new();
    json::write(&set, &mut results).map_err(|error| error.to_string())?;
    let map = |map: pagemill_report::PageMap| json!({ "title": map.title, "data": STANDARD.encode(map.data) });
    let finding = |finding: pagemill_report::Finding| json!({ "point": finding.point, "reason": finding.reason, "hint": finding.hint });
    let maps = pagemill_run::maps(points, &outcomes);
    let findings = pagemill_run::findings(points, &outcomes);
    Ok(json!({
        "results": String::from_utf8_lossy(&results),
        "maps": maps.into_iter().map(map).collect::<Vec<_>>(),
        "rows": shown_rows(&terminal_view(&set, &scenario)),
        "findings": findings.into_iter().map(finding).collect::<Vec<_>>(),
    }))
}

/// Runs the points one after the other: a browser's worker is one thread.
fn run_points(scenario: &Scenario, tell: &Arc<TellShare>) -> Result<Vec<Outcome>, String> {
    let count = scenario.points.len() as f64;
    let run = |point: &pagemill_scenario::Point| {
        let tell = Arc::clone(tell);
        let progress = move |point: &pagemill_scenario::Point, share: f64| {
            tell((point.index as f64 + share) / count);
        };
        let options = RunOptions {
            events_max: EVENTS_MAX,
            progress: Some(PointProgress(Arc::new(progress))),
            ..RunOptions::default()
        };
        run_point(point, &options).map_err(|error| format!("{point}: {error}"))
    };
    scenario.points.iter().map(run).collect()
}

fn shown_rows(set: &ResultSet) -> Vec<Value> {
    let columns = set.all_columns();
    let cell = |row: &pagemill_report::Row, column: &pagemill_report::Column| {
        let value = row.get(&column.name)?;
        Some(json!({
            "name": column.name,
            "heading": heading(column),
            "doc": column.doc,
            "metric": column.role == ColumnRole::Metric,
            "text": human(value, column.kind),
            "exact": value.to_string(),
        }))
    };
    let rows = set.rows.iter();
    rows.map(|row| {
        columns
            .iter()
            .filter_map(|column| cell(row, column))
            .collect()
    })
    .collect()
}

#[cfg(test)]
mod tests;
