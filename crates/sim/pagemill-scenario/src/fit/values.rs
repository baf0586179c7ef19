//! The values that a key may have: a list, or a range of numbers.

use crate::document::{Kind, Node, Table, write_value};
use crate::error::Problem;
use crate::names::did_you_mean;
use crate::quantity::{Dimension, parse_any};

/// A range whose ends are further apart than this is searched by factors, not by differences.
const LOG_FROM: f64 = 10.0;
/// Numbers between the ends of a range have so many significant digits.
const DIGITS: i32 = 3;
/// The keys of a range.
const KEYS: [&str; 3] = ["from", "to", "scale"];

/// The values of a key.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// One of these, as TOML.
    List(Vec<Node>),
    /// A number between two.
    Range(Range),
}

/// Numbers from `from` to `to`, ends included.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    from: f64,
    to: f64,
    /// What follows the number, such as `ns`; none for a plain number.
    unit: Option<(String, Dimension)>,
    whole: bool,
    by_factors: bool,
}

impl Values {
    /// Reads the values of the key `path`.
    pub fn read(path: &str, node: &Node) -> Result<Self, Problem> {
        match &node.kind {
            Kind::Array(values) if values.len() >= 2 => Ok(Self::List(values.clone())),
            Kind::Array(values) => Err(Problem::at(
                &node.origin,
                format!(
                    "`{path}` has {} to choose from: at least two values are needed",
                    count(values)
                ),
            )
            .help("write more values, or give the key its one value in the scenario".to_owned())),
            Kind::Table(table) => Range::read(path, node, table).map(Self::Range),
            _ => Err(Problem::at(
                &node.origin,
                format!("`{path}` is {node}: a list or a range is needed"),
            )
            .help(format!(
                "write \"{path}\" = [{node}, ...], or {{ from = {node}, to = ... }}"
            ))),
        }
    }

    /// How many values there are, where they can be counted.
    pub fn count(&self) -> Option<usize> {
        match self {
            Self::List(values) => Some(values.len()),
            Self::Range(_) => None,
        }
    }

    /// The value at `place`, from 0 up to 1, as TOML.
    pub fn at(&self, place: f64) -> String {
        match self {
            Self::List(values) => {
                let index = (place * values.len() as f64) as usize;
                write_value(&values[index.min(values.len() - 1)])
            }
            Self::Range(range) => range.at(place),
        }
    }

    /// What the values measure, where all measure the same.
    pub fn dimension(&self) -> Option<Dimension> {
        match self {
            Self::Range(range) => range.unit.as_ref().map(|(_, dimension)| *dimension),
            Self::List(values) => {
                let mut dimensions = values.iter().map(|node| match &node.kind {
                    Kind::String(text) => parse_any(text).map(|quantity| quantity.dimension),
                    _ => None,
                });
                let first = dimensions.next()??;
                dimensions.all(|it| it == Some(first)).then_some(first)
            }
        }
    }
}

fn count(values: &[Node]) -> &'static str {
    if values.is_empty() {
        "nothing"
    } else {
        "one value"
    }
}

/// An end of a range: its number, its unit, and whether it is a whole number.
type End = (f64, Option<(String, Dimension)>, bool);

impl Range {
    fn read(path: &str, node: &Node, table: &Table) -> Result<Self, Problem> {
        if let Some((key, _)) =
            (table.entries().iter()).find(|(key, _)| !KEYS.contains(&key.name.as_str()))
        {
            let help = did_you_mean(&key.name, "keys of a range", KEYS);
            let message = format!("unknown key `{}` of the range of `{path}`", key.name);
            return Err(Problem::at(&key.origin, message).help(help));
        }
        let end = |key: &str| {
            let missing = || {
                let message = format!("the range of `{path}` lacks its key `{key}`");
                Problem::at(&node.origin, message)
                    .help("write { from = ..., to = ... }, or a list of values".to_owned())
            };
            table
                .get(key)
                .ok_or_else(missing)
                .and_then(|end| read_end(path, end))
        };
        let ((from, unit, from_whole), (to, to_unit, to_whole)) = (end("from")?, end("to")?);
        if unit != to_unit {
            let message = format!("the ends of the range of `{path}` have different units");
            return Err(Problem::at(&node.origin, message)
                .help("write both ends with the same unit".to_owned()));
        }
        if from >= to {
            let (from, to) = (table.get("from"), table.get("to"));
            let shown = |node: Option<&Node>| node.map(ToString::to_string).unwrap_or_default();
            let message = format!(
                "the range of `{path}` is empty: it goes from {} to {}",
                shown(from),
                shown(to)
            );
            return Err(Problem::at(&node.origin, message)
                .help("write a `from` that is less than `to`".to_owned()));
        }
        let by_factors = match table.get("scale").map(|node| (node, &node.kind)) {
            None => from > 0.0 && to / from >= LOG_FROM,
            Some((_, Kind::String(scale))) if scale == "linear" => false,
            Some((_, Kind::String(scale))) if scale == "log" && from > 0.0 => true,
            Some((scale, _)) => {
                let message = format!("the scale of the range of `{path}` is {scale}");
                return Err(Problem::at(&scale.origin, message)
                    .help("write \"linear\", or, for a range above 0, \"log\"".to_owned()));
            }
        };
        Ok(Self {
            from,
            to,
            unit,
            whole: from_whole && to_whole,
            by_factors,
        })
    }

    fn at(&self, place: f64) -> String {
        let number = match self.by_factors {
            true => self.from * (self.to / self.from).powf(place),
            false => self.from + (self.to - self.from) * place,
        };
        let decimals = match number == 0.0 {
            true => 0,
            false => DIGITS - 1 - number.abs().log10().floor() as i32,
        };
        let scale = 10_f64.powi(decimals);
        let number = ((number * scale).round() / scale).clamp(self.from, self.to);
        let decimals = usize::try_from(decimals).unwrap_or(0);
        let Some((unit, dimension)) = &self.unit else {
            return match self.whole {
                true => format!("{:.0}", number.round()),
                false => format!("{number:?}"),
            };
        };
        let mut written = format!("{number:.decimals$}");
        if written.contains('.') {
            written.truncate(written.trim_end_matches('0').trim_end_matches('.').len());
        }
        let text = format!("{written} {unit}");
        // No fraction of a byte or a cycle.
        match dimension.parse(&text) {
            Ok(_) => format!("\"{text}\""),
            Err(_) => format!("\"{:.0} {unit}\"", number.round()),
        }
    }
}

fn read_end(path: &str, node: &Node) -> Result<End, Problem> {
    let wrong = || {
        let message = format!(
            "an end of the range of `{path}` is {node}: a number, or a number with its unit, is needed"
        );
        Problem::at(&node.origin, message)
            .help("other values are a list: [\"one\", \"other\"]".to_owned())
    };
    match &node.kind {
        Kind::Integer(number) => Ok((*number as f64, None, true)),
        Kind::Float(number) if number.is_finite() => Ok((*number, None, false)),
        Kind::String(text) => {
            let quantity = parse_any(text).ok_or_else(wrong)?;
            let end =
                text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_' || c == ' '));
            let (number, unit) = text.split_at(end.unwrap_or(text.len()));
            let number: String = number
                .chars()
                .filter(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            let number = number.parse().map_err(|_| wrong())?;
            Ok((
                number,
                Some((unit.trim().to_owned(), quantity.dimension)),
                false,
            ))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
