//! The length of Rust functions.

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Signature};

/// From the line of `fn` to that of the closing brace.
pub const LINES_MAX: usize = 70;

/// Functions that were longer when this rule was made, and tables, which read best in one piece. Entries may only go.
const LONGER: [(&str, &str); 8] = [
    (
        "crates/pagemill-cudart/src/runtime/tests.rs",
        "what_cannot_be_launched_does_no_harm",
    ),
    ("crates/pagemill-fabric/src/ffi/info.rs", "wish"),
    ("crates/pagemill-ptx/src/lower/emit.rs", "add"),
    ("crates/pagemill-ptx/src/lower/inline.rs", "expand_call"),
    ("crates/pagemill-ptx/src/trap.rs", "fmt"),
    ("crates/pagemill-report/src/units.rs", "heading"),
    ("crates/pagemill-sim/src/gpu/machine_check.rs", "check"),
    ("crates/pagemill-zero/src/pool/metrics.rs", "families"),
];

/// A function and where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Of the keyword `fn`, from 1.
    pub line: usize,
    pub lines: usize,
}

/// The lines of `text`, a Rust file at `path`, on which a function starts that is too long, and why.
pub fn too_long(path: &str, text: &str) -> Result<Vec<(usize, String)>> {
    let is_excused = |function: &Function| LONGER.contains(&(path, function.name.as_str()));
    let functions = functions(text).with_context(|| format!("cannot parse {path}"))?;
    let long = functions
        .into_iter()
        .filter(|function| function.lines > LINES_MAX && !is_excused(function));
    Ok(long
        .map(|function| {
            let Function { name, line, lines } = function;
            (
                line,
                format!("{name} has {lines} lines: split it, {LINES_MAX} are the most"),
            )
        })
        .collect())
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
        assert_eq!(too_long("a/b.rs", &text(LINES_MAX)).unwrap(), []);
        assert_eq!(too_long("a/b.rs", &text(LINES_MAX + 1)).unwrap()[0].0, 1);
        assert!(too_long("a/b.rs", "fn f( {").is_err());
    }
}
