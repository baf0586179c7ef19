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
mod tests;
