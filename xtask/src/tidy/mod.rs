//! House rules that no compiler knows.

mod functions;
mod glossary;
mod lengths;
mod methods;
mod readmes;
mod specification;
mod twins;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Crates whose contract includes unsafe code; every other crate forbids it at its root.
const MAY_BE_UNSAFE: [&str; 16] = [
    "pagemill-color-preload",
    "pagemill-cudart",
    "pagemill-fabric",
    "pagemill-gpu",
    "pagemill-gpu-front",
    "pagemill-linux",
    "pagemill-mapping",
    "pagemill-pager-cabi",
    "pagemill-pager-preload",
    "pagemill-playground",
    "pagemill-ptx",
    "pagemill-ptx-native",
    "pagemill-types",
    "pagemill-zero",
    "pagemill-zero-cabi",
    "pagemill-zero-preload",
];

/// Folders with nothing of ours in them.
const SKIPPED_FOLDERS: [&str; 5] = ["target", ".git", "corpus", "artifacts", "node_modules"];

/// A text file of the repository.
struct SourceFile {
    /// From the workspace's root.
    path: PathBuf,
    text: String,
}

impl SourceFile {
    fn has_extension(&self, extensions: &[&str]) -> bool {
        self.path
            .extension()
            .is_some_and(|own| extensions.iter().any(|known| own == *known))
    }

    fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// One breach of one rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: PathBuf,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// A rule names the lines that break it, and why.
type Rule = fn(&SourceFile) -> Vec<(usize, String)>;

const RULES: [Rule; 9] = [
    too_long,
    tests_inside,
    unsafe_not_forbidden,
    lints_of_its_own,
    absolute_path,
    task_without_id,
    defined_twice,
    plain_words,
    crate_readmes,
];

/// Applies every rule to every file.
pub fn check() -> Result<()> {
    let mut findings = Vec::new();
    let mut sources = Vec::new();
    for path in text_files(workspace::root())? {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let file = SourceFile {
            path: workspace::relative(&path).to_owned(),
            text,
        };
        findings.extend(breaches(&file));
        findings.extend(long_functions(&file)?);
        findings.extend(promises_without_test(&file)?);
        if file.has_extension(&["rs"]) {
            sources.push(file);
        }
    }
    findings.extend(methods::too_many(&sources));
    findings.extend(twins::found(&sources));
    findings.extend(functions::files_that_are_gone(workspace::root()));
    findings.extend(lengths::files_that_are_gone(workspace::root()));
    if !findings.is_empty() {
        let listed: Vec<String> = findings.iter().map(Finding::to_string).collect();
        bail!("{}", listed.join("\n"));
    }
    Ok(())
}

fn breaches(file: &SourceFile) -> Vec<Finding> {
    located(file, RULES.iter().flat_map(|rule| rule(file)))
}

fn defined_twice(file: &SourceFile) -> Vec<(usize, String)> {
    if file.path == Path::new(glossary::PATH) {
        glossary::defined_twice(&file.text)
    } else {
        Vec::new()
    }
}

fn plain_words(file: &SourceFile) -> Vec<(usize, String)> {
    if file.has_extension(&["ptx", "json", "csv"]) {
        return Vec::new();
    }
    words::found(&file.path, &file.text)
}

fn crate_readmes(file: &SourceFile) -> Vec<(usize, String)> {
    readmes::found(workspace::root(), &file.path, &file.text)
}

fn long_functions(file: &SourceFile) -> Result<Vec<Finding>> {
    let path = file.path.to_string_lossy();
    let is_product =
        path.starts_with("crates/") && path.contains("/src/") || path.starts_with("xtask/src/");
    if !file.has_extension(&["rs"]) || !is_product {
        return Ok(Vec::new());
    }
    Ok(located(file, functions::too_long(&path, &file.text)?))
}

fn promises_without_test(file: &SourceFile) -> Result<Vec<Finding>> {
    if !specification::is_one(&file.path) {
        return Ok(Vec::new());
    }
    Ok(located(file, specification::unproven(&file.text)?))
}

fn located(file: &SourceFile, found: impl IntoIterator<Item = (usize, String)>) -> Vec<Finding> {
    let found = found.into_iter();
    found
        .map(|(line, message)| Finding {
            path: file.path.clone(),
            line,
            message,
        })
        .collect()
}

/// Every text file under `folder`, in order.
pub fn text_files(folder: &Path) -> Result<Vec<PathBuf>> {
    const EXTENSIONS: [&str; 14] = [
        "rs", "toml", "md", "cu", "cuh", "ptx", "c", "h", "cpp", "py", "sh", "json", "csv", "yml",
    ];
    let mut files = Vec::new();
    for path in workspace::entries(folder)? {
        let name = path.file_name().unwrap_or_default();
        if path.is_symlink() || SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped) {
            continue;
        }
        if path.is_dir() {
            files.extend(text_files(&path)?);
        } else if path
            .extension()
            .is_some_and(|own| EXTENSIONS.iter().any(|known| own == *known))
        {
            files.push(path);
        }
    }
    Ok(files)
}

fn too_long(file: &SourceFile) -> Vec<(usize, String)> {
    if !file.has_extension(&["rs", "cu", "cuh", "c", "h", "cpp", "py", "sh"]) {
        return Vec::new();
    }
    let lines = file.text.lines().count();
    lengths::judge(&file.path.to_string_lossy(), lines, lengths::LONGER)
}

fn tests_inside(file: &SourceFile) -> Vec<(usize, String)> {
    match file.has_extension(&["rs"]) && file.path.starts_with("crates") {
        true => lengths::tests_inside(&file.text),
        false => Vec::new(),
    }
}

fn unsafe_not_forbidden(file: &SourceFile) -> Vec<(usize, String)> {
    let is_root = ["src/lib.rs", "src/main.rs"].map(|root| file.path.ends_with(root));
    let folder = file.path.ancestors().nth(2).unwrap_or(Path::new(""));
    let is_ours =
        folder == Path::new("xtask") || folder.ancestors().nth(2) == Some(Path::new("crates"));
    let is_crate_root = is_ours && is_root.contains(&true);
    let is_excused = MAY_BE_UNSAFE.iter().any(|krate| folder.ends_with(krate));
    let forbidden = concat!("#![forbid(", "unsafe_code)]");
    if !is_crate_root || is_excused || file.text.contains(forbidden) {
        return Vec::new();
    }
    vec![(1, format!("the crate's root lacks {forbidden}"))]
}

/// A package that does not take the workspace's lints escapes all of them.
fn lints_of_its_own(file: &SourceFile) -> Vec<(usize, String)> {
    let is_package = file.path.ends_with("Cargo.toml") && file.text.contains("[package]");
    // An example is the project of a user, with a workspace of its own.
    let is_example = file.path.starts_with("examples");
    if !is_package || is_example || file.text.contains("[lints]\nworkspace = true") {
        return Vec::new();
    }
    let message = "the package has lints of its own: write `workspace = true` below `[lints]`";
    vec![(1, message.to_owned())]
}

/// Paths of one machine have no meaning on another.
fn absolute_path(file: &SourceFile) -> Vec<(usize, String)> {
    const FOLDERS: [&str; 5] = ["home", "root", "Users", "tmp", "work"];
    let starts_path = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "\"'`(=:<[".contains(c))
    };
    let mut found = Vec::new();
    for (number, line) in file.numbered_lines() {
        for folder in FOLDERS {
            let path = format!("/{folder}/");
            if line
                .match_indices(&path)
                .any(|(at, _)| starts_path(line, at))
            {
                found.push((
                    number,
                    format!("an absolute path ({path}...): make it relative"),
                ));
            }
        }
    }
    found
}

fn task_without_id(file: &SourceFile) -> Vec<(usize, String)> {
    const WORDS: [&str; 3] = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    if !file.has_extension(&["rs", "cu", "cuh", "c", "h", "py", "sh", "toml"]) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in file.numbered_lines() {
        for word in WORDS {
            let is_word = |at: usize| {
                let beside = [
                    line[..at].chars().next_back(),
                    line[at + word.len()..].chars().next(),
                ];
                !beside
                    .into_iter()
                    .flatten()
                    .any(|c| c.is_alphanumeric() || c == '_')
            };
            let has_id = |at: usize| line[at + word.len()..].starts_with("(#");
            if line
                .match_indices(word)
                .any(|(at, _)| is_word(at) && !has_id(at))
            {
                found.push((
                    number,
                    format!("{word} without the number of an issue: write {word}(#123)"),
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breached(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
        };
        breaches(&file)
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(breached("a/b.rs", &"x\n".repeat(601)), [600]);
        assert_eq!(breached("a/b.rs", &"x\n".repeat(600)), [0; 0]);
        assert_eq!(breached("a/b.ptx", &"x\n".repeat(9000)), [0; 0]);
    }

    #[test]
    fn roots_that_allow_unsafe_are_found() {
        let forbids = concat!("//! Doc.\n#![forbid(", "unsafe_code)]\n");
        assert_eq!(
            breached("crates/cuda/pagemill-sim/src/lib.rs", "//! Doc.\n"),
            [1]
        );
        assert_eq!(
            breached("crates/lab/pagemill-cli/src/main.rs", "//! Doc.\n"),
            [1]
        );
        assert_eq!(
            breached("crates/cuda/pagemill-sim/src/lib.rs", forbids),
            [0; 0]
        );
        assert_eq!(
            breached("crates/cuda/pagemill-sim/src/gpu/lib.rs", "//! Doc.\n"),
            [0; 0]
        );
        assert_eq!(
            breached("crates/cuda/pagemill-ptx/src/lib.rs", "//! Doc.\n"),
            [0; 0]
        );
    }

    #[test]
    fn packages_without_the_lints_are_found() {
        let manifest = "[package]\n\n[lints]\nworkspace = true\n";
        assert_eq!(breached("fuzz/Cargo.toml", manifest), [0; 0]);
        let other = manifest.replace("true", "false");
        assert_eq!(breached("fuzz/Cargo.toml", &other), [1]);
        assert_eq!(breached("Cargo.toml", "[workspace]\n"), [0; 0]);
    }

    #[test]
    fn breaches_in_words_and_documents_are_found() {
        let twice = "| **page** | one |\n| **page** | two |\n";
        assert_eq!(breached("docs/GLOSSARY.md", twice), [2]);
        assert_eq!(breached("a/b.md", concat!("the col", "our")), [1]);
        assert_eq!(breached("a/b.rs", concat!("// no", "body waits")), [1]);
        assert_eq!(breached("crates/core/no-such/Cargo.toml", ""), [1]);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in ["home", "root", "Users", "tmp", "work"] {
            assert_eq!(
                breached("a/b.md", &format!("see `/{folder}/me/x`")),
                [1],
                "{folder}"
            );
        }
        assert_eq!(
            breached("a/b.md", "crates/work/tmp/x and https://a.org/home/x"),
            [0; 0]
        );
    }

    #[test]
    fn tasks_need_an_issue() {
        let task = concat!("// TO", "DO");
        assert_eq!(breached("a/b.rs", &format!("{task}: later")), [1]);
        assert_eq!(breached("a/b.rs", &format!("{task}(#12): later")), [0; 0]);
        assert_eq!(breached("a/b.rs", concat!("MUSTO", "DOS")), [0; 0]);
        assert_eq!(breached("a/b.md", &format!("{task}: later")), [0; 0]);
    }
}
