//! The length of Rust functions.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Signature};

use super::Finding;

/// From the line of `fn` to that of the closing brace.
pub const LINES_MAX: usize = 70;

/// Functions that were longer when this rule was made, and tables, which read best in one piece: their lines. Numbers may only fall.
const LONGER: &[Longer] = &[
    Longer("crates/cuda/pagemill-ptx-lower/src/emit/mod.rs", "add", 108),
    Longer(
        "crates/cuda/pagemill-ptx-lower/src/expand/inline.rs",
        "expand_call",
        82,
    ),
    Longer("crates/cuda/pagemill-ptx/src/exec/trap.rs", "fmt", 115),
];

/// A file, a function in it, and the lines that it has.
struct Longer(&'static str, &'static str, usize);

/// A function and where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Of the keyword `fn`, from 1.
    pub line: usize,
    pub lines: usize,
}

/// The lines of `text`, a Rust file at `path`, on which a function starts that is too long or no longer so long, and why.
pub fn too_long(path: &str, text: &str) -> Result<Vec<(usize, String)>> {
    judge(path, text, LONGER)
}

/// Exceptions for files that `root` no longer has.
pub fn files_that_are_gone(root: &Path) -> impl Iterator<Item = Finding> {
    let gone = LONGER.iter().filter(|entry| !root.join(entry.0).exists());
    gone.map(|Longer(path, name, _)| Finding {
        path: PathBuf::from("xtask/src/tidy/functions.rs"),
        line: 1,
        message: format!("{path} is gone: remove its {name}"),
    })
}

fn judge(path: &str, text: &str, longer: &[Longer]) -> Result<Vec<(usize, String)>> {
    let functions = functions(text).with_context(|| format!("cannot parse {path}"))?;
    let most = |name: &str| {
        let entry = longer
            .iter()
            .find(|entry| entry.0 == path && entry.1 == name);
        entry.map_or(LINES_MAX, |entry| entry.2)
    };
    let long = functions
        .iter()
        .filter(|function| function.lines > most(&function.name));
    let mut found: Vec<(usize, String)> = long
        .map(|Function { name, line, lines }| {
            let most = most(name);
            (
                *line,
                format!("{name} has {lines} lines: split it, {most} are the most"),
            )
        })
        .collect();
    for Longer(_, name, most) in longer.iter().filter(|entry| entry.0 == path) {
        let same = functions.iter().filter(|function| function.name == *name);
        let lines = same.map(|function| function.lines).max().unwrap_or(0);
        if lines < *most {
            let entry = format!("the {most} of {name} in xtask/src/tidy/functions.rs");
            found.push((
                1,
                if lines > LINES_MAX {
                    format!("lower {entry} to {lines}")
                } else {
                    format!("{name} has {lines} lines: remove {entry}")
                },
            ));
        }
    }
    Ok(found)
}

/// Every function of a Rust file that has a body.
fn functions(text: &str) -> Result<Vec<Function>> {
    let mut found = Finder::default();
    found.visit_file(&syn::parse_file(text)?);
    Ok(found.functions)
}

#[derive(Default)]
struct Finder {
    functions: Vec<Function>,
}

impl Finder {
    fn note(&mut self, signature: &Signature, body: &Block) {
        let line = signature.fn_token.span().start().line;
        let end = body.span().end().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: end + 1 - line,
        });
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.note(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_nested_functions_are_measured() {
        let text = "/// Doc.\n#[inline]\nfn a() {\n    fn b() {}\n}\nimpl T {\n    fn c() {\n    }\n}\ntrait U { fn d(); }\n";
        let found = functions(text).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|function| (function.name.as_str(), function.line, function.lines))
            .collect();
        assert_eq!(found, [("a", 3, 3), ("b", 4, 1), ("c", 7, 2)]);
    }

    #[test]
    fn a_long_function_is_found() {
        let text = |lines| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
        let found = |lines, longer: &[Longer]| judge("a/b.rs", &text(lines), longer).unwrap();
        assert_eq!(found(LINES_MAX, &[]), []);
        assert_eq!(found(LINES_MAX + 1, &[])[0].0, 1);
        assert!(judge("a/b.rs", "fn f( {", &[]).is_err());
    }

    #[test]
    fn a_kept_function_that_grew_or_shrank_is_found() {
        let text = |lines| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
        let found = |lines| {
            let found = judge("a/b.rs", &text(lines), &[Longer("a/b.rs", "f", 80)]).unwrap();
            found
                .into_iter()
                .map(|(_, message)| message)
                .collect::<Vec<_>>()
        };
        assert_eq!(found(80), [""; 0]);
        assert!(found(81)[0].contains("80 are the most"));
        assert!(found(79)[0].contains("lower the 80 of f"));
        assert!(found(LINES_MAX)[0].contains("remove the 80 of f"));
        let elsewhere = [Longer("a/c.rs", "f", 80)];
        assert_eq!(judge("a/b.rs", &text(80), &elsewhere).unwrap().len(), 1);
        let gone = judge("a/b.rs", "fn g() {}", &[Longer("a/b.rs", "f", 80)]).unwrap();
        assert!(gone[0].1.contains("remove the 80 of f"));
    }
}
