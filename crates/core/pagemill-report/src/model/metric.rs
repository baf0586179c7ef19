//! A metric, declared once: the column, what it counts, and how to get its value.

use super::{Column, ColumnKind, Row, Value};

/// A column: its name, what kind of number it holds, what that counts.
pub type ColumnSpec = (&'static str, ColumnKind, &'static str);

/// A column of what was measured as a `T`.
pub struct Metric<T> {
    column: ColumnSpec,
    value: Source<T>,
}

enum Source<T> {
    Always(fn(&T) -> Value),
    Sometimes(fn(&T) -> Option<Value>),
}

impl<T> Metric<T> {
    /// A column that every row has.
    pub const fn new(
        name: &'static str,
        kind: ColumnKind,
        doc: &'static str,
        value: fn(&T) -> Value,
    ) -> Self {
        let value = Source::Always(value);
        Self {
            column: (name, kind, doc),
            value,
        }
    }

    /// A column that is empty where there is nothing to say.
    pub const fn sometimes(
        name: &'static str,
        kind: ColumnKind,
        doc: &'static str,
        value: fn(&T) -> Option<Value>,
    ) -> Self {
        let value = Source::Sometimes(value);
        Self {
            column: (name, kind, doc),
            value,
        }
    }

    fn value_of(&self, measured: &T) -> Option<Value> {
        match self.value {
            Source::Always(value) => Some(value(measured)),
            Source::Sometimes(value) => value(measured),
        }
    }
}

/// The row with the values of `metrics`.
pub fn add<T>(row: Row, metrics: &[Metric<T>], measured: &T) -> Row {
    add_prefixed("", row, metrics, measured)
}

/// The row with the values of `metrics`, in columns whose names begin with `prefix`.
pub fn add_prefixed<T>(prefix: &str, row: Row, metrics: &[Metric<T>], measured: &T) -> Row {
    metrics
        .iter()
        .filter_map(|metric| Some((metric.column.0, metric.value_of(measured)?)))
        .fold(row, |row, (name, value)| {
            row.metric(format!("{prefix}{name}"), value)
        })
}

/// The columns of `metrics`.
pub fn columns<T>(metrics: &[Metric<T>]) -> Vec<Column> {
    let columns = metrics.iter().map(|metric| metric.column);
    columns
        .map(|(name, kind, doc)| Column::metric(name, kind, doc))
        .collect()
}

/// The columns of [`add_prefixed`].
pub fn prefixed_columns<T>(prefix: &str, metrics: &[Metric<T>]) -> Vec<Column> {
    let columns = metrics.iter().map(|metric| metric.column);
    columns
        .map(|(name, kind, _)| {
            Column::metric(format!("{prefix}{name}"), kind, format!("as {name}"))
        })
        .collect()
}

/// A number that is left out where it is 0.
pub fn unless_zero(number: u64) -> Option<Value> {
    (number > 0).then(|| number.into())
}
