use std::ops::RangeInclusive;

use pagemill_types::{Bandwidth, Clock, Named, PageSize, Picos, Registry};

use super::dimension::Dimension;
use crate::document::{Kind, Node, Origin};
use crate::error::Problem;
use crate::names::did_you_mean;

/// Why a value is refused: the rest of a sentence that begins "`key` is value:", and the remedy.
#[derive(Debug)]
pub struct Wrong {
    reason: String,
    help: Option<String>,
    part: Option<Part>,
}

/// The part of a value that is wrong.
#[derive(Debug)]
struct Part {
    key: String,
    origin: Origin,
    found: String,
}

impl Wrong {
    /// A value refused because of `reason`.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            help: None,
            part: None,
        }
    }

    /// Says what to write instead.
    pub fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    /// Points at `part`, the value of `key` in the table that was given.
    pub(crate) fn in_part(mut self, key: &str, part: &Node) -> Self {
        self.part.get_or_insert_with(|| Part {
            key: key.to_owned(),
            origin: part.origin.clone(),
            found: part.to_string(),
        });
        self
    }

    pub(crate) fn problem(self, path: &str, node: &Node) -> Problem {
        let problem = match self.part {
            // The value of a machine is known by the key of its table.
            Some(Part { key, origin, found }) if key == "value" => {
                Problem::at(&origin, format!("`{path}` is {found}: {}", self.reason))
            }
            Some(Part { key, origin, found }) => Problem::at(
                &origin,
                format!("`{path}.{key}` is {found}: {}", self.reason),
            ),
            None => Problem::at(&node.origin, format!("`{path}` is {node}: {}", self.reason)),
        };
        problem.help(self.help)
    }
}

/// A number of bytes, such as `"2 MiB"`.
pub fn bytes<T: TryFrom<u64>>(node: &Node) -> Result<T, Wrong> {
    fitting(quantity(Dimension::Bytes, node)?)
}

/// A bandwidth above zero, such as `"16 GB/s"`.
pub fn bandwidth(node: &Node) -> Result<Bandwidth, Wrong> {
    let amount = quantity(Dimension::Bandwidth, node)?;
    Bandwidth::new(amount).ok_or_else(|| {
        Wrong::new("a bandwidth above zero is needed").help(example(Dimension::Bandwidth))
    })
}

/// A frequency from 1 Hz to 1 THz, such as `"1.4 GHz"`.
pub fn frequency(node: &Node) -> Result<Clock, Wrong> {
    let amount = quantity(Dimension::Frequency, node)?;
    Clock::new(amount).ok_or_else(|| {
        Wrong::new("a frequency from 1 Hz to 1000 GHz is needed")
            .help(example(Dimension::Frequency))
    })
}

/// A span of time, such as `"600 ns"`.
pub fn time(node: &Node) -> Result<Picos, Wrong> {
    quantity(Dimension::Time, node).map(Picos)
}

/// A number of clock cycles, such as `"24 cycles"`.
pub fn cycles<T: TryFrom<u64>>(node: &Node) -> Result<T, Wrong> {
    fitting(quantity(Dimension::Cycles, node)?)
}

/// A page size: a power of two from 256 B to 1 GiB.
pub fn page_size(node: &Node) -> Result<PageSize, Wrong> {
    let amount: u64 = bytes(node)?;
    PageSize::new(amount).map_err(|_| {
        let binary = amount.checked_next_power_of_two().unwrap_or(u64::MAX);
        let wrong = Wrong::new("a page size is a power of two from 256 B to 1 GiB");
        match PageSize::new(binary) {
            Ok(_) => wrong.help(format!("the next page size is {:?}", show_bytes(binary))),
            Err(_) => wrong.help("write for example \"4 KiB\" or \"2 MiB\"".to_owned()),
        }
    })
}

/// A whole number without a unit, in `range`.
pub fn count(range: RangeInclusive<u64>) -> impl Fn(&Node) -> Result<u64, Wrong> {
    move |node| {
        let number = whole_number(node)?;
        if range.contains(&number) {
            return Ok(number);
        }
        let (least, most) = (range.start(), range.end());
        Err(Wrong::new(if *most == u64::MAX {
            format!("it has to be at least {least}")
        } else {
            format!("it has to be from {least} to {most}")
        }))
    }
}

/// A list of whole numbers without a unit, each in `range`.
pub fn counts(range: RangeInclusive<u64>) -> impl Fn(&Node) -> Result<Vec<u64>, Wrong> {
    move |node| match &node.kind {
        Kind::Array(items) => items.iter().map(count(range.clone())).collect(),
        _ => Err(Wrong::new(
            "a list of whole numbers is needed, such as [8, 4]",
        )),
    }
}

/// A whole number without a unit.
pub fn any_count<T: TryFrom<u64>>(node: &Node) -> Result<T, Wrong> {
    fitting(whole_number(node)?)
}

/// The same amount in 32 bits, where the value has no more.
fn fitting<T: TryFrom<u64>>(amount: u64) -> Result<T, Wrong> {
    T::try_from(amount).map_err(|_| Wrong::new(format!("it has to be at most {}", u32::MAX)))
}

fn whole_number(node: &Node) -> Result<u64, Wrong> {
    let wrong = || Wrong::new("a whole number without a unit is needed, such as 128");
    match &node.kind {
        Kind::Integer(number) => {
            u64::try_from(*number).map_err(|_| Wrong::new("a number of at least 0 is needed"))
        }
        Kind::HugeInteger(_) => Err(Wrong::new(format!("it has to be at most {}", i64::MAX))),
        Kind::String(text) if text.trim().parse::<u64>().is_ok() => {
            Err(wrong().help(format!("leave the quotes out: {}", text.trim())))
        }
        _ => Err(wrong()),
    }
}

/// A share from 0 to 1.
pub fn probability(node: &Node) -> Result<f64, Wrong> {
    let number = match node.kind {
        Kind::Float(number) => number,
        Kind::Integer(number) => number as f64,
        _ => return Err(Wrong::new("a number from 0.0 to 1.0 is needed")),
    };
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err(Wrong::new("a number from 0.0 to 1.0 is needed"))
    }
}

/// `true` or `false`.
pub fn boolean(node: &Node) -> Result<bool, Wrong> {
    match node.kind {
        Kind::Boolean(value) => Ok(value),
        _ => Err(Wrong::new("true or false is needed, without quotes")),
    }
}

/// Text that is not empty.
pub fn text(node: &Node) -> Result<String, Wrong> {
    match &node.kind {
        Kind::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        Kind::String(_) => Err(Wrong::new("a text is needed")),
        _ => Err(Wrong::new("a text in quotes is needed")),
    }
}

/// One of `names`; `what` names them in messages: "transfer modes".
pub fn choice(what: &str, names: &[&str]) -> impl Fn(&Node) -> Result<String, Wrong> {
    move |node| {
        let found = text(node)?;
        if names.contains(&found.as_str()) {
            return Ok(found);
        }
        let help = did_you_mean(&found, what, names.iter().copied());
        Err(Wrong::new(format!("this is none of the {what}")).help(help))
    }
}

/// One of named values; `what` names them in messages: "page tables".
pub fn one_of<T: Copy>(
    what: &str,
    choices: &[(&'static str, T)],
) -> impl Fn(&Node) -> Result<T, Wrong> {
    move |node| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let found = choice(what, &names)(node)?;
        let named = choices.iter().find(|(name, _)| *name == found);
        named
            .map(|(_, value)| *value)
            .ok_or_else(|| Wrong::new(format!("this is none of the {what}")))
    }
}

/// An entry of `registry` by its name; `what` names the entries in messages: "growth policies".
pub fn registered<T: Named>(
    what: &str,
    registry: &'static Registry<T>,
) -> impl Fn(&Node) -> Result<&'static T, Wrong> {
    move |node| {
        let found = choice(what, &registry.names())(node)?;
        let entry = registry.find(&found);
        entry.map_err(|error| Wrong::new(error.to_string()))
    }
}

fn quantity(dimension: Dimension, node: &Node) -> Result<u64, Wrong> {
    match &node.kind {
        Kind::String(text) => dimension
            .parse(text)
            .map_err(|error| Wrong::new(error.to_string()).help(error.help())),
        Kind::Integer(_) | Kind::HugeInteger(_) | Kind::Float(_) => {
            let unit = dimension.likely_unit();
            Err(Wrong::new(format!("{} needs its unit", dimension.name()))
                .help(format!("if {unit} is meant, write \"{node} {unit}\"")))
        }
        _ => Err(Wrong::new(format!(
            "{} is needed, a number with its unit",
            dimension.name()
        ))
        .help(example(dimension))),
    }
}

fn example(dimension: Dimension) -> String {
    format!("write for example {:?}", dimension.example())
}

/// A number of bytes in the largest binary unit that divides it.
pub(crate) fn show_bytes(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = |shift: u32| bytes > 0 && bytes.trailing_zeros() >= shift;
    match units.into_iter().find(|(_, shift)| fits(*shift)) {
        Some((unit, shift)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} B"),
    }
}
