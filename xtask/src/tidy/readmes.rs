//! Each crate has a README with the same headings, and the paths in it exist.

use std::path::Path;

/// In this order.
const HEADINGS: [&str; 5] = ["Contents", "How it works", "Files", "Limits", "Tests"];

/// Its README is the page of the Python package on the package index.
const EXEMPT: &str = "crates/lab/pagemill-python";

/// What names of source files end in. Others, such as `results.json`, are files of users.
const EXTENSIONS: [&str; 10] = [
    ".rs", ".c", ".h", ".py", ".js", ".sh", ".toml", ".txt", ".md", "/",
];

/// What is wrong with the file at `path`, which is a crate's manifest or README; `root` holds the workspace.
pub fn found(root: &Path, path: &Path, text: &str) -> Vec<(usize, String)> {
    let Some(folder) = crate_folder(path) else {
        return Vec::new();
    };
    if path.ends_with("Cargo.toml") {
        return missing(root, folder);
    }
    if !path.ends_with("README.md") {
        return Vec::new();
    }
    let mut found = dead_paths(root, folder, text);
    if folder != Path::new(EXEMPT) {
        found.extend(other_headings(text));
    }
    found
}

/// The folder of the crate whose manifest or README this is.
fn crate_folder(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    (folder.ancestors().nth(2) == Some(Path::new("crates"))).then_some(folder)
}

fn missing(root: &Path, folder: &Path) -> Vec<(usize, String)> {
    if root.join(folder).join("README.md").is_file() {
        return Vec::new();
    }
    let headings = HEADINGS.join(", ");
    vec![(
        1,
        format!("the crate has no README.md: write one with the headings {headings}"),
    )]
}

fn other_headings(text: &str) -> Vec<(usize, String)> {
    let headings: Vec<(usize, &str)> = prose(text)
        .filter_map(|(number, line)| Some((number, line.strip_prefix("## ")?)))
        .collect();
    if headings.iter().map(|(_, heading)| *heading).eq(HEADINGS) {
        return Vec::new();
    }
    let mut pairs = headings.iter().zip(HEADINGS);
    let first = pairs.find(|((_, own), expected)| own != expected);
    let line = first.map_or(1, |((line, _), _)| *line);
    let expected = HEADINGS.join(", ");
    vec![(
        line,
        format!("the headings of a crate's README are {expected}, in this order"),
    )]
}

fn dead_paths(root: &Path, folder: &Path, text: &str) -> Vec<(usize, String)> {
    let exists = |path: &str| root.join(folder).join(path).exists() || root.join(path).exists();
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for path in paths(line).filter(|path| !exists(path)) {
            found.push((
                number,
                format!("there is no {path}, neither in the crate nor in the workspace"),
            ));
        }
    }
    found
}

/// Numbered lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// What stands in a line as `` `path` `` or as the target of a link.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        EXTENSIONS.iter().any(|end| text.ends_with(end))
            && (text.chars()).all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c))
    };
    let targets = line.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split([')', '#']).next());
    let targets = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    quoted.filter(is_path).chain(targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    const README: &str = "# x\n\n## Contents\n\n## How it works\n\n## Files\n\n`src/lib.rs`\n\n## Limits\n\n## Tests\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = found(workspace::root(), Path::new(path), text);
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_crate_without_a_readme_is_found() {
        assert_eq!(lines("crates/core/no-such-crate/Cargo.toml", ""), [1]);
        assert_eq!(lines("crates/core/pagemill-types/Cargo.toml", ""), [0; 0]);
        assert_eq!(lines("xtask/Cargo.toml", ""), [0; 0]);
    }

    #[test]
    fn other_headings_are_found() {
        let path = "crates/core/pagemill-types/README.md";
        assert_eq!(lines(path, README), [0; 0]);
        assert_eq!(lines(path, &README.replace("## Files", "## Rooms")), [7]);
        assert_eq!(lines(path, &README.replace("## Tests\n", "")), [1]);
        assert_eq!(
            lines("crates/lab/pagemill-python/README.md", "# x\n"),
            [0; 0]
        );
        assert_eq!(lines("examples/README.md", "# x\n"), [0; 0]);
    }

    #[test]
    fn paths_that_do_not_exist_are_found() {
        let path = "crates/core/pagemill-types/README.md";
        let with = |text: &str| README.replace("`src/lib.rs`", text);
        assert_eq!(lines(path, &with("`src/no_such.rs`")), [9]);
        assert_eq!(lines(path, &with("`src/no_such/`")), [9]);
        assert_eq!(lines(path, &with("[x](docs/no-such.md#a)")), [9]);
        assert_eq!(
            lines(
                path,
                &with("`docs/README.md`, `results.json`, `src/*.rs`, [a](https://a.org/b.rs)")
            ),
            [0; 0]
        );
        assert_eq!(lines(path, &with("```\n`src/no_such.rs`\n```")), [0; 0]);
    }
}
