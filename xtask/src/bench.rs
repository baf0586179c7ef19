//! Benchmarks, and the figures they leave behind.
//!
//! A bench program prints, beside whatever it shows to people, lines `pagemill-bench NAME FIGURE UNIT`. Each becomes
//! `validation/bench/NAME.json`, together with the commit and the machine it was measured on.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::process::{cargo, output, watch};
use crate::workspace;

const MARK: &str = "pagemill-bench ";

/// Runs every benchmark whose name contains `filter`, of `package` or of all, and keeps the figures.
pub fn run(filter: Option<&str>, package: Option<&str>) -> Result<()> {
    let of = package.map_or(vec!["--workspace"], |package| vec!["--package", package]);
    let mut benches = cargo(&["bench", "--bench", "*"]);
    benches.args(of);
    if let Some(filter) = filter {
        benches.args(["--", filter]);
    }
    let circumstances = Circumstances::read()?;
    let mut figures = Vec::new();
    let succeeded = watch(&mut benches, |line| figures.extend(Figure::parse(line)))?;
    if !succeeded {
        bail!("a benchmark failed; no figure is kept");
    }
    let folder = workspace::root().join("validation/bench");
    for figure in &figures {
        figure.keep(&folder, &circumstances)?;
    }
    println!(
        "{} figures in {}",
        figures.len(),
        workspace::relative(&folder).display()
    );
    Ok(())
}

/// One measured number.
#[derive(Debug, PartialEq)]
struct Figure {
    name: String,
    value: f64,
    unit: String,
}

impl Figure {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(MARK)?.split_whitespace();
        let (name, value, unit) = (
            words.next()?,
            words.next()?.parse::<f64>().ok()?,
            words.next()?,
        );
        let is_plain = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let is_one = is_plain && value.is_finite() && words.next().is_none();
        is_one.then(|| Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        })
    }

    fn record(&self, circumstances: &Circumstances) -> Value {
        json!({
            "name": self.name,
            "figure": self.value,
            "unit": self.unit,
            "commit": circumstances.commit,
            "uncommitted_changes": circumstances.uncommitted_changes,
            "rustc": circumstances.rustc,
            "machine": { "cpu": circumstances.cpu, "logical_cores": circumstances.logical_cores, "load_before": circumstances.load },
        })
    }

    fn keep(&self, folder: &Path, circumstances: &Circumstances) -> Result<()> {
        let path = folder.join(format!("{}.json", self.name));
        let text = format!("{:#}\n", self.record(circumstances));
        let write = || std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        write().with_context(|| format!("cannot write {}", path.display()))
    }
}

/// What a figure depends on beside the code under test.
struct Circumstances {
    commit: String,
    uncommitted_changes: bool,
    rustc: String,
    cpu: String,
    logical_cores: usize,
    /// Mean number of processes that ran or waited to, over the minute before.
    load: String,
}

impl Circumstances {
    fn read() -> Result<Self> {
        let git = |arguments: &[&str]| {
            output(
                Command::new("git")
                    .args(arguments)
                    .current_dir(workspace::root()),
            )
        };
        let cores = std::thread::available_parallelism().context("cannot count the cores")?;
        Ok(Self {
            commit: git(&["rev-parse", "HEAD"])?.trim().to_owned(),
            uncommitted_changes: !git(&["status", "--porcelain", "--untracked-files=no"])?
                .is_empty(),
            rustc: output(Command::new("rustc").arg("--version"))?
                .trim()
                .to_owned(),
            cpu: cpu_name(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            logical_cores: cores.get(),
            load: load(&std::fs::read_to_string("/proc/loadavg").unwrap_or_default()),
        })
    }
}

fn load(loadavg: &str) -> String {
    let load = loadavg.split_whitespace().next();
    load.unwrap_or("unknown").to_owned()
}

fn cpu_name(cpuinfo: &str) -> String {
    let name = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_line_is_a_figure() {
        let figure =
            Figure::parse("pagemill-bench vector-add-functional 1.5e9 thread-instructions/s")
                .unwrap();
        assert_eq!(figure.name, "vector-add-functional");
        assert_eq!(figure.value, 1.5e9);
        assert_eq!(figure.unit, "thread-instructions/s");
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "vector_add  12 ms",
            "pagemill-bench a 1",
            "pagemill-bench a one s",
            "pagemill-bench a 1 s more",
            "pagemill-bench ../a 1 s",
            "pagemill-bench a inf s",
        ] {
            assert_eq!(Figure::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_record_says_where_it_was_measured() {
        let circumstances = Circumstances {
            commit: "abc".to_owned(),
            uncommitted_changes: true,
            rustc: "rustc 1".to_owned(),
            cpu: cpu_name("vendor_id\t: x\nmodel name\t: Some CPU @ 2 GHz\n"),
            logical_cores: 2,
            load: load("0.52 1.00 2.00 1/100 12345\n"),
        };
        let folder = tempfile::tempdir().unwrap();
        let figure = Figure::parse("pagemill-bench a 2 s").unwrap();
        figure.keep(folder.path(), &circumstances).unwrap();
        let text = std::fs::read_to_string(folder.path().join("a.json")).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(record["figure"], 2.0);
        assert_eq!(record["machine"]["cpu"], "Some CPU @ 2 GHz");
        assert_eq!(cpu_name(""), "unknown");
    }
}
