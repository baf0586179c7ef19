//! Tables back to TOML text, for another process to read.

use std::fmt::Write;

use super::tree::{Kind, Node, Table};

/// `table` as a TOML document that reads as the same values.
pub fn write_document(table: &Table) -> String {
    let mut text = String::new();
    for (key, node) in table.entries() {
        string(&mut text, &key.name);
        text.push_str(" = ");
        value(&mut text, node);
        text.push('\n');
    }
    text
}

/// `node` as a TOML value on one line.
pub fn write_value(node: &Node) -> String {
    let mut text = String::new();
    value(&mut text, node);
    text
}

fn value(text: &mut String, node: &Node) {
    match &node.kind {
        Kind::String(content) => string(text, content),
        Kind::Integer(number) => text.push_str(&number.to_string()),
        Kind::HugeInteger(written) | Kind::Datetime(written) => text.push_str(written),
        Kind::Float(number) => text.push_str(&float(*number)),
        Kind::Boolean(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Kind::Array(items) => {
            text.push('[');
            for item in items {
                value(text, item);
                text.push_str(", ");
            }
            text.push(']');
        }
        Kind::Table(table) => {
            text.push('{');
            for (index, (key, node)) in table.entries().iter().enumerate() {
                text.push_str(if index == 0 { " " } else { ", " });
                string(text, &key.name);
                text.push_str(" = ");
                value(text, node);
            }
            text.push_str(" }");
        }
    }
}

fn float(number: f64) -> String {
    if number.is_nan() {
        "nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        format!("{number:?}")
    }
}

/// A TOML basic string.
fn string(text: &mut String, content: &str) {
    text.push('"');
    let mut rest = content;
    let is_escaped = |character: char| matches!(character, '"' | '\\') || character.is_control();
    while let Some((at, character)) = rest.char_indices().find(|(_, one)| is_escaped(*one)) {
        text.push_str(&rest[..at]);
        // Writing to a string does not fail.
        let _ = match character {
            '"' | '\\' => write!(text, "\\{character}"),
            control => write!(text, "\\u{:04X}", u32::from(control)),
        };
        rest = &rest[at + character.len_utf8()..];
    }
    text.push_str(rest);
    text.push('"');
}

#[cfg(test)]
mod tests {
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
}
