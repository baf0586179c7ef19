//! Tables whose keys are paths of other keys, quoted or not: `[sweep]`.

use crate::document::{Kind, Node, Origin, Table};
use crate::error::Problem;
use crate::overrides::{bad_path, parse_path};

/// The path of a key, where it is written, and its value.
pub(crate) type DottedKey<'a> = (Vec<String>, &'a Origin, &'a Node);

/// The keys of `table` in the order they were written; an error for each that is no path. A table is no value, but has keys
/// itself.
pub(crate) fn dotted_keys(table: &Table) -> Vec<Result<DottedKey<'_>, Problem>> {
    let mut keys = Vec::new();
    add(&[], table, &mut keys);
    keys
}

fn add<'a>(above: &[String], table: &'a Table, keys: &mut Vec<Result<DottedKey<'a>, Problem>>) {
    for (key, node) in table.entries() {
        let Some(below) = parse_path(&key.name) else {
            keys.push(Err(bad_path(&key.origin, &key.name)));
            continue;
        };
        let path = [above, below.as_slice()].concat();
        match &node.kind {
            Kind::Table(table) => add(&path, table, keys),
            _ => keys.push(Ok((path, &key.origin, node))),
        }
    }
}
