//! How many methods a type has in all files of its crate. Those of traits do not count, and files of tests are left out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Finding, SourceFile};

const METHODS_MAX: usize = 80;

/// Types that had more when this rule was made. Numbers may only fall.
const MORE: &[(&str, &str, usize)] = &[
    ("pagemill-ptx-native", "Emitter", 158),
    ("pagemill-sim", "Gpu", 86),
];

/// Types with too many methods, or with fewer than they are known for.
pub fn too_many(sources: &[SourceFile]) -> Vec<Finding> {
    let mut counts = BTreeMap::new();
    for file in sources {
        let path = file.path.to_string_lossy();
        if let (Some((package, _)), false) = (path.split_once("/src/"), path.contains("test")) {
            for owner in owners_of_methods(&file.text) {
                *counts.entry((package.to_owned(), owner)).or_insert(0) += 1;
            }
        }
    }
    let judged = counts.into_iter().filter_map(|((package, owner), count)| {
        let is_it = |(end, name, _): &&(&str, &str, _)| package.ends_with(end) && *name == owner;
        let most = MORE
            .iter()
            .find(is_it)
            .map_or(METHODS_MAX, |(.., most)| *most);
        let advice = match count > most {
            true => format!("give some to a type of their own, {most} are the most"),
            false if most > METHODS_MAX && count < most => {
                "lower its number in xtask/src/tidy/methods.rs".into()
            }
            false => return None,
        };
        let message = format!("{owner} has {count} methods: {advice}");
        Some(Finding {
            path: PathBuf::from(package),
            line: 1,
            message,
        })
    });
    judged.collect()
}

/// The type of each method in the formatted `text`.
fn owners_of_methods(text: &str) -> Vec<&str> {
    let mut owner = None;
    let method = |line: &'_ str| line.strip_prefix("    ").is_some_and(is_function);
    let owners = text.lines().filter_map(move |line| {
        if line.starts_with("impl") || line.starts_with('}') {
            owner = inherent(line);
        }
        owner.filter(|_| method(line))
    });
    owners.collect()
}

/// The type of the `impl` that begins in `line`, unless it is one of a trait.
fn inherent(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let mut depth = 0;
    let start = rest.find(|letter| {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        depth == 0 && letter == ' '
    })?;
    let name = &rest[start + 1..];
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    (!name.contains(" for ")).then_some(&name[..end])
}

fn is_function(item: &str) -> bool {
    let before = |word: &&str| {
        word.starts_with("pub") || ["const", "unsafe", "extern", "\"C\""].contains(word)
    };
    item.split(' ').find(|word| !before(word)) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_with_too_many_methods_is_found() {
        let file = |name: &str, text: String| SourceFile {
            path: PathBuf::from(name),
            text,
        };
        let found_in = |package: &str, owner: &str, methods: usize| {
            let half =
                "    pub(super) const fn f(&self) {\n        g();\n    }\n".repeat(methods / 2);
            let rest = "    fn f() {}\n".repeat(methods - methods / 2);
            let others = "    fn f() {}\n".repeat(METHODS_MAX);
            let files = [
                file(
                    &format!("{package}/src/b.rs"),
                    format!("impl<T: U<V>> {owner}<T> {{\n{half}}}\nfn g() {{}}\n"),
                ),
                file(
                    &format!("{package}/src/c.rs"),
                    format!("impl {owner} {{\n{rest}}}\nimpl Clone for {owner} {{\n{rest}}}\n"),
                ),
                file("other/src/b.rs", format!("impl {owner} {{\n{others}}}\n")),
                file(
                    &format!("{package}/src/tests.rs"),
                    format!("impl {owner} {{\n{rest}}}\n"),
                ),
            ];
            let found = too_many(&files);
            found
                .iter()
                .map(Finding::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        };
        let found = |methods| found_in("a", "T", methods);
        assert_eq!(found(METHODS_MAX), "");
        assert!(found(METHODS_MAX + 1).contains("T has 81 methods"));
        let (package, owner, most) = MORE[0];
        let known = |methods| found_in(package, owner, methods);
        assert_eq!(known(most), "");
        assert!(known(most + 1).contains("are the most"));
        assert!(known(most - 1).contains("lower its number"));
    }
}
