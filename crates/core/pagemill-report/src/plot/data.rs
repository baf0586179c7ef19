//! Which numbers a figure shows: rows grouped by its keys.

use std::collections::BTreeMap;

use crate::units::{human, tick};
use crate::{Column, ColumnKind, Plot, Published, ResultSet, Row, Value};

/// The rows of one plot and what its columns mean.
pub(super) struct Source<'a> {
    columns: Vec<Column>,
    rows: Vec<&'a Row>,
}

/// One of the values of a key column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    /// As people read it.
    pub label: String,
    /// As the rows have it.
    pub value: Value,
}

impl Key {
    fn new(value: &Value, kind: ColumnKind) -> Self {
        let label = match value.as_f64() {
            Some(number) => tick(number, kind),
            None => human(value, kind),
        };
        Self {
            label,
            value: value.clone(),
        }
    }
}

/// All rows that share their keys, averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Average {
    sum: f64,
    /// How many rows there are.
    pub count: u32,
}

impl Average {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// Their mean; none without rows.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

/// A metric over two keys.
pub(super) struct Grid {
    /// The values of the first key.
    pub xs: Vec<Key>,
    /// The values of the second key.
    pub series: Vec<Key>,
    cells: Vec<Average>,
}

impl Grid {
    /// The mean at a pair of keys, if any row has it.
    pub fn at(&self, x: usize, series: usize) -> Option<f64> {
        self.cells[x * self.series.len() + series].mean()
    }

    /// The means that there are.
    pub fn values(&self) -> Vec<f64> {
        self.cells.iter().filter_map(Average::mean).collect()
    }

    /// Whether no pair of keys has a value.
    pub fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.count == 0)
    }

    /// The most rows that one mean is made of.
    pub fn rows_per_cell(&self) -> u32 {
        self.cells.iter().map(|cell| cell.count).max().unwrap_or(0)
    }

    /// The published values of a panel with their places in both keys; those that are of no x are at `means`.
    pub fn places_of(
        &self,
        published: &[Published],
        panel: Option<&Value>,
        means: Option<usize>,
    ) -> Vec<(usize, usize, f64)> {
        let at = |keys: &[Key], value: &Value| keys.iter().position(|key| key.value == *value);
        let place = |item: &Published| {
            let x = item.x.as_ref().map_or(means, |x| at(&self.xs, x))?;
            let series = at(&self.series, &item.series)?;
            (item.panel.as_ref() == panel).then_some((x, series, item.value))
        };
        published.iter().filter_map(place).collect()
    }
}

/// The label of a panel, its value of the column that makes panels, and its rows.
pub(super) type Panel<'a> = (Option<String>, Option<Value>, Source<'a>);

impl<'a> Source<'a> {
    /// The rows that `plot` shows.
    pub fn new(set: &'a ResultSet, plot: &Plot) -> Self {
        let is_shown = |row: &&Row| {
            plot.only
                .iter()
                .all(|(name, value)| row.get(name) == Some(value))
        };
        Self {
            columns: set.all_columns(),
            rows: set.rows.iter().filter(is_shown).collect(),
        }
    }

    /// How many rows have no value in one of `columns`, or no number in one of `metrics`, said as notes.
    pub fn left_out(&self, columns: &[&str], metrics: &[&str]) -> Vec<String> {
        let note = |count: usize, name: &str| {
            let (total, verb) = (self.rows.len(), if count == 1 { "has" } else { "have" });
            let heading = self.heading(name);
            (count > 0)
                .then(|| format!("Left out: {count} of {total} rows, which {verb} no {heading}."))
        };
        let without =
            |is_there: &dyn Fn(&Row) -> bool| self.rows.iter().filter(|row| !is_there(row)).count();
        let columns = columns
            .iter()
            .filter_map(|name| note(without(&|row| row.get(name).is_some()), name));
        let metrics = metrics
            .iter()
            .filter_map(|name| note(without(&|row| row.number(name).is_some()), name));
        columns.chain(metrics).collect()
    }

    /// One source for each value of `column`, with its label; the last for rows that have none.
    pub fn panels(&self, column: Option<&str>) -> Vec<Panel<'a>> {
        let Some(name) = column else {
            let whole = Source {
                columns: self.columns.clone(),
                rows: self.rows.clone(),
            };
            return vec![(None, None, whole)];
        };
        let heading = self.heading(name);
        let panel = |label: String, value: Option<&Value>| {
            let rows = self.rows.iter().copied();
            let source = Source {
                columns: self.columns.clone(),
                rows: rows.filter(|row| row.get(name) == value).collect(),
            };
            (Some(label), value.cloned(), source)
        };
        let mut panels: Vec<_> = self
            .keys(name)
            .iter()
            .map(|key| panel(format!("{heading} = {}", key.label), Some(&key.value)))
            .collect();
        if self.rows.iter().any(|row| row.get(name).is_none()) {
            panels.push(panel(format!("no {heading}"), None));
        }
        panels
    }

    /// What the numbers of `column` count.
    pub fn kind(&self, column: &str) -> ColumnKind {
        self.column(column)
            .map_or(ColumnKind::Text, |column| column.kind)
    }

    /// The name of `column` for people.
    pub fn heading(&self, column: &str) -> String {
        self.column(column)
            .map_or_else(|| column.to_owned(), crate::units::words)
    }

    /// The name of `column`, beside that of the value `base` of a key where it is divided by it: `time / time of a`.
    pub fn heading_over(
        &self,
        column: &str,
        base: Option<&Value>,
        word: &str,
        keys: &[Key],
    ) -> String {
        let heading = self.heading(column);
        let Some(base) = base else { return heading };
        let key = keys.iter().find(|key| key.value == *base);
        let label = key.map_or_else(|| base.to_string(), |key| key.label.clone());
        format!("{heading} / {heading} {word} {label}")
    }

    /// The values of `column` in order of first appearance.
    pub fn keys(&self, column: &str) -> Vec<Key> {
        let kind = self.kind(column);
        let mut seen = std::collections::BTreeSet::new();
        let mut keys = Vec::new();
        for value in self.rows.iter().filter_map(|row| row.get(column)) {
            if seen.insert(identity(value)) {
                keys.push(Key::new(value, kind));
            }
        }
        keys
    }

    /// The metric `y` over the given values of the columns `x` and `series`.
    pub fn grid(&self, x: (&str, Vec<Key>), series: (&str, Vec<Key>), y: &str) -> Grid {
        let index = |keys: &[Key]| -> BTreeMap<String, usize> {
            keys.iter()
                .enumerate()
                .map(|(index, key)| (identity(&key.value), index))
                .collect()
        };
        let (x_index, series_index) = (index(&x.1), index(&series.1));
        let mut cells = vec![Average::default(); x.1.len() * series.1.len()];
        for row in &self.rows {
            let find = |name: &str, index: &BTreeMap<String, usize>| {
                row.get(name)
                    .and_then(|value| index.get(&identity(value)).copied())
            };
            let place = find(x.0, &x_index).zip(find(series.0, &series_index));
            if let (Some((x, s)), Some(value)) = (place, row.number(y)) {
                cells[x * series_index.len() + s].add(value);
            }
        }
        Grid {
            xs: x.1,
            series: series.1,
            cells,
        }
    }

    /// The mean of the metric `y` at each of `keys` of the column `x`.
    pub fn averages(&self, x: &str, keys: &[Key], y: &str) -> Vec<Average> {
        keys.iter()
            .map(|key| {
                let mut average = Average::default();
                let rows = self
                    .rows
                    .iter()
                    .filter(|row| row.get(x) == Some(&key.value));
                rows.filter_map(|row| row.number(y))
                    .for_each(|value| average.add(value));
                average
            })
            .collect()
    }

    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Distinguishes values, also those that look alike as words: `1` and `"1"`.
fn identity(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("t{text}"),
        Value::Bool(flag) => format!("b{flag}"),
        number => format!("n{number}"),
    }
}
