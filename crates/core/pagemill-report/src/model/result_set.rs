use std::collections::BTreeSet;

use crate::{Column, ColumnKind, ColumnRole, PageMap, Plot, Row, Summary, Value};

/// Everything one run of one scenario has to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultSet {
    /// Name of the scenario: `ppm-fig4`.
    pub scenario: String,
    /// Its title, for people.
    pub title: String,
    /// The machine and the mode of its rows, for people: `h100-sxm (H100 SXM5), on-demand`. Empty where rows are of several.
    pub subject: String,
    /// What it shows and how to read it, in plain text; blank lines separate paragraphs. May be empty.
    pub about: String,
    /// Version of pagemill that made the results.
    pub pagemill_version: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Whether the numbers were measured on a real machine: another run gives others.
    pub measured: bool,
    /// What the columns mean. Kinds of columns without a description are guessed from their names.
    pub columns: Vec<Column>,
    /// One row per point of the sweep.
    pub rows: Vec<Row>,
    /// What all rows together say.
    pub summary: Summary,
    /// How to draw the rows.
    pub plots: Vec<Plot>,
    /// Where the pages of each point were, for the report; files for machines leave them out.
    pub maps: Vec<PageMap>,
    /// Why points were slow, for the report; files for machines leave them out.
    pub findings: Vec<Finding>,
    /// The modeled machine and the scenario's settings, for people and for later reference.
    pub description: Vec<DescriptionSection>,
}

/// A reason for the time of a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The point.
    pub point: String,
    /// What took the time, with figures.
    pub reason: String,
    /// What to try.
    pub hint: String,
}

/// One part of the description: the machine, the workload, the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescriptionSection {
    /// Heading.
    pub title: String,
    /// Its settings.
    pub entries: Vec<DescriptionEntry>,
}

/// One setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescriptionEntry {
    /// Dotted key: `link.bandwidth`.
    pub name: String,
    /// Value as the file says it: `16 GB/s`.
    pub value: String,
    /// Where the value comes from: a document, a measurement, or `estimate`. May be empty.
    pub source: String,
}

/// Why a result set cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResultSetError {
    /// Two columns share a name.
    #[error(
        "column `{name}` is described twice; a name must mean one thing in all parameters and metrics"
    )]
    DuplicateColumn {
        /// The shared name.
        name: String,
    },
    /// One row gives a name two values.
    #[error(
        "row {row} holds `{name}` twice; rename one of the parameter and the metric that share it"
    )]
    DuplicateValue {
        /// Index of the row, from 0.
        row: usize,
        /// The shared name.
        name: String,
    },
    /// Two facts share a name.
    #[error("summary fact `{name}` is given twice; a name must mean one thing")]
    DuplicateFact {
        /// The shared name.
        name: String,
    },
    /// A plot asks for a column that no row has.
    #[error("plot `{plot}` needs column `{name}`, which no row has; columns are {known}")]
    UnknownPlotColumn {
        /// Identifier of the plot.
        plot: String,
        /// The missing name.
        name: String,
        /// The names there are.
        known: String,
    },
}

impl ResultSet {
    /// The rows whose column `name` is `value`, and of the columns those that are `shown`.
    pub fn part(&self, name: &str, value: &str, shown: &[&str]) -> Self {
        let mut part = self.clone();
        let value = Value::from(value);
        part.rows.retain(|row| row.get(name) == Some(&value));
        part.columns
            .retain(|column| shown.contains(&column.name.as_str()));
        let is_shown = |(name, _): &(String, Value)| shown.contains(&name.as_str());
        for row in &mut part.rows {
            row.parameters.retain(is_shown);
            row.metrics.retain(is_shown);
        }
        part
    }

    /// All columns that are described or used: parameters first, each in order of first mention.
    pub fn all_columns(&self) -> Vec<Column> {
        let mut columns = self.columns.clone();
        let mut seen: BTreeSet<String> = columns.iter().map(|c| c.name.clone()).collect();
        for row in &self.rows {
            let parameters = row
                .parameters
                .iter()
                .map(|entry| (ColumnRole::Parameter, entry));
            let metrics = row.metrics.iter().map(|entry| (ColumnRole::Metric, entry));
            for (role, (name, value)) in parameters.chain(metrics) {
                if seen.insert(name.clone()) {
                    columns.push(undescribed(name, role, value));
                }
            }
        }
        columns.sort_by_key(|column| column.role == ColumnRole::Metric);
        columns
    }

    /// Refuses results whose names are ambiguous or whose plots cannot be drawn.
    ///
    /// # Errors
    /// The first duplicate or unknown name.
    pub fn check(&self) -> Result<(), ResultSetError> {
        if let Some(name) = first_duplicate(self.columns.iter().map(|c| c.name.as_str())) {
            return Err(ResultSetError::DuplicateColumn { name });
        }
        for (index, row) in self.rows.iter().enumerate() {
            if let Some(name) = first_duplicate(row.entries().map(|(name, _)| name)) {
                return Err(ResultSetError::DuplicateValue { row: index, name });
            }
        }
        let facts = self.summary.facts.iter().map(|fact| fact.name.as_str());
        if let Some(name) = first_duplicate(facts) {
            return Err(ResultSetError::DuplicateFact { name });
        }
        let columns = self.all_columns();
        for plot in &self.plots {
            if let Some(name) = plot
                .column_names()
                .into_iter()
                .find(|name| columns.iter().all(|c| c.name != *name))
            {
                return Err(ResultSetError::UnknownPlotColumn {
                    plot: plot.id.clone(),
                    name: name.to_owned(),
                    known: columns
                        .iter()
                        .map(|c| c.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                });
            }
        }
        Ok(())
    }
}

fn undescribed(name: &str, role: ColumnRole, value: &Value) -> Column {
    let kind = ColumnKind::guess(name, Some(value));
    Column {
        name: name.to_owned(),
        role,
        kind,
        doc: String::new(),
    }
}

fn first_duplicate<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .find(|name| !seen.insert(*name))
        .map(str::to_owned)
}
