//! Several PTX texts as one: the newest header once, the bodies behind it, and no declaration of what another text defines.

use std::collections::BTreeSet;

/// What every text begins with.
const HEADERS: [&str; 3] = [".version", ".target", ".address_size"];

/// Links `sources` into one text. A single source stays as it is.
pub fn link(sources: &[String]) -> String {
    if let [only] = sources {
        return only.clone();
    }
    let newest = sources.iter().max_by_key(|source| version(source));
    let mut linked = String::new();
    for line in newest.iter().flat_map(|source| source.lines()) {
        if is_header(line) {
            linked += line;
            linked.push('\n');
        }
    }
    let defined: BTreeSet<&str> = sources
        .iter()
        .flat_map(|source| definitions(source))
        .collect();
    for source in sources {
        for statement in statements(source) {
            let declares = statement.trim_start().starts_with(".extern");
            if declares && names(statement).any(|name| defined.contains(name)) {
                continue;
            }
            linked += statement;
        }
        linked.push('\n');
    }
    linked
}

fn is_header(line: &str) -> bool {
    HEADERS
        .iter()
        .any(|header| line.trim_start().starts_with(header))
}

/// Major and minor version of the instruction set.
fn version(source: &str) -> (u32, u32) {
    let line = source
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".version"));
    let number = line
        .and_then(|line| line.split_whitespace().next())
        .unwrap_or("0.0");
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

/// The text without its header, in pieces: declarations that end with a semicolon, bodies of functions in braces.
fn statements(source: &str) -> Vec<&str> {
    let mut rest = source;
    let body = source
        .lines()
        .take_while(|line| !line.trim_start().starts_with(".address_size"));
    let header_bytes: usize = body.map(|line| line.len() + 1).sum();
    if let Some(behind) = source.get(header_bytes..) {
        rest = behind.split_once('\n').map_or("", |(_, behind)| behind);
    }
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0u32, 0);
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(character, ';' | '}') {
            pieces.push(&rest[start..=at]);
            start = at + 1;
        }
    }
    pieces.push(&rest[start..]);
    pieces
}

/// Every word of a statement that could be a name.
fn names(statement: &str) -> impl Iterator<Item = &str> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "_$%".contains(character);
    statement
        .split(move |character| !is_word(character))
        .filter(|word| !word.is_empty())
}

/// Names that a text makes visible: of functions and variables that others may declare.
fn definitions(source: &str) -> Vec<&str> {
    let visible = |statement: &&str| {
        let statement = statement.trim_start();
        statement.starts_with(".visible")
            || statement.starts_with(".weak")
            || statement.starts_with(".common")
    };
    let head = |statement: &'_ str| statement.find(['{', '=']).unwrap_or(statement.len());
    let pieces = statements(source).into_iter().filter(visible);
    pieces
        .flat_map(|statement| names(&statement[..head(statement)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\n.extern .func (.param .b32 r) twice\n(\n  .param .b32 a\n)\n;\n.visible .entry main_kernel()\n{\n  ret;\n}\n";
    const CALLEE: &str = ".version 8.3\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 a)\n{\n  ret;\n}\n";

    #[test]
    fn one_source_stays_as_it_is() {
        assert_eq!(link(&[CALLER.to_owned()]), CALLER);
    }

    #[test]
    fn the_newest_header_stands_once_and_declarations_of_definitions_go() {
        let linked = link(&[CALLER.to_owned(), CALLEE.to_owned()]);
        assert_eq!(linked.matches(".version").count(), 1, "{linked}");
        assert!(
            linked.starts_with(".version 8.3\n.target sm_80\n.address_size 64\n"),
            "{linked}"
        );
        assert!(!linked.contains(".extern"), "{linked}");
        assert!(
            linked.contains("main_kernel()") && linked.contains(".visible .func"),
            "{linked}"
        );
    }

    #[test]
    fn declarations_of_what_nobody_defines_stay() {
        let other =
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry other() { ret; }\n";
        assert!(link(&[CALLER.to_owned(), other.to_owned()]).contains(".extern"));
    }
}
