//! What is seen in a figure, in a sentence.

use crate::ColumnKind;
use crate::units::human_number;

/// Curves that differ by less than this share of their values lie on top of each other.
const COINCIDENT: f64 = 0.005;

/// Names the lowest and the highest of the named `values`; empty where they do not differ.
pub(super) fn extremes<'a>(
    values: impl Iterator<Item = (&'a str, f64)> + Clone,
    kind: ColumnKind,
) -> String {
    let lowest = values.clone().min_by(|a, b| a.1.total_cmp(&b.1));
    let highest = values.max_by(|a, b| a.1.total_cmp(&b.1));
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if lowest.1 < highest.1 => {
            let shown =
                |(name, value): (&str, f64)| format!("{name} ({})", human_number(value, kind));
            format!("Lowest: {}. Highest: {}.", shown(lowest), shown(highest))
        }
        _ => String::new(),
    }
}

/// Names the series whose curves cannot be told apart.
pub(super) fn coincident(names: &[String], curves: &[Vec<Option<f64>>]) -> Vec<String> {
    let mut left: Vec<usize> = (0..curves.len()).collect();
    let mut notes = Vec::new();
    while let Some((&first, others)) = left.split_first() {
        let (same, rest): (Vec<usize>, Vec<usize>) = others
            .iter()
            .partition(|&&other| lie_together(&curves[first], &curves[other]));
        if !same.is_empty() {
            let all = std::iter::once(first).chain(same);
            let all: Vec<&str> = all.map(|index| names[index].as_str()).collect();
            notes.push(format!("The lines of {} coincide.", all.join(", ")));
        }
        left = rest;
    }
    notes
}

fn lie_together(one: &[Option<f64>], other: &[Option<f64>]) -> bool {
    let near = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= COINCIDENT * a.abs().max(b.abs()),
        (None, None) => true,
        _ => false,
    };
    one.iter().any(Option::is_some) && one.iter().zip(other).all(near)
}
