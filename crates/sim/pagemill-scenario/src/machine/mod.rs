//! Machine files: every value with its unit and its source. One module for each kind of machine.

mod amounts;
pub(crate) mod base;
pub(crate) mod coloring;
pub(crate) mod gpu;
pub(crate) mod nic;
pub(crate) mod pager;
pub(crate) mod zeroing;

use std::cell::RefCell;
use std::sync::Arc;

use crate::document::{Kind, Node, Origin, Reader, SourceText, Table};
use crate::error::Problem;
use crate::kind_names;
use crate::quantity;
use crate::sourced::{Setting, SourcedSection};

/// A machine as its file describes it.
#[derive(Clone, Debug)]
pub struct Machine<S> {
    /// The file's name without `.toml`.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// The checked values.
    pub spec: S,
    /// Every value as written, and its source.
    pub settings: Vec<Setting>,
}

/// A machine file, possibly with values replaced.
#[derive(Clone, Debug)]
pub(crate) struct MachineFile {
    pub source: Arc<SourceText>,
    pub table: Table,
}

impl<S> Machine<S> {
    /// Reads `file`, which has to be a machine of `kind`; `read` takes its values.
    pub(crate) fn read(
        file: &MachineFile,
        kind: &'static str,
        reader: &Reader,
        read: impl FnOnce(&mut SourcedSection<'_>) -> Option<S>,
    ) -> Option<Self> {
        let settings = RefCell::new(Vec::new());
        let top = Origin::new(&file.source, 0..0);
        let mut root = SourcedSection::new(
            reader.root(&file.table, "machine", top),
            &file.source,
            &settings,
        );
        let plain = root.plain();
        let title = plain.required("title", quantity::text);
        plain.or("about", String::new(), quantity::text);
        let is_of_kind = plain.required("kind", |node| of_kind(node, kind)).is_some();
        if !is_of_kind {
            // What the keys of another kind mean is not known here.
            root.abandon();
            return None;
        }
        let spec = read(&mut root);
        drop(root);
        Some(Self {
            name: file.source.stem(),
            title: title?,
            spec: spec?,
            settings: settings.into_inner(),
        })
    }
}

impl<S> Machine<S> {
    /// Its name, its title, and every value with its source.
    pub(crate) fn description(&self) -> (&str, &str, &[Setting]) {
        (&self.name, &self.title, &self.settings)
    }
}

fn of_kind(node: &Node, wanted: &'static str) -> Result<(), quantity::Wrong> {
    let found = quantity::choice("kinds of machine", kind_names::NAMES)(node)?;
    if found == wanted {
        return Ok(());
    }
    Err(quantity::Wrong::new(format!(
        "a scenario of kind \"{wanted}\" needs a machine of the same kind"
    ))
    .help("`pagemill list machines` shows the kind of each machine".to_owned()))
}

/// A value of a machine that its model refuses.
pub(crate) struct Refused {
    /// The dotted key in the machine file.
    pub key: String,
    /// The value, where the file does not hold it.
    pub value: String,
    /// What is allowed: `must be at least 1`.
    pub why: String,
}

impl Refused {
    /// Notes it at its place in `file`.
    pub fn report(self, file: &MachineFile, reader: &Reader) {
        let Self { key, value, why } = self;
        let top = Origin::new(&file.source, 0..0);
        let found = find(&file.table, &key);
        let origin = found.map_or(&top, |node| &node.origin);
        let value = found.map_or(value, Node::to_string);
        reader.report(Problem::at(
            origin,
            format!("`machine.{key}` is {value}: it {why}"),
        ));
    }
}

fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Node> {
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    let node = table.at(&path)?;
    match &node.kind {
        Kind::Table(table) => table.get("value"),
        _ => Some(node),
    }
}
