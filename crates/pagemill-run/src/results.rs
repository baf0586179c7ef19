//! Rows to a result set: descriptions, ratios, figures.

use pagemill_report::{
    Column, ColumnKind, ColumnRole, DescriptionEntry, DescriptionSection, ResultSet, Row, Summary,
    Value, evaluate,
};
use pagemill_scenario::{Parameter, ParameterValue, Point, PointSpec, Scenario};

use crate::kind::{self, Ratio, View};

/// The swept keys of a point, after what `row` holds already.
pub(crate) fn parameters(point: &Point, row: Row) -> Row {
    swept(point).fold(row, |row, parameter| {
        row.parameter(&parameter.column, value(&parameter.value))
    })
}

fn swept(point: &Point) -> impl Iterator<Item = &Parameter> {
    // Every row holds these under a shorter name.
    let short_names = point.spec.short_names();
    let has_short_name =
        |parameter: &&Parameter| short_names.iter().any(|(path, _)| *path == parameter.path);
    point
        .parameters
        .iter()
        .filter(move |parameter| !has_short_name(parameter))
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
    let view = kind::view(&scenario.points[0].spec);
    let mut rows: Vec<Row> = rows.collect();
    if let Some(ratio) = &view.ratio {
        add_ratios(&mut rows, ratio);
    }
    let columns = columns(&scenario.points, view);
    let plots = match scenario.plots.as_slice() {
        [] => (view.plots)(&rows, &columns),
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
    if let PointSpec::Cuda(_) = &scenario.points[0].spec {
        kind::cuda::summarize(&set.rows, &mut set.summary);
    }
    set.summary.claims = scenario
        .claims
        .iter()
        .map(|spec| evaluate(spec, &set))
        .collect();
    set
}

/// The set with what fits a terminal: the main metrics, and no parameter that the row's name stands for.
pub(crate) fn headline(set: &ResultSet, view: &View) -> ResultSet {
    let mut set = set.clone();
    let implied: Vec<String> = set
        .columns
        .iter()
        .filter(|column| {
            column.role == ColumnRole::Parameter
                && is_implied(&set.rows, view.identity[0].0, &column.name)
        })
        .map(|column| column.name.clone())
        .collect();
    let is_shown = |column: &Column| match column.role {
        ColumnRole::Parameter => !implied.contains(&column.name),
        ColumnRole::Metric => view.headline.contains(&column.name.as_str()),
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

/// Whether rows of one `identity` never differ in parameter `name`, and rows of several do.
fn is_implied(rows: &[Row], identity: &str, name: &str) -> bool {
    let differs = rows.iter().any(|row| row.get(name) != rows[0].get(name));
    let first_of_same = |row: &Row| {
        rows.iter()
            .find(|other| other.get(identity) == row.get(identity))
            .map(|first| first.get(name))
    };
    name != identity
        && differs
        && rows
            .iter()
            .all(|row| first_of_same(row) == Some(row.get(name)))
}

fn columns(points: &[Point], view: &View) -> Vec<Column> {
    let mut columns: Vec<Column> = view
        .identity
        .iter()
        .map(|(name, kind, doc)| Column::parameter(*name, *kind, *doc))
        .collect();
    for parameter in points.iter().flat_map(swept) {
        if columns.iter().all(|column| column.name != parameter.column) {
            let doc = format!("swept: {}", parameter.path);
            columns.push(Column::parameter(
                &parameter.column,
                column_kind(parameter),
                doc,
            ));
        }
    }
    for (name, kind, doc) in view.metrics {
        columns.push(Column::metric(*name, *kind, *doc));
        if let Some(ratio) = view.ratio.as_ref().filter(|ratio| ratio.of == *name) {
            columns.push(Column::metric(ratio.column, ColumnKind::Ratio, ratio.doc));
        }
    }
    columns
}

fn column_kind(parameter: &Parameter) -> ColumnKind {
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

fn add_ratios(rows: &mut [Row], ratio: &Ratio) {
    let others = |row: &Row| -> Vec<(String, Value)> {
        row.parameters
            .iter()
            .filter(|(name, _)| name != ratio.parameter)
            .cloned()
            .collect()
    };
    let bases: Vec<_> = rows
        .iter()
        .filter(|row| ratio.is_base(row))
        .filter_map(|row| Some((others(row), row.number(ratio.of)?)))
        .collect();
    for row in rows {
        let own = others(row);
        let base = bases.iter().find(|(parameters, _)| *parameters == own);
        let (Some((_, base)), Some(value)) = (base, row.number(ratio.of)) else {
            continue;
        };
        if *base > 0.0 {
            // Beside what it is a ratio of.
            let place = row
                .metrics
                .iter()
                .position(|(name, _)| name == ratio.of)
                .map_or(0, |place| place + 1);
            row.metrics
                .insert(place, (ratio.column.to_owned(), (value / base).into()));
        }
    }
}

/// The machine of the first point, value by value; swept values are in the rows.
fn description(scenario: &Scenario) -> Vec<DescriptionSection> {
    let Some(point) = scenario.points.first() else {
        return Vec::new();
    };
    let (name, title, settings) = point.spec.machine();
    let entry = |setting: &pagemill_scenario::Setting| DescriptionEntry {
        name: setting.key.clone(),
        value: setting.value.clone(),
        source: setting.source.clone(),
    };
    vec![DescriptionSection {
        title: format!("Machine {name}: {title}"),
        entries: settings.iter().map(entry).collect(),
    }]
}
