//! Rows to a result set: descriptions, ratios, figures.

use std::io::Write;

use pagemill_report::{
    Column, ColumnKind, ColumnRole, DescriptionEntry, DescriptionSection, ResultSet, Row, Summary,
    Value, evaluate,
};
use pagemill_scenario::{PROGRAMMER_COPY, Parameter, ParameterValue, Point, PointSpec, Scenario};

use super::{Outcome, metrics, plots};

/// Time over that of `programmer-copy` with otherwise equal parameters.
pub const TIME_RATIO: &str = "time_over_programmer_copy";

/// Swept keys that every row holds under a shorter name.
const ALWAYS_SHOWN: &[&str] = &["workload.name", "transfer.mode"];

/// The swept keys of a point, after what `row` holds already.
pub fn parameters(point: &Point, row: Row) -> Row {
    swept(point).fold(row, |row, parameter| {
        row.parameter(&parameter.column, value(&parameter.value))
    })
}

fn swept(point: &Point) -> impl Iterator<Item = &Parameter> {
    point
        .parameters
        .iter()
        .filter(|parameter| !ALWAYS_SHOWN.contains(&parameter.path.as_str()))
}

fn value(value: &ParameterValue) -> Value {
    match value {
        ParameterValue::Unsigned(number) => (*number).into(),
        ParameterValue::Signed(number) => (*number).into(),
        ParameterValue::Float(number) => (*number).into(),
        ParameterValue::Boolean(flag) => (*flag).into(),
        ParameterValue::Text(text) => text.as_str().into(),
    }
}

/// Everything a run has to say.
pub fn result_set(scenario: &Scenario, rows: impl Iterator<Item = Row>) -> ResultSet {
    let mut rows: Vec<Row> = rows.collect();
    add_time_ratios(&mut rows);
    let columns = columns(&scenario.points);
    let plots = match scenario.plots.as_slice() {
        [] => plots::plots(&rows, &columns),
        declared => declared.to_vec(),
    };
    let mut set = ResultSet {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        about: scenario.about.trim().to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: scenario.seed,
        columns,
        rows,
        summary: Summary::default(),
        plots,
        description: description(scenario),
    };
    set.summary.claims = scenario
        .claims
        .iter()
        .map(|spec| evaluate(spec, &set))
        .collect();
    set
}

/// The set with what fits a terminal: the main metrics, and no parameter that the workload's name stands for.
pub fn headline(set: &ResultSet) -> ResultSet {
    let mut set = set.clone();
    let implied: Vec<String> = set
        .columns
        .iter()
        .filter(|column| {
            column.role == ColumnRole::Parameter && is_implied(&set.rows, &column.name)
        })
        .map(|column| column.name.clone())
        .collect();
    let is_shown = |column: &Column| match column.role {
        ColumnRole::Parameter => !implied.contains(&column.name),
        ColumnRole::Metric => metrics::HEADLINE.contains(&column.name.as_str()),
    };
    set.columns.retain(is_shown);
    let is_shown =
        |(name, _): &(String, Value)| set.columns.iter().any(|column| column.name == *name);
    for row in &mut set.rows {
        row.parameters.retain(is_shown);
        row.metrics.retain(is_shown);
    }
    set
}

/// Whether rows of one workload never differ in parameter `name`, and rows of several workloads do.
fn is_implied(rows: &[Row], name: &str) -> bool {
    let differs = rows.iter().any(|row| row.get(name) != rows[0].get(name));
    let first_of_same = |row: &Row| {
        rows.iter()
            .find(|other| other.get("workload") == row.get("workload"))
            .map(|first| first.get(name))
    };
    name != "workload"
        && differs
        && rows
            .iter()
            .all(|row| first_of_same(row) == Some(row.get(name)))
}

fn columns(points: &[Point]) -> Vec<Column> {
    let mut columns = vec![
        Column::parameter("workload", ColumnKind::Text, "the program"),
        Column::parameter("mode", ColumnKind::Text, "how its data gets to the GPU"),
    ];
    for parameter in points.iter().flat_map(swept) {
        if columns.iter().all(|column| column.name != parameter.column) {
            let doc = format!("swept: {}", parameter.path);
            columns.push(Column::parameter(&parameter.column, kind(parameter), doc));
        }
    }
    for column in metrics::columns() {
        let is_time = column.name == "time_ns";
        columns.push(column);
        if is_time {
            let doc = "time_ns over that of programmer-copy with otherwise equal parameters";
            columns.push(Column::metric(TIME_RATIO, ColumnKind::Ratio, doc));
        }
    }
    columns
}

fn kind(parameter: &Parameter) -> ColumnKind {
    match parameter.value {
        ParameterValue::Boolean(_) | ParameterValue::Text(_) => ColumnKind::Text,
        ParameterValue::Float(_) | ParameterValue::Unsigned(_) | ParameterValue::Signed(_) => {
            let unit = parameter
                .column
                .strip_prefix(&parameter.path)
                .unwrap_or_default();
            match unit {
                "_bytes" => ColumnKind::Bytes,
                "_bytes_per_second" => ColumnKind::BytesPerSecond,
                "_ns" => ColumnKind::TimeNs,
                _ if matches!(parameter.value, ParameterValue::Unsigned(_)) => ColumnKind::Count,
                _ => ColumnKind::Number,
            }
        }
    }
}

fn add_time_ratios(rows: &mut [Row]) {
    let others = |row: &Row| -> Vec<(String, Value)> {
        row.parameters
            .iter()
            .filter(|(name, _)| name != "mode")
            .cloned()
            .collect()
    };
    let is_base = |row: &Row| row.get("mode") == Some(&PROGRAMMER_COPY.into());
    let bases: Vec<_> = rows
        .iter()
        .filter(|row| is_base(row))
        .filter_map(|row| Some((others(row), row.number("time_ns")?)))
        .collect();
    for row in rows {
        let own = others(row);
        let base = bases.iter().find(|(parameters, _)| *parameters == own);
        let (Some((_, base)), Some(time)) = (base, row.number("time_ns")) else {
            continue;
        };
        if *base > 0.0 {
            // Beside the time it is a ratio of.
            let place = row
                .metrics
                .iter()
                .position(|(name, _)| name == "time_ns")
                .map_or(0, |place| place + 1);
            row.metrics
                .insert(place, (TIME_RATIO.to_owned(), (time / base).into()));
        }
    }
}

/// The machine of the first point, value by value; swept values are in the rows.
fn description(scenario: &Scenario) -> Vec<DescriptionSection> {
    let Some(Point {
        spec: PointSpec::Gpu(spec),
        ..
    }) = scenario.points.first()
    else {
        return Vec::new();
    };
    let machine = &spec.machine;
    let entry = |setting: &pagemill_scenario::Setting| DescriptionEntry {
        name: setting.key.clone(),
        value: setting.value.clone(),
        source: setting.source.clone(),
    };
    vec![DescriptionSection {
        title: format!("Machine {}: {}", machine.gpu.name, machine.title),
        entries: machine.settings.iter().map(entry).collect(),
    }]
}

/// Shows on standard error what programs printed.
pub fn show_output(points: &[Point], outcomes: &[Outcome]) {
    let mut err = std::io::stderr().lock();
    for (point, outcome) in points.iter().zip(outcomes) {
        for line in outcome.output.lines() {
            // There is nobody left to tell when standard error is closed.
            let _ = writeln!(err, "{point}: {line}");
        }
    }
}
