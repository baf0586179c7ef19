//! Circles of imports: files of one crate that need each other to be understood.
//!
//! An edge leads from a file to each file of the same crate that a path in it leads to: in a `use`, a type, a call. Declaring or
//! re-exporting a module is no edge, and tests may name what they test. A crate's count is the number of its files that lie on
//! some circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::visit::{self, Visit};
use syn::{File, ItemMod, ItemUse, UseTree};

use crate::workspace;

/// Files on circles when this rule was made; a crate that is not listed has none. Counts may only fall.
const FILES_ON_CIRCLES: &[(&str, usize)] = &[
    ("pagemill-cli", 6),
    ("pagemill-cudart", 25),
    ("pagemill-fabric", 10),
    ("pagemill-nic", 2),
    ("pagemill-pager", 2),
    ("pagemill-pages", 9),
    ("pagemill-policy", 32),
    ("pagemill-ptx-lower", 2),
    ("pagemill-ptx-native", 3),
    ("pagemill-python", 7),
    ("pagemill-report", 12),
    ("pagemill-run", 14),
    ("pagemill-scenario", 2),
    ("pagemill-sim", 3),
    ("pagemill-workloads", 15),
];

/// A module's path below its crate's root: `gpu::stream`.
type Module = Vec<String>;

/// Checks every crate.
pub fn check() -> Result<()> {
    let mut findings = Vec::new();
    for crate_folder in workspace::crates()? {
        let name = crate_folder.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let circles = circles(&imports(&crate_folder.join("src"))?);
        let known = FILES_ON_CIRCLES.iter().find(|(known, _)| *known == name);
        findings.extend(finding(&name, &circles, known.map_or(0, |(_, most)| *most)));
    }
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    Ok(())
}

/// What is wrong with the `circles` of the crate `name`, if at most `most` of its files may lie on some.
fn finding(name: &str, circles: &[Vec<String>], most: usize) -> Option<String> {
    let files = circles.iter().map(Vec::len).sum::<usize>();
    let found = format!("{name}: {files} files lie on circles of imports");
    if files > most {
        let shown: Vec<String> = circles.iter().map(|circle| circle.join(", ")).collect();
        let shown = shown.join("\n  ");
        Some(format!("{found}, {most} are the most:\n  {shown}"))
    } else if files < most {
        Some(format!("{found}: lower its {most} in xtask/src/imports.rs"))
    } else {
        None
    }
}

/// Which module uses which, of the crate whose sources are in `source`.
fn imports(source: &Path) -> Result<BTreeMap<Module, BTreeSet<Module>>> {
    let mut texts = BTreeMap::new();
    for path in rust_files(source)? {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        texts.insert(module_of(path.strip_prefix(source)?), text);
    }
    let modules: BTreeSet<Module> = texts.keys().cloned().collect();
    let mut imports = BTreeMap::new();
    for (module, text) in &texts {
        let file = syn::parse_file(text)
            .with_context(|| format!("cannot parse module {}", module.join("::")))?;
        imports.insert(module.clone(), used(&file, module, &modules));
    }
    Ok(imports)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in workspace::entries(folder)? {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn module_of(path: &Path) -> Module {
    let path = path.with_extension("");
    let mut module: Module = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_root = matches!(module.last().map(String::as_str), Some("mod"))
        || matches!(&module[..], [root] if root == "lib" || root == "main");
    if is_root {
        module.pop();
    }
    module
}

/// The modules that the paths of `file`, which is `module`, lead to, but for those in tests.
fn used(file: &File, module: &Module, modules: &BTreeSet<Module>) -> BTreeSet<Module> {
    let mut paths = Paths(Vec::new());
    paths.visit_file(file);
    let mut found: BTreeSet<Module> = paths
        .0
        .iter()
        .filter_map(|path| resolve(path, module, modules))
        .collect();
    found.remove(module);
    found
}

/// All paths of a file.
struct Paths(Vec<Module>);

impl<'a> Visit<'a> for Paths {
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        // Re-exports are a module's contents, not what it needs.
        if matches!(item.vis, syn::Visibility::Inherited) {
            walk(&item.tree, &mut Vec::new(), &mut |path| {
                self.0.push(path.to_vec());
            });
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        let is_for_tests = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Path>()
                    .is_ok_and(|path| path.is_ident("test"))
        });
        if !is_for_tests {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        // One name alone is of this file.
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            let steps = path.segments.iter().map(|step| step.ident.to_string());
            self.0.push(steps.collect());
        }
        visit::visit_path(self, path);
    }
}

fn walk(tree: &UseTree, path: &mut Vec<String>, found: &mut impl FnMut(&[String])) {
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            walk(&step.tree, path, found);
            path.pop();
        }
        UseTree::Name(name) => {
            path.push(name.ident.to_string());
            found(path);
            path.pop();
        }
        UseTree::Rename(rename) => {
            path.push(rename.ident.to_string());
            found(path);
            path.pop();
        }
        UseTree::Glob(_) => found(path),
        UseTree::Group(group) => {
            for tree in &group.items {
                walk(tree, path, found);
            }
        }
    }
}

/// The file that `path`, written in `module`, leads to; `None` for other crates and for the crate's root.
fn resolve(path: &[String], module: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "super" | "self" => module.clone(),
        child => {
            let child = [module.as_slice(), &[child.to_owned()]].concat();
            modules.contains(&child).then_some(module.clone())?
        }
    };
    for step in path {
        match step.as_str() {
            "crate" | "self" => {}
            "super" => {
                base.pop()?;
            }
            name => {
                base.push(name.to_owned());
                if !modules.contains(&base) {
                    base.pop();
                    break;
                }
            }
        }
    }
    (!base.is_empty()).then_some(base)
}

/// The strongly connected components of more than one file, named by module paths, in order.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = imports
        .keys()
        .map(|module| (module, reachable(module, imports)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for module in imports.keys() {
        if seen.contains(module) || !reach[module].contains(module) {
            continue;
        }
        let circle: Vec<&Module> = imports
            .keys()
            .filter(|other| reach[module].contains(other) && reach[other].contains(module))
            .collect();
        seen.extend(circle.iter().copied());
        circles.push(circle.iter().map(|module| module.join("::")).collect());
    }
    circles
}

fn reachable<'a>(
    from: &Module,
    imports: &'a BTreeMap<Module, BTreeSet<Module>>,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = imports[from].iter().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module)
            && let Some(further) = imports.get(module)
        {
            next.extend(further);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split("::").map(str::to_owned).collect()
    }

    fn uses(text: &str, at: &str, known: &[&str]) -> Vec<String> {
        let known: BTreeSet<Module> = known.iter().map(|path| module(path)).collect();
        let file = syn::parse_file(text).unwrap();
        let found = used(&file, &module(at), &known);
        found.into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_lead_to_files() {
        let known = ["a", "a::b", "a::c", "d"];
        let found = uses("use super::c::{X, Y};", "a::b", &known);
        assert_eq!(found, ["a::c"]);
        assert_eq!(uses("use crate::d::deep::Z;", "a::b", &known), ["d"]);
        assert_eq!(uses("use super::W;", "a::b", &known), ["a"]);
        assert_eq!(uses("use serde::Serialize;", "a::b", &known), [""; 0]);
        assert_eq!(uses("pub use b::X; mod b;", "a", &known), [""; 0]);
        assert_eq!(uses("use b::X; mod b;", "a", &known), ["a::b"]);
        assert_eq!(uses("struct S(crate::d::T);", "a::b", &known), ["d"]);
        assert_eq!(
            uses("fn f() { c::g(crate::d::h) }", "a", &known),
            ["a::c", "d"]
        );
        let tests = "#[cfg(test)] mod tests { use crate::d::X; fn f() { crate::d::g() } }";
        assert_eq!(uses(tests, "a", &known), [""; 0]);
    }

    #[test]
    fn a_circle_is_found() {
        let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")];
        let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, to) in edges {
            imports.entry(module(from)).or_default().insert(module(to));
        }
        assert_eq!(circles(&imports), [["a", "b", "c"]]);
        let found = |most| finding("x", &circles(&imports), most);
        assert!(found(2).unwrap().contains("a, b, c"));
        assert_eq!(found(3), None);
        assert!(found(4).unwrap().contains("lower its 4"));
        imports.remove(&module("c"));
        assert!(circles(&imports).is_empty());
    }
}
