use std::cell::RefCell;
use std::collections::HashSet;

use super::origin::Origin;
use super::tree::{Key, Kind, Node, Table};
use crate::error::{InputErrors, Problem};
use crate::names::did_you_mean;
use crate::quantity::Wrong;

/// Collects what is wrong while sections are read, and which keys were not read.
///
/// One reader serves every point of a sweep: a key counts as read when any point reads it.
#[derive(Default)]
pub struct Reader {
    problems: RefCell<Vec<Problem>>,
    read: RefCell<HashSet<(usize, usize, usize)>>,
    unread: RefCell<Vec<Unread>>,
}

struct Unread {
    origin: Origin,
    section: String,
    name: String,
    known: Vec<String>,
}

impl Reader {
    /// Notes a problem; the same problem met again is noted once.
    pub fn report(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if !problems.iter().any(|known| known.is_same_as(&problem)) {
            problems.push(problem);
        }
    }

    /// The top of a document, whose keys are called `prefix` and their name.
    pub fn root<'a>(&'a self, table: &'a Table, prefix: &'a str, origin: Origin) -> Section<'a> {
        Section {
            reader: self,
            table,
            origin,
            prefix,
            path: prefix.to_owned(),
            known: Vec::new(),
        }
    }

    /// Ends the reading: unread keys become problems.
    ///
    /// # Errors
    /// Every problem, in the order met; unread keys last.
    pub fn finish(self) -> Result<(), InputErrors> {
        let read = self.read.into_inner();
        let mut problems = self.problems.into_inner();
        let unread = self.unread.into_inner();
        problems.extend(
            unread
                .iter()
                .filter(|key| !read.contains(&key.origin.id()))
                .map(Unread::problem),
        );
        if problems.is_empty() {
            Ok(())
        } else {
            Err(InputErrors::new(problems))
        }
    }

    fn note_read(&self, key: &Key) {
        let mut read = self.read.borrow_mut();
        read.insert(key.origin.id());
        read.extend(key.over.iter().map(Origin::id));
    }

    fn note_unread(&self, section: &Section<'_>, origin: &Origin, name: &str) {
        let mut unread = self.unread.borrow_mut();
        match unread.iter_mut().find(|key| key.origin.id() == origin.id()) {
            Some(key) => key.add_known(&section.known),
            None => unread.push(Unread {
                origin: origin.clone(),
                section: section.path.clone(),
                name: name.to_owned(),
                known: section.known.clone(),
            }),
        }
    }
}

impl Unread {
    fn add_known(&mut self, known: &[String]) {
        for name in known {
            if !self.known.contains(name) {
                self.known.push(name.clone());
            }
        }
    }

    fn problem(&self) -> Problem {
        let what = if self.section.is_empty() {
            "keys at the top".to_owned()
        } else {
            format!("keys of `{}`", self.section)
        };
        let help = did_you_mean(&self.name, &what, self.known.iter().map(String::as_str));
        Problem::at(
            &self.origin,
            format!("unknown key `{}`", join(&self.section, &self.name)),
        )
        .help(help)
    }
}

/// One table being read. Each key is asked for by name; the keys that were not asked for are
/// unknown, and are reported when the section is dropped.
pub struct Section<'a> {
    reader: &'a Reader,
    table: &'a Table,
    origin: Origin,
    /// What the whole document is called; empty for the scenario itself.
    prefix: &'a str,
    path: String,
    known: Vec<String>,
}

impl<'a> Section<'a> {
    /// Where the section stands.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The dotted path of `key` in this section.
    pub fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Notes a problem.
    pub fn report(&self, problem: Problem) {
        self.reader.report(problem);
    }

    /// The place of the value of `key`, or of the section where the key is absent.
    pub fn origin_of(&self, key: &str) -> &Origin {
        self.table
            .get(key)
            .map_or(&self.origin, |node| &node.origin)
    }

    /// The keys as written, read or not.
    pub fn table(&self) -> &'a Table {
        self.table
    }

    /// The value of `key`, which has to be there; `None` when it is not, or is wrong, which is then noted.
    pub fn required<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&Node) -> Result<T, Wrong>,
    ) -> Option<T> {
        match self.take(key) {
            Some(node) => self.parse(key, node, parse),
            None => {
                self.missing(key, "key");
                None
            }
        }
    }

    /// The value of `key`, or `default` where the key is absent; `None` when it is wrong, which is then noted.
    pub fn or<T>(
        &mut self,
        key: &str,
        default: T,
        parse: impl FnOnce(&Node) -> Result<T, Wrong>,
    ) -> Option<T> {
        match self.take(key) {
            Some(node) => self.parse(key, node, parse),
            None => Some(default),
        }
    }

    /// The value of `key`: `Some(None)` where the key is absent, `None` when it is wrong, which is then noted.
    pub fn optional<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&Node) -> Result<T, Wrong>,
    ) -> Option<Option<T>> {
        match self.take(key) {
            Some(node) => self.parse(key, node, parse).map(Some),
            None => Some(None),
        }
    }

    /// The table `key`, which has to be there.
    pub fn section(&mut self, key: &str) -> Option<Section<'a>> {
        if self.table.get(key).is_none() {
            self.take(key);
            self.missing(key, "section");
            return None;
        }
        self.optional_section(key)
    }

    /// The table `key`, or `None` where the key is absent or no table; the latter is noted.
    pub fn optional_section(&mut self, key: &str) -> Option<Section<'a>> {
        let node = self.take(key)?;
        let path = self.path_of(key);
        match &node.kind {
            Kind::Table(table) => Some(Section {
                reader: self.reader,
                table,
                origin: node.origin.clone(),
                prefix: self.prefix,
                path,
                known: Vec::new(),
            }),
            _ => {
                let problem = Problem::at(
                    &node.origin,
                    format!("`{path}` is {node}: a table is needed"),
                )
                .help(format!(
                    "write a section [{path}], or {path} = {{ key = value }}"
                ));
                self.report(problem);
                None
            }
        }
    }

    /// Leaves the rest unread without a complaint: something met earlier says enough.
    pub fn abandon(mut self) {
        self.pass_over();
    }

    /// Complains about no key that is there: which ones are meant depends on one whose value is wrong.
    pub fn pass_over(&mut self) {
        for (key, _) in self.table.entries() {
            self.known.push(key.name.clone());
            self.reader.note_read(key);
        }
    }

    fn take(&mut self, key: &str) -> Option<&'a Node> {
        if !self.known.iter().any(|known| known == key) {
            self.known.push(key.to_owned());
        }
        let (written, node) = self.table.entry(key)?;
        self.reader.note_read(written);
        Some(node)
    }

    fn parse<T>(
        &self,
        key: &str,
        node: &Node,
        parse: impl FnOnce(&Node) -> Result<T, Wrong>,
    ) -> Option<T> {
        match parse(node) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.report(wrong.problem(&self.path_of(key), node));
                None
            }
        }
    }

    fn missing(&self, key: &str, what: &str) {
        let path = self.path_of(key);
        // A message names keys as `--set` does; the remedy names them as the file does.
        let in_file = |path: &str| {
            let below = path
                .strip_prefix(self.prefix)
                .map(|path| path.trim_start_matches('.'));
            below.unwrap_or(path).to_owned()
        };
        let remedy = match (what, in_file(&self.path)) {
            ("section", _) => format!("add a section [{}]", in_file(&path)),
            (_, section) if section.is_empty() => match self.prefix.split_once('[') {
                Some((list, _)) => format!("add a line `{key} = ...` to this [[{list}]]"),
                None => format!("add a line `{key} = ...` before the first section"),
            },
            (_, section) => format!("add a line `{key} = ...` to [{section}]"),
        };
        let near = crate::names::nearest(
            key,
            self.table
                .entries()
                .iter()
                .map(|(key, _)| key.name.as_str()),
        );
        let help = match near {
            Some(near) => format!("{remedy}; is `{near}` meant to be `{key}`?"),
            None => remedy,
        };
        self.report(
            Problem::at(&self.origin, format!("the {what} `{path}` is missing")).help(help),
        );
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        for (key, _) in self.table.entries() {
            if !self.known.contains(&key.name) {
                self.reader.note_unread(self, &key.origin, &key.name);
            }
        }
    }
}

fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}
