use std::fmt;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::origin::{Origin, SourceText};
use crate::error::Problem;

/// A value and the place it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where the value stands.
    pub origin: Origin,
    /// The value.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A string.
    String(String),
    /// A whole number of at most 64 bits.
    Integer(i64),
    /// A whole number, as written, that 64 bits do not hold.
    HugeInteger(String),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or time, as written; nothing here uses one.
    Datetime(String),
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A key and the place it was written.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub name: String,
    /// Where it stands.
    pub origin: Origin,
    /// Where keys stand whose values were laid over its own: read with it.
    pub over: Vec<Origin>,
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<(Key, Node)>,
}

impl Table {
    /// The entries in the order they were written.
    pub fn entries(&self) -> &[(Key, Node)] {
        &self.entries
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The key as it was written, and the value, of `name`.
    pub fn entry(&self, name: &str) -> Option<&(Key, Node)> {
        self.entries.iter().find(|(key, _)| key.name == name)
    }

    /// The value at a dotted path.
    pub fn at(&self, path: &[String]) -> Option<&Node> {
        let (first, rest) = path.split_first()?;
        let node = self.get(first)?;
        match (&node.kind, rest) {
            (_, []) => Some(node),
            (Kind::Table(table), _) => table.at(rest),
            _ => None,
        }
    }

    /// Takes the value of `name` out of the table.
    pub fn remove(&mut self, name: &str) -> Option<(Key, Node)> {
        let index = self.entries.iter().position(|(key, _)| key.name == name)?;
        Some(self.entries.remove(index))
    }

    /// Puts `value` at a dotted path. Tables are merged key by key, anything else is replaced;
    /// missing tables on the way are made, with the origin of `key`.
    ///
    /// # Errors
    /// When something on the way is no table.
    pub fn put(&mut self, path: &[String], key: &Origin, value: Node) -> Result<(), Problem> {
        self.put_below(&mut String::new(), path, key, value)
    }

    fn put_below(
        &mut self,
        above: &mut String,
        path: &[String],
        key: &Origin,
        value: Node,
    ) -> Result<(), Problem> {
        let Some((first, rest)) = path.split_first() else {
            return Ok(());
        };
        let new_key = Key {
            name: first.clone(),
            origin: key.clone(),
            over: Vec::new(),
        };
        let index = self.entries.iter().position(|(key, _)| &key.name == first);
        if rest.is_empty() {
            match index {
                Some(index) => self.overlay(index, new_key, value),
                None => self.entries.push((new_key, value)),
            }
            return Ok(());
        }
        above.push_str(first);
        let index = index.unwrap_or_else(|| {
            let empty = Node {
                origin: key.clone(),
                kind: Kind::Table(Self::default()),
            };
            self.entries.push((new_key, empty));
            self.entries.len() - 1
        });
        match &mut self.entries[index].1.kind {
            Kind::Table(table) => {
                above.push('.');
                table.put_below(above, rest, key, value)
            }
            _ => Err(Problem::at(
                key,
                format!(
                    "`{above}` is no table, so it has no key `{}`",
                    rest.join(".")
                ),
            )
            .label(format!("`{above}` is {}", self.entries[index].1))),
        }
    }

    fn overlay(&mut self, index: usize, key: Key, value: Node) {
        // The key stays that of the file, and both count as read when any point reads what was laid over it.
        let (below, old) = &mut self.entries[index];
        below.over.push(key.origin);
        below.over.extend(key.over);
        match (&mut old.kind, value.kind) {
            (Kind::Table(old), Kind::Table(new)) => old.merge(new),
            (_, kind) => {
                *old = Node {
                    origin: value.origin,
                    kind,
                };
            }
        }
    }

    /// Lays `other` over the table: tables are merged key by key, anything else is replaced.
    pub fn merge(&mut self, other: Self) {
        for (key, value) in other.entries {
            match self
                .entries
                .iter()
                .position(|(old, _)| old.name == key.name)
            {
                Some(index) => self.overlay(index, key, value),
                None => self.entries.push((key, value)),
            }
        }
    }
}

impl fmt::Display for Node {
    /// The value as a message shows it: short, strings in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::String(text) if text.chars().count() > 60 => {
                write!(f, "{:?}...", text.chars().take(60).collect::<String>())
            }
            Kind::String(text) => write!(f, "{text:?}"),
            Kind::Integer(number) => write!(f, "{number}"),
            Kind::HugeInteger(text) | Kind::Datetime(text) => f.write_str(text),
            Kind::Float(number) => write!(f, "{number:?}"),
            Kind::Boolean(value) => write!(f, "{value}"),
            Kind::Array(items) if items.is_empty() => f.write_str("an empty list"),
            Kind::Array(_) => f.write_str("a list"),
            Kind::Table(_) => f.write_str("a table"),
        }
    }
}

/// Reads a whole TOML text.
///
/// # Errors
/// The first syntax error, with its place.
pub fn parse_document(source: &Arc<SourceText>) -> Result<Table, Problem> {
    let spanned = DeTable::parse(source.text()).map_err(|error| syntax_problem(source, &error))?;
    Ok(Converter { source, shift: 0 }.table(spanned.into_inner()))
}

/// Reads the TOML value that starts at byte `start` of `source` and ends with it;
/// text that is no TOML value stands for itself, as a string.
pub fn parse_argument(source: &Arc<SourceText>, start: usize) -> Node {
    let text = &source.text()[start..];
    let converter = Converter {
        source,
        shift: start,
    };
    match DeValue::parse(text) {
        Ok(value) => converter.node(value),
        Err(_) => Node {
            origin: Origin::new(source, start..source.text().len()),
            kind: Kind::String(text.trim().to_owned()),
        },
    }
}

fn syntax_problem(source: &Arc<SourceText>, error: &toml::de::Error) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let reason = error.message().lines().collect::<Vec<_>>().join(", ");
    Problem::at(
        &Origin::new(source, span),
        format!("{} is not valid TOML: {reason}", source.name()),
    )
}

struct Converter<'a> {
    source: &'a Arc<SourceText>,
    shift: usize,
}

impl Converter<'_> {
    fn origin(&self, span: std::ops::Range<usize>) -> Origin {
        Origin::new(self.source, span.start + self.shift..span.end + self.shift)
    }

    fn table(&self, table: DeTable<'_>) -> Table {
        let entries = table.into_iter().map(|(key, value)| {
            let origin = self.origin(key.span());
            (
                Key {
                    name: key.into_inner().into_owned(),
                    origin,
                    over: Vec::new(),
                },
                self.node(value),
            )
        });
        Table {
            entries: entries.collect(),
        }
    }

    fn node(&self, value: Spanned<DeValue<'_>>) -> Node {
        let origin = self.origin(value.span());
        let kind = match value.into_inner() {
            DeValue::String(text) => Kind::String(text.into_owned()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Kind::Integer(number),
                    Err(_) => Kind::HugeInteger(number.to_string()),
                }
            }
            // Every TOML float is a Rust float; NaN makes the range checks refuse it.
            DeValue::Float(number) => Kind::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(value) => Kind::Boolean(value),
            DeValue::Datetime(value) => Kind::Datetime(value.to_string()),
            DeValue::Array(items) => {
                Kind::Array(items.into_iter().map(|item| self.node(item)).collect())
            }
            DeValue::Table(table) => Kind::Table(self.table(table)),
        };
        Node { origin, kind }
    }
}
