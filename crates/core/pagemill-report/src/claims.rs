//! Published statements, evaluated on the rows of a run.
//!
//! A claim names a metric, the rows it is about, and what would make it true. It knows no program and no machine.

use std::collections::BTreeSet;

use crate::units::human;
use crate::{Claim, ColumnKind, Mean, ResultSet, Row, Value};

/// A statement and how to check it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimSpec {
    /// Stable name for scripts: `whole-page-slowdown`.
    pub id: String,
    /// The statement in words.
    pub text: String,
    /// The published figure, if there is one.
    pub published: Option<f64>,
    /// Source or condition; may be empty.
    pub note: String,
    /// What to measure.
    pub measure: Measure,
    /// When the statement holds.
    pub expect: Expectation,
}

impl ClaimSpec {
    /// Whether what is measured is one number, rather than an order of several.
    pub fn measure_is_one_figure(&self) -> bool {
        matches!(self.expect, Expectation::Between { .. })
    }
}

/// Rows that hold all of these values.
pub type Selection = Vec<(String, Value)>;

/// One figure of the rows: a metric, perhaps over another one, perhaps against other rows, reduced over a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The metric.
    pub metric: String,
    /// A metric of the same row to divide by: `touched_bytes` over `migrated_bytes`.
    pub per: Option<String>,
    /// The rows it is about.
    pub of: Selection,
    /// The rows to divide by; they meet those of `of` at equal values of `across`.
    pub to: Option<Selection>,
    /// Makes the figure a ratio of two means instead of a mean of ratios: both sides are divided by these rows, at equal
    /// values of `across`, each side is reduced to one figure, and then `of` is divided by `to`.
    pub normalize_to: Option<Selection>,
    /// The column whose values are reduced to one figure.
    pub across: String,
    /// The values of `across` that count; all when empty.
    pub members: Vec<Value>,
    /// How they become one figure.
    pub reduce: Reduce,
}

/// How several figures become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduce {
    /// Sum over count.
    #[default]
    Arithmetic,
    /// Root of the product; needs positive figures.
    Geometric,
    /// The smallest.
    Minimum,
    /// The largest.
    Maximum,
}

impl Reduce {
    /// The names in scenario files.
    pub const NAMES: [&str; 4] = ["arithmetic", "geometric", "minimum", "maximum"];

    /// The reduction called `name`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "arithmetic" => Some(Self::Arithmetic),
            "geometric" => Some(Self::Geometric),
            "minimum" => Some(Self::Minimum),
            "maximum" => Some(Self::Maximum),
            _ => None,
        }
    }

    fn apply(self, figures: &[f64]) -> Option<f64> {
        match self {
            Self::Arithmetic => Mean::Arithmetic.of(figures),
            Self::Geometric => Mean::Geometric.of(figures),
            Self::Minimum => figures.iter().copied().reduce(f64::min),
            Self::Maximum => figures.iter().copied().reduce(f64::max),
        }
    }
}

/// When a statement holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// The figure lies in these bounds, ends included.
    Between {
        /// Lower bound.
        at_least: Option<f64>,
        /// Upper bound.
        at_most: Option<f64>,
    },
    /// These values of `across` have the largest figures.
    Highest(Vec<Value>),
    /// These values of `across` have the smallest figures.
    Lowest(Vec<Value>),
}

/// What the rows of `set` say about `spec`.
///
/// `planned` has, for each row of the scenario as it is written, the values of its swept columns. A claim speaks of those that its
/// selections match. Where one of them is missing, the claim is not judged and the note names it: of several machines, the one that
/// ran alone is always the first.
pub fn evaluate(spec: &ClaimSpec, set: &ResultSet, planned: &[Selection]) -> Claim {
    let kind = kind_of(&spec.measure, set);
    let judged = verdict(spec, &set.rows, kind).and_then(|verdict| {
        all_there(&spec.measure, &set.rows, planned)?;
        Ok(verdict)
    });
    let (measured, holds, gap) = judged.unwrap_or_else(|gap| (None, None, gap));
    let note = [spec.note.as_str(), gap.as_str()]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>();
    Claim {
        id: spec.id.clone(),
        text: spec.text.clone(),
        published: spec.published.map(Value::Float),
        measured,
        kind,
        holds,
        note: note.join("; "),
    }
}

/// Whether the rows have all that `planned` has of what `measure` is about; an error names the first that is missing.
fn all_there(measure: &Measure, rows: &[Row], planned: &[Selection]) -> Result<(), String> {
    let sides = [
        Some(&measure.of),
        measure.to.as_ref(),
        measure.normalize_to.as_ref(),
    ];
    let of = |plan: &Selection, column: &str| {
        let pair = plan.iter().find(|(name, _)| name == column);
        pair.map(|(_, value)| value.clone())
    };
    let fits = |plan: &Selection, side: &Selection| {
        side.iter()
            .all(|(name, value)| of(plan, name).is_none_or(|planned| planned == *value))
    };
    let counts = |plan: &Selection| {
        measure.members.is_empty()
            || of(plan, &measure.across).is_none_or(|key| measure.members.contains(&key))
    };
    let needed = planned
        .iter()
        .filter(|plan| counts(plan) && sides.iter().flatten().any(|side| fits(plan, side)));
    let missing: Vec<&Selection> = needed
        .filter(|plan| !rows.iter().any(|row| matches(row, plan)))
        .collect();
    let Some(first) = missing.first() else {
        return Ok(());
    };
    let named: Vec<String> = first
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let others = match missing.len() {
        1 => String::new(),
        count => format!(" and {} more that the claim speaks of", count - 1),
    };
    Err(format!(
        "not judged: this run has no row for {}{others}",
        named.join(", ")
    ))
}

fn kind_of(measure: &Measure, set: &ResultSet) -> ColumnKind {
    if measure.to.is_some() {
        return ColumnKind::Ratio;
    }
    if measure.per.is_some() {
        return ColumnKind::Rate;
    }
    let columns = set.all_columns();
    columns
        .iter()
        .find(|column| column.name == measure.metric)
        .map_or(ColumnKind::Number, |column| column.kind)
}

/// The measured value, whether the claim holds, and a remark that may be empty.
type Verdict = (Option<Value>, Option<bool>, String);

/// Judges `spec` on `rows`; an error says which row is missing.
fn verdict(spec: &ClaimSpec, rows: &[Row], kind: ColumnKind) -> Result<Verdict, String> {
    let measure = &spec.measure;
    match &spec.expect {
        Expectation::Between { at_least, at_most } => {
            let figure = one_figure(measure, rows)?;
            let holds = at_least.is_none_or(|bound| figure >= bound)
                && at_most.is_none_or(|bound| figure <= bound);
            Ok((Some(Value::Float(figure)), Some(holds), String::new()))
        }
        Expectation::Highest(members) => {
            let figures = figures(measure, rows)?;
            Ok(ranked(&figures, members, kind, |a, b| b.total_cmp(a)))
        }
        Expectation::Lowest(members) => {
            let figures = figures(measure, rows)?;
            Ok(ranked(&figures, members, kind, |a, b| a.total_cmp(b)))
        }
    }
}

/// All values of `across` as one figure: a mean of ratios, or a ratio of means.
fn one_figure(measure: &Measure, rows: &[Row]) -> Result<f64, String> {
    let mean = |measure: &Measure| {
        let figures: Vec<f64> = figures(measure, rows)?
            .into_iter()
            .map(|(_, figure)| figure)
            .collect();
        let mean = measure.reduce.apply(&figures);
        mean.ok_or_else(|| "not judged: no positive figures to average".to_owned())
    };
    let (Some(base), Some(to)) = (&measure.normalize_to, &measure.to) else {
        return mean(measure);
    };
    let normalized = |side: &Selection| Measure {
        of: side.clone(),
        to: Some(base.clone()),
        normalize_to: None,
        ..measure.clone()
    };
    Ok(mean(&normalized(&measure.of))? / mean(&normalized(to))?)
}

/// Whether the first figures in `order` are those of `members`; the measured value names who is first.
fn ranked(
    figures: &[(Value, f64)],
    members: &[Value],
    kind: ColumnKind,
    order: impl Fn(&f64, &f64) -> std::cmp::Ordering,
) -> Verdict {
    let mut sorted: Vec<&(Value, f64)> = figures.iter().collect();
    sorted.sort_by(|a, b| order(&a.1, &b.1));
    let first = &sorted[..members.len().min(sorted.len())];
    let holds = members
        .iter()
        .all(|member| first.iter().any(|(value, _)| value == member));
    let names: Vec<String> = first
        .iter()
        .map(|(value, figure)| format!("{value} ({})", human(&Value::Float(*figure), kind)))
        .collect();
    (
        Some(Value::Text(names.join(", "))),
        Some(holds),
        String::new(),
    )
}

/// The figure of each value of `across`, in order of first appearance.
fn figures(measure: &Measure, rows: &[Row]) -> Result<Vec<(Value, f64)>, String> {
    let counts = |value: &Value| measure.members.is_empty() || measure.members.contains(value);
    let mut seen = BTreeSet::new();
    let mut figures = Vec::new();
    for row in rows {
        let Some(key) = row.get(&measure.across).filter(|key| counts(key)) else {
            continue;
        };
        if matches(row, &measure.of) && seen.insert(key.to_string()) {
            figures.push((key.clone(), figure(measure, rows, key)?));
        }
    }
    let missing = measure
        .members
        .iter()
        .find(|member| !seen.contains(&member.to_string()));
    match missing {
        Some(member) => Err(format!(
            "not judged: this run has no row for {} = {member}",
            measure.across
        )),
        None if figures.is_empty() => {
            Err("not judged: this run has none of the rows it is about".to_owned())
        }
        None => Ok(figures),
    }
}

fn figure(measure: &Measure, rows: &[Row], key: &Value) -> Result<f64, String> {
    let numerator = average(measure, rows, &measure.of, key)?;
    match &measure.to {
        None => Ok(numerator),
        Some(to) => match average(measure, rows, to, key)? {
            0.0 => Err(format!(
                "not judged: {} of {key} is zero in the rows to compare with",
                measure.metric
            )),
            denominator => Ok(numerator / denominator),
        },
    }
}

/// The mean over the rows of `selection` that hold `key`.
fn average(
    measure: &Measure,
    rows: &[Row],
    selection: &Selection,
    key: &Value,
) -> Result<f64, String> {
    let is_meant = |row: &&Row| row.get(&measure.across) == Some(key) && matches(row, selection);
    let value = |row: &Row| match &measure.per {
        None => row.number(&measure.metric),
        Some(per) => match row.number(per) {
            Some(0.0) | None => None,
            Some(per) => row.number(&measure.metric).map(|value| value / per),
        },
    };
    let values: Vec<f64> = rows.iter().filter(is_meant).filter_map(value).collect();
    Mean::Arithmetic.of(&values).ok_or_else(|| {
        format!(
            "not judged: no {} for {} = {key}",
            measure.metric, measure.across
        )
    })
}

fn matches(row: &Row, selection: &Selection) -> bool {
    selection
        .iter()
        .all(|(name, value)| row.get(name) == Some(value))
}

#[cfg(test)]
mod tests;
