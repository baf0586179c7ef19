//! What a change can reach: `cargo xtask test --since REVISION`.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Result, bail};
use pagemill_vm::Suite;
use serde_json::Value;

use crate::{dependencies, process, workspace};

/// The crates that read the files of a folder which belongs to none.
const READ_BY: [(&str, &[&str]); 7] = [
    ("machines/", &["pagemill-scenario"]),
    ("scenarios/", &["pagemill-scenario"]),
    ("workloads/", &["pagemill-workloads", "pagemill-ptx"]),
    ("examples/", &["pagemill-cli", "pagemill-python"]),
    ("docs/", &["pagemill-cli", "pagemill-python"]),
    ("validation/", &["pagemill-run", "pagemill-python"]),
    ("kmod/", &["pagemill-vm"]),
];

/// What has to be tested again.
#[derive(Debug, PartialEq, Eq)]
pub struct Reach {
    /// Crates that changed, and those that depend on them.
    pub packages: BTreeSet<String>,
    /// The crates that do not.
    pub left_out: BTreeSet<String>,
}

impl Reach {
    /// Of what differs from `revision`, committed or not.
    ///
    /// # Errors
    /// git does not know the revision, or nothing differs.
    pub fn since(revision: &str) -> Result<Self> {
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            process::output(git.args(arguments).current_dir(workspace::root()))
        };
        let changed = git(&["diff", "--name-only", revision, "--"])?
            + &git(&["ls-files", "--others", "--exclude-standard"])?;
        if changed.is_empty() {
            bail!("nothing differs from {revision}");
        }
        let root = format!("{}/", workspace::root().display());
        Self::of(&dependencies::metadata()?, &root, changed.lines())
    }

    fn of<'a>(
        metadata: &Value,
        root: &str,
        changed: impl Iterator<Item = &'a str>,
    ) -> Result<Self> {
        let mut folders = Vec::new();
        let mut uses = Vec::new();
        for package in dependencies::packages(metadata)? {
            let [name, manifest] = ["name", "manifest_path"].map(|key| package[key].as_str());
            let (name, manifest) = (name.unwrap_or_default(), manifest.unwrap_or_default());
            let folder = manifest.strip_prefix(root).unwrap_or(manifest);
            folders.push((folder.trim_end_matches("Cargo.toml"), name));
            let used = package["dependencies"].as_array().into_iter().flatten();
            uses.extend(used.filter_map(|used| Some((name, used["name"].as_str()?))));
        }
        let all: BTreeSet<&str> = folders.iter().map(|(_, name)| *name).collect();
        let mut reached = BTreeSet::new();
        for file in changed {
            let own = folders.iter().find(|(folder, _)| file.starts_with(folder));
            let readers = READ_BY.iter().find(|(folder, _)| file.starts_with(folder));
            match (own, readers) {
                (Some((_, name)), _) => drop(reached.insert(*name)),
                (None, Some((_, readers))) => reached.extend(*readers),
                (None, None) if file.ends_with(".md") => {}
                // Cargo.lock, a profile, the style: all depends on it.
                (None, None) => reached.extend(&all),
            }
        }
        while let Some((user, _)) = uses
            .iter()
            .find(|(user, used)| reached.contains(used) && !reached.contains(user))
        {
            reached.insert(user);
        }
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        Ok(Self {
            left_out: owned(&all - &reached),
            packages: owned(reached),
        })
    }

    /// Whether `package` has to be tested again.
    pub fn has(&self, package: &str) -> bool {
        self.packages.contains(package)
    }

    /// The suites of virtual machines that hold something of it.
    ///
    /// # Errors
    /// A suite cannot be read.
    pub fn suites(&self) -> Result<Vec<String>> {
        let suites = Suite::load_all(&workspace::root().join("kmod/suites"))?;
        let holds = |suite: &Suite| {
            let packages = suite
                .bundle
                .cargo
                .iter()
                .filter_map(|own| own.split_once('/'));
            self.has("pagemill-vm") || packages.into_iter().any(|(package, _)| self.has(package))
        };
        let held = suites
            .iter()
            .filter(|suite| !suite.on_demand && holds(suite));
        Ok(held.map(|suite| suite.name.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_reaches_what_depends_on_it() {
        let package = |name: &str, folder: &str, used: &[&str]| {
            let used: Vec<Value> = used.iter().map(|used| json!({ "name": used })).collect();
            json!({ "name": name, "manifest_path": format!("/w/{folder}Cargo.toml"), "dependencies": used })
        };
        let metadata = json!({ "packages": [
            package("pagemill-ptx", "crates/cuda/pagemill-ptx/", &["half"]),
            package("pagemill-sim", "crates/cuda/pagemill-sim/", &["pagemill-ptx"]),
            package("pagemill-run", "crates/lab/pagemill-run/", &["pagemill-sim"]),
            package("xtask", "xtask/", &[]),
        ] });
        let reached = |file: &str| {
            let reach = Reach::of(&metadata, "/w/", std::iter::once(file)).unwrap();
            let ours = reach
                .packages
                .iter()
                .filter(|name| !reach.left_out.contains(*name));
            ours.map(|name| name.replace("pagemill-", ""))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(reached("crates/cuda/pagemill-sim/src/lib.rs"), "run sim");
        assert_eq!(reached("xtask/src/main.rs"), "xtask");
        assert_eq!(reached("workloads/a.cu"), "ptx run sim workloads");
        assert_eq!(reached("Cargo.lock"), "ptx run sim xtask");
        assert_eq!(reached("CHANGELOG.md"), "");
    }
}
