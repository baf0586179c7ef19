//! Names of points by what differs between them.

use std::collections::BTreeSet;

/// A name for each point: the values of the first keys that tell more of them apart, numbers with the last word of their key.
/// A point is a list of keys with their values.
pub fn distinguish(points: &[Vec<(String, String)>]) -> Vec<String> {
    let mut told: Vec<Vec<String>> = vec![Vec::new(); points.len()];
    let known = points.iter().flatten();
    let mut seen = BTreeSet::new();
    for (key, _) in known.filter(|(key, _)| seen.insert(key)) {
        let more = points.iter().zip(&told).map(|(point, words)| {
            let own = point.iter().find(|(name, _)| name == key);
            let own = own.map(|(_, value)| word(key, value));
            words.iter().cloned().chain(own).collect()
        });
        let more: Vec<Vec<String>> = more.collect();
        if count(&more) > count(&told) {
            told = more;
        }
    }
    told.iter().map(|words| words.join(", ")).collect()
}

fn count(names: &[Vec<String>]) -> usize {
    names.iter().collect::<BTreeSet<_>>().len()
}

fn word(key: &str, value: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or(key).replace('_', " ");
    match value.starts_with(|c: char| c.is_ascii_digit()) || matches!(value, "true" | "false") {
        true => format!("{last} {value}"),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests;
