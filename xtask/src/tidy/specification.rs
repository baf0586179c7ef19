//! The tests that SPECIFICATION.md names exist.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::workspace;

/// The document whose promises name tests.
pub const PATH: &str = "SPECIFICATION.md";

/// The lines of the specification that name a test which no crate has, and why.
pub fn without_test(text: &str) -> Result<Vec<(usize, String)>> {
    let mut sources = BTreeMap::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (crate_name, test) in tests(line) {
            if !sources.contains_key(crate_name) {
                let folder = workspace::root().join("crates").join(crate_name);
                let text = workspace::rust_text(&folder)
                    .with_context(|| format!("line {} of {PATH}", index + 1))?;
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

/// What stands in a line as `` `crate::test` ``.
fn tests(line: &str) -> Vec<(&str, &str)> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|name| name.split_once("::"))
        .filter(|(crate_name, _)| crate_name.starts_with("pagemill-"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let there = "| x | `pagemill-types::a`, `other` |";
        assert_eq!(tests(there), [("pagemill-types", "a")]);
        let found = without_test("ok\n| x | `pagemill-types::no_such_test` |").unwrap();
        assert_eq!(found[0].0, 2);
        assert_eq!(
            without_test("| x | `pagemill-nothing::t` |").unwrap().len(),
            1
        );
    }
}
