//! What the errors of all points together say.

use super::{error_column, shown_point};
use crate::{Column, ColumnKind, Fact, Row, Value};

pub(super) fn count(name: &str, count: usize, doc: &str) -> Fact {
    Fact::new(name, count, ColumnKind::Count, doc)
}

/// Median, geometric mean and worst of the errors of one metric.
pub(super) fn error_facts(rows: &[Row], shared: &[Column], metric: &Column) -> Vec<Fact> {
    let name = &metric.name;
    let mut errors: Vec<(f64, &Row)> = rows
        .iter()
        .filter_map(|row| Some((row.number(&error_column(name))?, row)))
        .collect();
    let fact = |suffix: &str, value: Value, kind, doc: &str| {
        Fact::new(format!("{name}_{suffix}"), value, kind, doc)
    };
    errors.sort_by(|(one, _), (other, _)| one.abs().total_cmp(&other.abs()));
    let Some((worst, at)) = errors.last() else {
        return Vec::new();
    };
    let worst = *worst;
    let sizes: Vec<f64> = errors.iter().map(|(error, _)| error.abs()).collect();
    let mut facts = vec![fact(
        "median_error",
        median(&sizes).into(),
        ColumnKind::Rate,
        "the middle one of the errors without their signs",
    )];
    if let Some(ratio) = geometric_mean(errors.iter().map(|(error, _)| 1.0 + error)) {
        facts.push(fact(
            "geometric_mean_ratio",
            ratio.into(),
            ColumnKind::Ratio,
            "first over second; errors of opposite signs cancel out",
        ));
    }
    let off = errors.iter().map(|(error, _)| {
        let ratio = 1.0 + error;
        ratio.max(1.0 / ratio)
    });
    if let Some(factor) = geometric_mean(off) {
        facts.push(fact(
            "geometric_mean_error",
            (factor - 1.0).into(),
            ColumnKind::Rate,
            "how far the larger of the two is above the smaller one",
        ));
    }
    facts.push(fact(
        "worst_error",
        worst.into(),
        ColumnKind::Rate,
        "the error farthest from zero",
    ));
    facts.push(fact(
        "worst_point",
        shown_point(at, shared).into(),
        ColumnKind::Text,
        "where it is",
    ));
    facts
}

/// The middle of sorted numbers; of two in the middle, their mean.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

/// `None` unless all numbers are above zero.
fn geometric_mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for number in numbers {
        if number <= 0.0 {
            return None;
        }
        sum += number.ln();
        count += 1;
    }
    let mean = (sum / f64::from(count)).exp();
    (count > 0 && mean.is_finite()).then_some(mean)
}
