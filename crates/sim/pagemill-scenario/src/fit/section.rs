//! Reads `[fit]`.

use super::values::Values;
use super::{FitSection, FitSpec, Key, POINTS};
use crate::document::{Kind, Node, Origin, Reader, Section, Table};
use crate::dotted_keys::{DottedKey, dotted_keys};
use crate::error::Problem;
use crate::overrides::Override;
use crate::quantity::{self, Wrong};

/// More settings than this are taken for a mistake.
const POINTS_MAX: u64 = 100_000;
const RESOLUTION: f64 = 0.02;
/// What to do where there is nothing to search.
pub(super) const EXAMPLE: &str = "add a section [fit.keys] with lines such as \"machine.link.latency\" = { from = \"100 ns\", to = \"1000 ns\" }";

impl FitSection {
    /// Lays those of `sets` that are about the section over it, and takes it out of `table`.
    ///
    /// # Errors
    /// The section is no table.
    pub fn take(table: &mut Table, sets: &[String]) -> Result<Self, Problem> {
        for set in sets.iter().filter(|set| is_of_fit(set)) {
            let set = Override::parse(set)?;
            table.put(&set.path, &set.key, set.value)?;
        }
        match table.remove("fit") {
            None => Ok(Self(None)),
            Some((key, node)) => match node.kind {
                Kind::Table(table) => Ok(Self(Some((table, key.origin)))),
                _ => Err(
                    Problem::at(&node.origin, format!("`fit` is {node}: a table is needed"))
                        .help("write a section [fit.keys] with the keys to search".to_owned()),
                ),
            },
        }
    }

    /// Reads the section; what is wrong with it is noted in `reader`. `None` where there is none, or it is wrong.
    pub fn read(&self, reader: &Reader) -> Option<FitSpec> {
        let (table, origin) = self.0.as_ref()?;
        let mut section = reader.root(table, "fit", origin.clone());
        let points = section.or("points", POINTS, quantity::count(1..=POINTS_MAX));
        let seed = section.or("seed", 1, quantity::any_count);
        let resolution = section.or("resolution", RESOLUTION, resolution);
        let targets = section.or("targets", Vec::new(), ids);
        let keys = keys(&mut section);
        Some(FitSpec {
            points: points?,
            seed: seed?,
            resolution: resolution?,
            targets: targets?,
            keys: keys?,
            origin: origin.clone(),
        })
    }
}

/// Whether the `--set` argument `set` is about the section `[fit]`.
pub(crate) fn is_of_fit(set: &str) -> bool {
    let key = set.split('=').next().unwrap_or_default().trim();
    key == "fit" || key.starts_with("fit.")
}

fn resolution(node: &Node) -> Result<f64, Wrong> {
    let number = match node.kind {
        Kind::Float(number) => number,
        Kind::Integer(number) => number as f64,
        _ => f64::NAN,
    };
    let wrong = || Wrong::new("a number from 0 to 1 is needed, such as 0.05");
    (0.0..=1.0)
        .contains(&number)
        .then_some(number)
        .ok_or_else(wrong)
}

fn ids(node: &Node) -> Result<Vec<(String, Origin)>, Wrong> {
    let Kind::Array(items) = &node.kind else {
        return Err(Wrong::new("a list of ids of claims is needed"));
    };
    let id = |item: &Node| Ok((quantity::text(item)?, item.origin.clone()));
    items.iter().map(id).collect()
}

fn keys(section: &mut Section<'_>) -> Option<Vec<Key>> {
    let written = section.optional("keys", |node| match &node.kind {
        Kind::Table(table) => Ok(table.clone()),
        _ => Err(Wrong::new("a table of keys and their values is needed")
            .help("write a section [fit.keys]".to_owned())),
    })?;
    let mut keys = Vec::new();
    let mut problems = Vec::new();
    for key in dotted_keys(&written.unwrap_or_default(), is_group) {
        match key.and_then(read_key) {
            Ok(key) => keys.push(key),
            Err(problem) => problems.push(problem),
        }
    }
    if keys.is_empty() && problems.is_empty() {
        let message = "`fit.keys` names no key to search".to_owned();
        problems.push(Problem::at(section.origin_of("keys"), message).help(EXAMPLE.to_owned()));
    }
    let is_sound = problems.is_empty();
    for problem in problems {
        section.report(problem);
    }
    is_sound.then_some(keys)
}

fn read_key((path, origin, node): DottedKey<'_>) -> Result<Key, Problem> {
    let path = path.join(".");
    Ok(Key {
        values: Values::read(&path, node)?,
        path,
        origin: origin.clone(),
    })
}

/// Whether a table has keys to search, and is no range.
fn is_group(table: &Table) -> bool {
    table.get("from").is_none() && table.get("to").is_none()
}
