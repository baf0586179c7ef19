//! Values that say where they come from, as every value of a machine file has to.

use std::cell::RefCell;
use std::sync::Arc;

use crate::document::{Kind, Node, Section, SourceText, Table};
use crate::names::did_you_mean;
use crate::quantity::{self, Wrong};

/// One value of a machine, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Dotted key: `link.bandwidth`.
    pub key: String,
    /// The value: `16 GB/s`.
    pub value: String,
    /// A document, a measurement, `estimate`, or the argument or file that replaced the value.
    pub source: String,
}

/// A section of a machine file.
pub(crate) struct SourcedSection<'a> {
    section: Section<'a>,
    home: &'a Arc<SourceText>,
    settings: &'a RefCell<Vec<Setting>>,
}

impl<'a> SourcedSection<'a> {
    /// Reads `section` of the machine file `home` and notes its values in `settings`.
    pub fn new(
        section: Section<'a>,
        home: &'a Arc<SourceText>,
        settings: &'a RefCell<Vec<Setting>>,
    ) -> Self {
        Self {
            section,
            home,
            settings,
        }
    }

    /// The value of `key`, which has to be there; `None` when something is wrong, which is then noted.
    pub fn value<T>(&mut self, key: &str, parse: impl Fn(&Node) -> Result<T, Wrong>) -> Option<T> {
        let reader = self.reader(key);
        self.section.required(key, |node| reader.read(node, parse))
    }

    /// The value of `key`, `Some(None)` where it is absent; `None` when something is wrong, which is then noted.
    pub fn optional<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&Node) -> Result<T, Wrong>,
    ) -> Option<Option<T>> {
        let reader = self.reader(key);
        self.section.optional(key, |node| reader.read(node, parse))
    }

    fn reader(&self, key: &str) -> ValueReader<'a> {
        ValueReader {
            path: self.section.path_of(key),
            home: self.home,
            settings: self.settings,
        }
    }

    /// The section `key`, which has to be there.
    pub fn section(&mut self, key: &str) -> Option<SourcedSection<'a>> {
        let section = self.section.section(key)?;
        Some(Self {
            section,
            home: self.home,
            settings: self.settings,
        })
    }

    /// Whether the file has `key`, which is not thereby read.
    pub fn contains(&self, key: &str) -> bool {
        self.section.table().get(key).is_some()
    }

    /// Leaves the rest unread, without a complaint about it.
    pub fn abandon(self) {
        self.section.abandon();
    }

    /// The plain section, for what is no value of the machine.
    pub fn plain(&mut self) -> &mut Section<'a> {
        &mut self.section
    }
}

/// Reads one value of a machine and notes it.
struct ValueReader<'a> {
    path: String,
    home: &'a Arc<SourceText>,
    settings: &'a RefCell<Vec<Setting>>,
}

impl ValueReader<'_> {
    fn read<T>(&self, node: &Node, parse: impl Fn(&Node) -> Result<T, Wrong>) -> Result<T, Wrong> {
        let path = self.path.strip_prefix("machine.").unwrap_or(&self.path);
        let key = path.rsplit('.').next().unwrap_or(path);
        let (value, source) = split(node, self.home, key)?;
        let read = parse(value).map_err(|wrong| wrong.in_part("value", value))?;
        let setting = Setting {
            key: path.to_owned(),
            value: as_written(value),
            source,
        };
        self.settings.borrow_mut().push(setting);
        Ok(read)
    }
}

/// The value and its source. Only what replaces a value of the file may come without one.
fn split<'n>(
    node: &'n Node,
    home: &Arc<SourceText>,
    key: &str,
) -> Result<(&'n Node, String), Wrong> {
    match &node.kind {
        Kind::Table(table) => split_table(table, key),
        _ if node.origin.source.is_argument() => Ok((node, "--set".to_owned())),
        _ if !Arc::ptr_eq(&node.origin.source, home) => Ok((node, "the scenario".to_owned())),
        _ => Err(Wrong::new("every value of a machine needs its source").help(remedy(key, node))),
    }
}

fn split_table<'n>(table: &'n Table, key: &str) -> Result<(&'n Node, String), Wrong> {
    for (name, node) in table.entries() {
        if !["value", "source"].contains(&name.name.as_str()) {
            let help = did_you_mean(&name.name, "keys of a value", ["value", "source"]);
            return Err(Wrong::new("this is no key of a value")
                .help(help)
                .in_part(&name.name, node));
        }
    }
    let Some(value) = table.get("value") else {
        return Err(Wrong::new("the key `value` is missing")
            .help(format!("write {key} = {{ value = ..., source = \"...\" }}")));
    };
    let Some(source) = table.get("source") else {
        return Err(
            Wrong::new("every value of a machine needs its source").help(remedy(key, value))
        );
    };
    let source = quantity::text(source).map_err(|_| {
        Wrong::new("a source is a document, a measurement, or the word \"estimate\"")
            .in_part("source", source)
    })?;
    Ok((value, source))
}

fn remedy(key: &str, value: &Node) -> String {
    format!(
        "write {key} = {{ value = {value}, source = \"...\" }}; a source is a document, a measurement, or the word \"estimate\""
    )
}

/// The value without quotes.
pub(crate) fn as_written(node: &Node) -> String {
    match &node.kind {
        Kind::String(text) => text.clone(),
        _ => node.to_string(),
    }
}
