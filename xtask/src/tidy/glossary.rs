//! One definition a word in the glossary.

use std::collections::BTreeMap;

/// Where the words are defined.
pub const PATH: &str = "docs/GLOSSARY.md";

/// The lines of the glossary that define a word again, and why.
pub fn defined_twice(text: &str) -> Vec<(usize, String)> {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in words(line) {
            match lines.get(&word) {
                Some(first) => found.push((
                    index + 1,
                    format!("**{word}** is defined on line {first} already: one meaning a word"),
                )),
                None => {
                    lines.insert(word, index + 1);
                }
            }
        }
    }
    found
}

/// What a row of a table defines: the bold words of its first column.
fn words(line: &str) -> Vec<String> {
    let first_column = line
        .strip_prefix("| ")
        .and_then(|row| row.split(" | ").next())
        .unwrap_or_default();
    let parts = first_column.split("**");
    // Every second part stands between two pairs of stars.
    parts.skip(1).step_by(2).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_definition_is_found() {
        let text = "| word | meaning |\n| **page**, **frame** | one |\n| **Frame** (of b) | a **page** |\n";
        let found = defined_twice(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 3);
    }
}
