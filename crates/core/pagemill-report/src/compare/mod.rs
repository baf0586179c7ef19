//! Two result sets side by side: a simulation and a measurement, or two versions of a model.
//!
//! Rows meet where all parameters that both sets have are equal. Nothing is known about what the columns mean.

mod error;
mod facts;

use std::collections::BTreeMap;

use crate::units::human;
use crate::{Column, ColumnKind, ColumnRole, ResultSet, Row, Summary, Value};
use facts::{count, error_facts};

pub use error::CompareError;

/// What is compared, and by what rows meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Metrics to compare. When empty, the first time or transfer rate that both sets have, else their first number.
    pub metrics: Vec<String>,
    /// Parameters that may differ between rows that meet.
    pub ignored: Vec<String>,
}

/// What two sets have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// A row for each point of both: the shared parameters, and for each metric `first_..`, `second_..` and `.._error`.
    /// Facts: how many points met, and median, geometric mean and worst of the errors.
    pub set: ResultSet,
    /// Rows of the first set that no row of the second meets.
    pub only_first: usize,
    /// Rows of the second set that no row of the first meets.
    pub only_second: usize,
}

/// A set and what to call it.
struct Side<'a> {
    name: &'a str,
    set: &'a ResultSet,
    columns: Vec<Column>,
}

impl<'a> Side<'a> {
    fn new(name: &'a str, set: &'a ResultSet) -> Result<Self, CompareError> {
        if set.rows.is_empty() {
            return Err(CompareError::NoRows {
                which: name.to_owned(),
            });
        }
        Ok(Self {
            name,
            set,
            columns: set.all_columns(),
        })
    }

    fn of_role(&self, role: ColumnRole) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(move |column| column.role == role)
    }

    fn parameters(&self) -> String {
        listed(self.of_role(ColumnRole::Parameter))
    }

    fn has_number(&self, name: &str) -> bool {
        self.set.rows.iter().any(|row| row.number(name).is_some())
    }

    /// Rows by their point.
    fn points(&self, shared: &[Column]) -> Result<BTreeMap<Vec<String>, usize>, CompareError> {
        let mut points = BTreeMap::new();
        for (index, row) in self.set.rows.iter().enumerate() {
            if let Some(earlier) = points.insert(point(row, shared), index) {
                return Err(CompareError::SamePoint {
                    which: self.name.to_owned(),
                    rows: format!("{earlier} and {index}"),
                    point: shown_point(row, shared),
                    difference: difference(&self.set.rows[earlier], row, shared),
                });
            }
        }
        Ok(points)
    }
}

/// Compares `first` with `second`; the names are for messages and titles.
///
/// An error is the first value over the second, less one: 0.25 is a quarter too much.
///
/// # Errors
/// What keeps them from being compared.
pub fn compare(
    (first_name, first): (&str, &ResultSet),
    (second_name, second): (&str, &ResultSet),
    terms: &Terms,
) -> Result<Comparison, CompareError> {
    let first = Side::new(first_name, first)?;
    let second = Side::new(second_name, second)?;
    let shared = shared_parameters(&first, &second, terms)?;
    let metrics = metrics(&first, &second, terms)?;
    let first_points = first.points(&shared)?;
    let second_points = second.points(&shared)?;
    let mut rows = Vec::new();
    // In the order of the first set.
    for row in &first.set.rows {
        if let Some(index) = second_points.get(&point(row, &shared)) {
            rows.push(joined(row, &second.set.rows[*index], &shared, &metrics));
        }
    }
    if rows.is_empty() {
        let reason = apart(&first, &second, &shared);
        return Err(CompareError::NothingMeets { reason });
    }
    let only_first = first_points.len() - rows.len();
    let only_second = second_points.len() - rows.len();
    let mut facts = vec![
        count("points_compared", rows.len(), "points in both"),
        count("points_only_in_first", only_first, "left out"),
        count("points_only_in_second", only_second, "left out"),
    ];
    for metric in &metrics {
        facts.extend(error_facts(&rows, &shared, metric));
    }
    Ok(Comparison {
        set: ResultSet {
            scenario: "compare".to_owned(),
            title: format!("{first_name} (first) beside {second_name} (second)"),
            about: format!(
                "An error is the first value over the second, less one. First: {}. Second: {}.",
                first.set.title, second.set.title
            ),
            pagemill_version: first.set.pagemill_version.clone(),
            seed: first.set.seed,
            measured: first.set.measured || second.set.measured,
            columns: columns(&shared, &metrics),
            rows,
            summary: Summary {
                facts,
                ..Summary::default()
            },
            ..ResultSet::default()
        },
        only_first,
        only_second,
    })
}

fn shared_parameters(
    first: &Side,
    second: &Side,
    terms: &Terms,
) -> Result<Vec<Column>, CompareError> {
    let is_in_second = |column: &&Column| {
        second
            .of_role(ColumnRole::Parameter)
            .any(|other| other.name == column.name)
    };
    let mut shared: Vec<Column> = first
        .of_role(ColumnRole::Parameter)
        .filter(is_in_second)
        .cloned()
        .collect();
    for name in &terms.ignored {
        let known = first.columns.iter().chain(&second.columns);
        if !known
            .filter(|column| column.role == ColumnRole::Parameter)
            .any(|column| column.name == *name)
        {
            return Err(CompareError::UnknownParameter {
                name: name.clone(),
                known: listed(shared.iter()),
            });
        }
    }
    shared.retain(|column| !terms.ignored.contains(&column.name));
    if shared.is_empty() {
        return Err(CompareError::NothingShared {
            first_name: first.name.to_owned(),
            first: first.parameters(),
            second_name: second.name.to_owned(),
            second: second.parameters(),
        });
    }
    Ok(shared)
}

fn metrics(first: &Side, second: &Side, terms: &Terms) -> Result<Vec<Column>, CompareError> {
    let known: Vec<Column> = first
        .of_role(ColumnRole::Metric)
        .filter(|column| first.has_number(&column.name) && second.has_number(&column.name))
        .filter(|column| {
            second
                .of_role(ColumnRole::Metric)
                .any(|other| other.name == column.name)
        })
        .cloned()
        .collect();
    let speeds = [ColumnKind::TimeNs, ColumnKind::BytesPerSecond];
    let default = known
        .iter()
        .find(|column| speeds.contains(&column.kind))
        .or(known.first());
    let Some(default) = default else {
        return Err(CompareError::NoMetric {
            first_name: first.name.to_owned(),
            second_name: second.name.to_owned(),
        });
    };
    if terms.metrics.is_empty() {
        return Ok(vec![default.clone()]);
    }
    let mut asked: Vec<Column> = Vec::new();
    for name in &terms.metrics {
        let column = known.iter().find(|column| column.name == *name);
        let column = column.ok_or_else(|| CompareError::UnknownMetric {
            name: name.clone(),
            known: listed(known.iter()),
        })?;
        if !asked.contains(column) {
            asked.push(column.clone());
        }
    }
    Ok(asked)
}

fn listed<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

/// The values of `shared`, in a form in which equal numbers are equal texts.
fn point(row: &Row, shared: &[Column]) -> Vec<String> {
    shared
        .iter()
        .map(|column| row.get(&column.name).map_or_else(String::new, canonical))
        .collect()
}

fn canonical(value: &Value) -> String {
    match value {
        // Beyond 2^53 a float is no exact count.
        Value::Float(number)
            if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 =>
        {
            format!("number {}", *number as i64)
        }
        Value::Float(_) | Value::Unsigned(_) | Value::Signed(_) => format!("number {value}"),
        Value::Text(_) | Value::Bool(_) => format!("word {value}"),
    }
}

fn shown_point(row: &Row, shared: &[Column]) -> String {
    let values = shared.iter().filter_map(|column| {
        let value = row.get(&column.name)?;
        Some(format!("{} = {}", column.name, human(value, column.kind)))
    });
    values.collect::<Vec<_>>().join(", ")
}

/// The parameters, none of `shared`, in which two rows differ.
fn difference(row: &Row, other: &Row, shared: &[Column]) -> String {
    let is_shared = |name: &str| shared.iter().any(|column| column.name == name);
    let names = row
        .parameters
        .iter()
        .filter(|(name, value)| !is_shared(name) && other.get(name) != Some(value))
        .map(|(name, _)| name.as_str());
    match names.collect::<Vec<_>>().as_slice() {
        [] => "nothing".to_owned(),
        names => format!("only {}", names.join(", ")),
    }
}

/// Why no row meets another: a parameter of which no value is in both sets.
fn apart(first: &Side, second: &Side, shared: &[Column]) -> String {
    let values = |side: &Side, column: &Column| -> Vec<String> {
        let mut seen = Vec::new();
        for row in &side.set.rows {
            let value = point(row, std::slice::from_ref(column)).concat();
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
        seen
    };
    let without_common = shared.iter().find(|column| {
        let others = values(second, column);
        values(first, column)
            .iter()
            .all(|value| !others.contains(value))
    });
    let Some(column) = without_common else {
        return "every parameter has common values, but no row has all of them".to_owned();
    };
    let example = |side: &Side| {
        let value = side.set.rows[0].get(&column.name);
        value.map_or_else(|| "nothing".to_owned(), |value| human(value, column.kind))
    };
    format!(
        "`{name}` is {} in {}, for example, and {} in {}; where that may differ, say --ignore {name}",
        example(first),
        first.name,
        example(second),
        second.name,
        name = column.name
    )
}

fn first_column(metric: &str) -> String {
    format!("first_{metric}")
}

fn second_column(metric: &str) -> String {
    format!("second_{metric}")
}

fn error_column(metric: &str) -> String {
    format!("{metric}_error")
}

fn joined(first: &Row, second: &Row, shared: &[Column], metrics: &[Column]) -> Row {
    let mut row = Row::new();
    for column in shared {
        if let Some(value) = first.get(&column.name) {
            row = row.parameter(&column.name, value.clone());
        }
    }
    for Column { name, .. } in metrics {
        if let Some(value) = first.get(name) {
            row = row.metric(first_column(name), value.clone());
        }
        if let Some(value) = second.get(name) {
            row = row.metric(second_column(name), value.clone());
        }
        if let (Some(first), Some(second)) = (first.number(name), second.number(name))
            && let Some(error) = relative_error(first, second)
        {
            row = row.metric(error_column(name), error);
        }
    }
    row
}

/// `None` where nothing can be said: the second is zero and the first is not.
fn relative_error(first: f64, second: f64) -> Option<f64> {
    if first == second {
        return Some(0.0);
    }
    let error = first / second - 1.0;
    (second != 0.0 && error.is_finite()).then_some(error)
}

fn columns(shared: &[Column], metrics: &[Column]) -> Vec<Column> {
    let mut columns = shared.to_vec();
    for metric in metrics {
        let Column {
            name, kind, doc, ..
        } = metric;
        columns.push(Column::metric(first_column(name), *kind, doc));
        columns.push(Column::metric(second_column(name), *kind, doc));
        let doc = format!("{name} of the first over that of the second, less one");
        columns.push(Column::metric(error_column(name), ColumnKind::Rate, doc));
    }
    columns
}
