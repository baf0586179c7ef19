//! Rows to a result set: descriptions, ratios, figures.

use std::collections::HashMap;

use pagemill_report::{
    Claim, Column, ColumnKind, ColumnRole, DescriptionEntry, DescriptionSection, Plot, ResultSet,
    Row, Summary, Value, evaluate, human,
};
use pagemill_scenario::{Parameter, ParameterValue, Point, PointSpec, Scenario};

use crate::implied::is_implied;
use crate::kind::{self, Ratio, View};

/// The column of machines, in rows of every kind.
const MACHINE: &str = "machine";

/// The swept keys of a point, after what `row` holds already.
pub(crate) fn parameters(point: &Point, row: Row) -> Row {
    swept(point).fold(row, |row, parameter| {
        row.parameter(&parameter.column, &parameter.value)
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

/// Everything a run has to say.
pub fn result_set(scenario: &Scenario, rows: impl Iterator<Item = Row>) -> ResultSet {
    let kind = kind::name(&scenario.points[0].spec);
    let view = kind::view(&scenario.points[0].spec);
    let mut rows: Vec<Row> = rows
        .map(|row| Row {
            kind: kind.to_owned(),
            ..row
        })
        .collect();
    if let Some(ratio) = &view.ratio {
        add_ratios(&mut rows, ratio);
    }
    let columns = columns(&scenario.points, view);
    let plots = match scenario.plots.as_slice() {
        [] => (view.plots)(&rows, &columns),
        declared => declared.to_vec(),
    };
    let mut plots = by_machine(plots, &rows);
    crate::published::add(&mut plots, &scenario.claims);
    let mut set = ResultSet {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        subject: subject(&scenario.points),
        about: scenario.about.trim().to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: scenario.seed,
        measured: false,
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
        .map(|spec| evaluate(spec, &set, &scenario.planned))
        .map(|claim| withheld(claim, &scenario.changed))
        .collect();
    set
}

/// The claim, judged only where the run differs from the scenario in nothing that the claim speaks of. Its figure stays.
fn withheld(claim: Claim, changed: &[String]) -> Claim {
    if changed.is_empty() || claim.holds.is_none() {
        return claim;
    }
    let why = format!(
        "not judged: this run has {}, and the scenario has not",
        changed.join(", ")
    );
    let parts = [claim.note, why];
    let note: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Claim {
        holds: None,
        note: note.join("; "),
        ..claim
    }
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
        format!("loads beyond an allocation read zeros: {loads}, in rows: {points} (limits.read_granule); a card lets them pass, too, and `--check` shows where they are")
    })
}

/// The set with what fits a terminal: the main metrics, and no parameter that the row's name stands for.
pub(crate) fn headline(set: &ResultSet, view: &View) -> ResultSet {
    let mut set = set.clone();
    // A size that only some programs have is named by the program, unless it differs.
    let is_swept = |column: &Column| !view.identity.iter().any(|(name, ..)| *name == column.name);
    let implied: Vec<String> = set
        .columns
        .iter()
        .filter(|column| {
            let has = |row: &&Row| row.get(&column.name).is_some();
            let holders = set.rows.iter().filter(has).count();
            column.role == ColumnRole::Parameter
                && (holders == 0
                    || (holders == set.rows.len() || is_swept(column))
                        && is_implied(&set.rows, view.identity[0].0, &column.name))
        })
        .map(|column| column.name.clone())
        .collect();
    let is_shown = |column: &Column| match column.role {
        ColumnRole::Parameter => !implied.contains(&column.name),
        ColumnRole::Metric => view.headline.contains(&column.name.as_str()),
    };
    set.columns.retain(is_shown);
    set.rows.iter_mut().for_each(qualify_time);
    let is_shown =
        |(name, _): &(String, Value)| set.columns.iter().any(|column| column.name == *name);
    for row in &mut set.rows {
        row.parameters.retain(is_shown);
        row.metrics.retain(is_shown);
    }
    set
}

/// Says of a time what it is, where it is not that of every launch: a lower bound, an estimate, or none.
fn qualify_time(row: &mut Row) {
    let number = |name: &str| row.number(name);
    let Some(time) = number("time_ns") else {
        return;
    };
    let shown = |time: f64| human(&Value::Float(time), ColumnKind::TimeNs);
    let is_of = |detail: &str| row.get("time_detail") == Some(&detail.into());
    let text = match number("time_error_ns") {
        _ if time == 0.0 => None,
        Some(error) => Some(format!("{} ± {}", shown(time), shown(error))),
        None if is_of("pages") => Some(format!("at least {}", shown(time))),
        None if is_of("sampled") => Some(format!("{} (sampled)", shown(time))),
        None => return,
    };
    let place = row.metrics.iter().position(|(name, _)| name == "time_ns");
    match (place, text) {
        (Some(place), Some(text)) => row.metrics[place].1 = text.into(),
        (Some(place), None) => drop(row.metrics.remove(place)),
        (None, _) => {}
    }
}

/// Figures that would show means of several machines, with a panel for each machine; those that have panels, once for each machine.
fn by_machine(plots: Vec<Plot>, rows: &[Row]) -> Vec<Plot> {
    let mut apart = Vec::new();
    for mut plot in plots {
        let machines = differing_machines(&plot, rows);
        if machines.is_empty() {
            apart.push(plot);
        } else if plot.panel_by.is_none() {
            plot.panel_by = Some(MACHINE.to_owned());
            apart.push(plot);
        } else {
            apart.extend(machines.into_iter().map(|machine| {
                let mut own = plot.clone();
                own.id = format!("{}-{machine}", own.id);
                own.title = format!("{} on {machine}", own.title);
                own.only.push((MACHINE.to_owned(), machine.clone()));
                own
            }));
        }
    }
    apart
}

/// The machines of a figure, if rows of several would be averaged.
fn differing_machines<'a>(plot: &Plot, rows: &'a [Row]) -> Vec<&'a Value> {
    let is_shown = |row: &&Row| {
        let mut only = plot.only.iter();
        only.all(|(name, value)| row.get(name) == Some(value))
    };
    let shown: Vec<&Row> = rows.iter().filter(is_shown).collect();
    let is_key = |name: &&str| {
        shown
            .iter()
            .all(|row| !row.metrics.iter().any(|(metric, _)| metric == name))
    };
    let keys: Vec<&str> = plot.column_names().into_iter().filter(is_key).collect();
    let mut places: HashMap<Vec<String>, &Value> = HashMap::new();
    let mut machines: Vec<&Value> = Vec::new();
    let mut differs = false;
    for row in shown {
        let Some(machine) = row.get(MACHINE) else {
            continue;
        };
        if !machines.contains(&machine) {
            machines.push(machine);
        }
        let place: Vec<String> = keys
            .iter()
            .map(|key| format!("{:?}", row.get(key)))
            .collect();
        differs |= *places.entry(place).or_insert(machine) != machine;
    }
    if differs { machines } else { Vec::new() }
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
    let mut kinds: Vec<(String, &View, Vec<Row>)> = Vec::new();
    for row in &merged.rows {
        match kinds.iter_mut().find(|(known, ..)| *known == row.kind) {
            Some((_, _, rows)) => rows.push(row.clone()),
            None => kinds.extend(
                kind::view_of(&row.kind).map(|view| (row.kind.clone(), view, vec![row.clone()])),
            ),
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
        for mut plot in by_machine((view.plots)(rows, &merged.columns), rows) {
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

/// The machine and the mode of users' programs, where all points have the same.
fn subject(points: &[Point]) -> String {
    let of = |point: &Point| match &point.spec {
        PointSpec::Cuda(spec) => format!(
            "{} ({}), {}",
            spec.machine.name, spec.machine.title, spec.transfer.mode
        ),
        _ => String::new(),
    };
    let first = points.first().map(of).unwrap_or_default();
    match points.iter().all(|point| of(point) == first) {
        true => first,
        false => String::new(),
    }
}

/// The machine of the first point, value by value; swept values are in the rows.
fn description(scenario: &Scenario) -> Vec<DescriptionSection> {
    let Some(point) = scenario.points.first() else {
        return Vec::new();
    };
    let (name, title, settings) = point.spec.machine();
    vec![machine_section(name, title, settings)]
}

/// A machine, value by value.
pub fn machine_section(
    name: &str,
    title: &str,
    settings: &[pagemill_scenario::Setting],
) -> DescriptionSection {
    let entry = |setting: &pagemill_scenario::Setting| DescriptionEntry {
        name: setting.key.clone(),
        value: setting.value.clone(),
        source: setting.source.clone(),
    };
    DescriptionSection {
        title: format!("Machine {name}: {title}"),
        entries: settings.iter().map(entry).collect(),
    }
}

#[cfg(test)]
mod tests;
