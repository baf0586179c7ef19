//! Rows to a result set: descriptions, ratios, figures.

use pagemill_report::{
    Column, ColumnKind, ColumnRole, DescriptionEntry, DescriptionSection, ResultSet, Row, Summary,
    Value, evaluate,
};
use pagemill_scenario::{Parameter, ParameterValue, Point, PointSpec, Scenario};

use crate::implied::is_implied;
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

pub(crate) fn value(value: &ParameterValue) -> Value {
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
    let mut plots = match scenario.plots.as_slice() {
        [] => (view.plots)(&rows, &columns),
        declared => declared.to_vec(),
    };
    crate::published::add(&mut plots, &scenario.claims);
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
        maps: Vec::new(),
        findings: Vec::new(),
        description: description(scenario),
    };
    if let PointSpec::Cuda(_) = &scenario.points[0].spec {
        kind::cuda::summarize(&set.rows, &mut set.summary);
    }
    set.summary.warnings.extend(loads_beyond(&set.rows));
    set.summary.claims = scenario
        .claims
        .iter()
        .map(|spec| evaluate(spec, &set))
        .collect();
    set
}

/// What to know of a program that only ran because reads beyond its allocations were let pass.
fn loads_beyond(rows: &[Row]) -> Option<String> {
    let of = |row: &Row| row.number("loads_beyond").unwrap_or(0.0);
    let (loads, points): (f64, usize) = rows
        .iter()
        .map(of)
        .filter(|loads| *loads > 0.0)
        .fold((0.0, 0), |(loads, points), own| (loads + own, points + 1));
    (points > 0).then(|| {
        format!("{loads} loads beyond an allocation read zeros in {points} rows (limits.read_granule): the program has a mistake")
    })
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

/// Several result sets as one: rows of all, and ratios and figures made of them anew. Names and description are the first's.
pub fn merged<'a>(sets: impl IntoIterator<Item = &'a ResultSet>) -> ResultSet {
    let mut sets = sets.into_iter();
    let mut merged = sets.next().cloned().unwrap_or_default();
    for other in sets {
        for column in other.all_columns() {
            if merged.columns.iter().all(|known| known.name != column.name) {
                merged.columns.push(column);
            }
        }
        merged.rows.extend(other.rows.iter().cloned());
    }
    let mut kinds: Vec<(&'static str, &View, Vec<Row>)> = Vec::new();
    for row in &merged.rows {
        let Some((name, view)) = kind::view_of_row(row) else {
            continue;
        };
        match kinds.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, _, rows)) => rows.push(row.clone()),
            None => kinds.push((name, view, vec![row.clone()])),
        }
    }
    for (_, view, _) in &kinds {
        if let Some(ratio) = &view.ratio {
            add_ratios(&mut merged.rows, ratio);
        }
    }
    let several = kinds.len() > 1;
    merged.plots = Vec::new();
    for (name, view, rows) in &kinds {
        for mut plot in (view.plots)(rows, &merged.columns) {
            if several {
                plot.id = format!("{name}-{}", plot.id);
                plot.title = format!("{} (kind {name})", plot.title);
            }
            merged.plots.push(plot);
        }
    }
    merged
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
    for column in (view.metrics)() {
        let ratio = view.ratio.as_ref();
        let ratio = ratio.filter(|ratio| ratio.of == column.name);
        columns.push(column);
        columns.extend(ratio.map(Ratio::described));
    }
    columns
}

pub(crate) fn column_kind(parameter: &Parameter) -> ColumnKind {
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
    for row in rows
        .iter_mut()
        .filter(|row| row.get(ratio.column).is_none())
    {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(mode: &str, time_ns: u64) -> ResultSet {
        let row = |workload: &str| {
            Row::new()
                .parameter("workload", workload)
                .parameter("mode", mode)
                .metric("time_ns", time_ns)
        };
        ResultSet {
            rows: vec![row("bfs"), row("laplace3d")],
            ..ResultSet::default()
        }
    }

    #[test]
    fn merged_rows_have_ratios_and_figures_of_their_kind() {
        let merged = merged([&rows_of("programmer-copy", 10), &rows_of("whole-page", 30)]);
        let ratios: Vec<_> = merged
            .rows
            .iter()
            .map(|row| row.number("time_over_programmer_copy"))
            .collect();
        assert_eq!(ratios, [Some(1.0), Some(1.0), Some(3.0), Some(3.0)]);
        let columns: Vec<_> = merged.plots[0].column_names();
        assert_eq!(columns, ["workload", "mode", "time_ns"]);
    }

    #[test]
    fn figures_of_several_kinds_stay_apart() {
        let mut programs = rows_of("whole-page", 5);
        for row in &mut programs.rows {
            *row = std::mem::take(row)
                .parameter("kernel", "(all)")
                .parameter("program", "./join");
        }
        let merged = merged([&rows_of("programmer-copy", 10), &programs]);
        let ids: std::collections::BTreeSet<&str> =
            merged.plots.iter().map(|plot| plot.id.as_str()).collect();
        assert_eq!(ids.len(), merged.plots.len());
        assert!(
            ids.contains("gpu-time") && ids.contains("cuda-time"),
            "{ids:?}"
        );
    }
}
