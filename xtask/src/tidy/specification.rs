//! What documents state: the tests that they name exist, and what is quoted from a document stands there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// The documents whose tables name tests.
const PATHS: [&str; 2] = ["SPECIFICATION.md", "docs/statements.md"];

/// Whether the file at `path` is one of them.
pub fn is_one(path: &Path) -> bool {
    PATHS.iter().any(|known| path == Path::new(known))
}

/// The lines that name a test which no crate has, or quote what the document of their section does not say.
pub fn unproven(text: &str) -> Result<Vec<(usize, String)>> {
    let mut found = without_test(text)?;
    let read = |document: &str| {
        std::fs::read_to_string(workspace::root().join(document))
            .with_context(|| format!("cannot read {document}"))
    };
    found.extend(misquoted(text, read)?);
    Ok(found)
}

fn without_test(text: &str) -> Result<Vec<(usize, String)>> {
    let mut sources = BTreeMap::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (crate_name, test) in tests(line) {
            if !sources.contains_key(crate_name) {
                let text = workspace::rust_text(&folder(crate_name))
                    .with_context(|| format!("line {}", index + 1))?;
                sources.insert(crate_name, text);
            }
            if !sources[crate_name].contains(&format!("fn {test}(")) {
                found.push((
                    index + 1,
                    format!("{crate_name} has no test {test}: correct the promise or its test"),
                ));
            }
        }
    }
    Ok(found)
}

fn folder(crate_name: &str) -> PathBuf {
    let root = workspace::root();
    if crate_name == "xtask" {
        return root.join(crate_name);
    }
    // A crate that is not there has no test either: the claim is found.
    workspace::crate_folder(crate_name).unwrap_or_default()
}

/// What stands in a line as `` `crate::test` ``.
fn tests(line: &str) -> Vec<(&str, &str)> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|name| name.split_once("::"))
        .filter(|(crate_name, _)| crate_name.starts_with("pagemill-") || *crate_name == "xtask")
        .collect()
}

/// Rows that begin with a quotation, in sections whose heading is the name of a document, which `read` gives.
fn misquoted(text: &str, read: impl Fn(&str) -> Result<String>) -> Result<Vec<(usize, String)>> {
    let mut document = None;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            document = match heading.ends_with(".md") {
                true => Some((heading, one_spaced(&read(heading)?))),
                false => None,
            };
        }
        let quote = line.strip_prefix("| \"");
        let quote = quote.and_then(|rest| rest.split_once("\" |"));
        if let (Some((name, says)), Some((quote, _))) = (&document, quote)
            && !says.contains(&one_spaced(quote))
        {
            found.push((
                index + 1,
                format!("{name} does not say this: correct the statement or the document"),
            ));
        }
    }
    Ok(found)
}

/// The text with one space between words, wherever its lines end.
fn one_spaced(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let there = "| x | `pagemill-types::a`, `other`, `xtask::b` |";
        assert_eq!(tests(there), [("pagemill-types", "a"), ("xtask", "b")]);
        let found = without_test("ok\n| x | `pagemill-types::no_such_test` |").unwrap();
        assert_eq!(found[0].0, 2);
        assert_eq!(
            without_test("| x | `pagemill-nothing::t` |").unwrap().len(),
            1
        );
    }

    #[test]
    fn a_statement_that_its_document_does_not_make_is_found() {
        let read = |_: &str| Ok("Pages move\nas a whole.".to_owned());
        let text = |quote: &str| format!("## A.md\n\n| \"{quote}\" | proof |\n");
        let found = |quote: &str| misquoted(&text(quote), read).unwrap();
        assert!(found("move as a whole").is_empty());
        assert_eq!(found("move in parts")[0].0, 3);
        let elsewhere = text("move in parts").replace("A.md", "A");
        assert!(misquoted(&elsewhere, read).unwrap().is_empty());
    }
}
