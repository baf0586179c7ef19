//! Machine files: every value with its unit and its source. One module for each kind of machine.

pub(crate) mod coloring;
pub(crate) mod gpu;
pub(crate) mod nic;
pub(crate) mod pager;
pub(crate) mod zeroing;

use std::cell::RefCell;

use pagemill_pages::SpecError;

use crate::document::{Node, Origin, Reader};
use crate::error::Problem;
use crate::kind_names;
use crate::machine_files::MachineFile;
use crate::quantity::{self, Wrong};
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

impl<S> Machine<S> {
    /// Reads `file`, which has to be a machine of `kind`: `read` takes its values, and `check` is what its model refuses.
    pub(crate) fn read(
        file: &MachineFile,
        kind: &'static str,
        reader: &Reader,
        read: impl FnOnce(&mut SourcedSection<'_>) -> Option<S>,
        check: impl FnOnce(&S) -> Result<(), SpecError>,
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
        let spec = read(&mut root)?;
        if let Err(error) = check(&spec) {
            reader.report(refused(file, error));
            return None;
        }
        drop(root);
        Some(Self {
            name: file.source.stem(),
            title: title?,
            spec,
            settings: settings.into_inner(),
        })
    }

    /// Its name, its title, and every value with its source.
    pub(crate) fn description(&self) -> (&str, &str, &[Setting]) {
        (&self.name, &self.title, &self.settings)
    }
}

fn of_kind(node: &Node, wanted: &'static str) -> Result<(), Wrong> {
    let found = quantity::choice("kinds of machine", kind_names::NAMES)(node)?;
    if found == wanted {
        return Ok(());
    }
    let text = format!("a scenario of kind \"{wanted}\" needs a machine of the same kind");
    Err(Wrong::new(text).help("`pagemill list machines` shows the kind of each machine".to_owned()))
}

/// A value that the model of a machine refuses, at its place in `file`, where units are in values and not in names of keys.
fn refused(file: &MachineFile, error: SpecError) -> Problem {
    let key = error
        .key
        .trim_end_matches("_cycles")
        .trim_end_matches("_bytes");
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    let found = file.value(&path);
    let top = Origin::new(&file.source, 0..0);
    let value = found.map_or(error.value, Node::to_string);
    let it = match error.allowed.starts_with("must ") {
        true => "it ",
        false => "",
    };
    let text = format!("`machine.{key}` is {value}: {it}{}", error.allowed);
    Problem::at(found.map_or(&top, |node| &node.origin), text)
}
