use super::super::{SourceText, parse_document};
use super::*;
use crate::files::MACHINES;

fn read(text: &str) -> Table {
    parse_document(&SourceText::built_in("test.toml", text)).expect("it is TOML")
}

/// Values without their origins.
fn shape(table: &Table) -> Vec<(String, String)> {
    let entry = |(key, node): &(_, Node)| {
        let key: &super::super::Key = key;
        let value = match &node.kind {
            Kind::Table(table) => format!("{:?}", shape(table)),
            Kind::Array(items) => format!(
                "{:?}",
                items
                    .iter()
                    .map(|item| match &item.kind {
                        Kind::Table(table) => format!("{:?}", shape(table)),
                        _ => item.to_string(),
                    })
                    .collect::<Vec<_>>()
            ),
            _ => node.to_string(),
        };
        (key.name.clone(), value)
    };
    table.entries().iter().map(entry).collect()
}

#[test]
fn what_is_written_reads_the_same() {
    let text = "a = \"q\\\"\\\\ \\n\\u0001 µ\"\nb = -3\nc = 1.5e300\nd = [1, { x = true, y = [] }]\n\"e f\" = 1e0\n[g.h]\ni = \"\"\n";
    let table = read(text);
    assert_eq!(shape(&read(&write_document(&table))), shape(&table));
    for machine in MACHINES {
        let table = read(machine.text);
        assert_eq!(shape(&read(&write_document(&table))), shape(&table));
    }
}
