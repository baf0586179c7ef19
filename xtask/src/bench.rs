//! Benchmarks, and the figures they leave behind.
//!
//! A bench program prints, beside whatever it shows to people, lines `pagemill-bench NAME FIGURE UNIT`, and may add `beside
//! OTHER`: the figure of the same run to compare with. They become rows of `validation/bench/figures.csv`, with the commit and
//! the machine they were measured on, and the table in `validation/bench/README.md` is made of those.

mod table;

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, output, watch};
use crate::workspace;

const MARK: &str = "pagemill-bench ";

/// Runs every benchmark whose name contains `filter`, of `package` or of all, and keeps the figures.
pub fn run(filter: Option<&str>, package: Option<&str>) -> Result<()> {
    let circumstances = Circumstances::read()?;
    let of = package.map_or(vec!["--workspace"], |package| vec!["--package", package]);
    let mut benches = cargo(&["bench", "--bench", "*"]);
    benches.args(of);
    if let Some(filter) = filter {
        benches.args(["--", filter]);
    }
    let mut figures = Vec::new();
    let succeeded = watch(&mut benches, |line| figures.extend(Figure::parse(line)))?;
    if !succeeded {
        bail!("a benchmark failed; no figure is kept");
    }
    let folder = workspace::root().join("validation/bench");
    let path = folder.join("figures.csv");
    let mut rows = table::read(&std::fs::read_to_string(&path).unwrap_or_default());
    rows.extend(table::rows(&figures, &circumstances));
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    write("figures.csv", table::csv(&rows))?;
    write("README.md", table::readme(&rows))?;
    println!(
        "{} figures in {}",
        figures.len(),
        workspace::relative(&folder).display()
    );
    Ok(())
}

/// One measured number.
#[derive(Clone, Debug, PartialEq)]
struct Figure {
    name: String,
    value: f64,
    unit: String,
    /// The name of the figure to compare with.
    beside: Option<String>,
}

impl Figure {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.strip_prefix(MARK)?.split_whitespace().collect();
        let (first, beside) = match words.as_slice() {
            [first @ .., "beside", other] if first.len() == 3 => (first, Some(*other)),
            first => (first, None),
        };
        let &[name, value, unit] = first else {
            return None;
        };
        let is_plain = |name: &str| {
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        let value = value
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())?;
        let is_sound = is_plain(name) && beside.is_none_or(is_plain);
        is_sound.then(|| Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            beside: beside.map(str::to_owned),
        })
    }
}

/// What a figure depends on beside the code under test.
#[derive(Clone, Debug)]
struct Circumstances {
    commit: String,
    cpu: String,
    cores: usize,
    /// Mean number of processes that ran or waited to, over the minute before.
    load: String,
}

impl Circumstances {
    /// Those of now; refused where the code is none of a commit.
    fn read() -> Result<Self> {
        let git = |arguments: &[&str]| {
            output(
                Command::new("git")
                    .args(arguments)
                    .current_dir(workspace::root()),
            )
        };
        let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
        let changed: Vec<&str> = changed
            .lines()
            .filter(|line| !line.contains("validation/bench/"))
            .collect();
        if !changed.is_empty() {
            bail!(
                "{} files differ from the last commit, so figures would be of no commit: commit first",
                changed.len()
            );
        }
        let cores = std::thread::available_parallelism().context("cannot count the cores")?;
        Ok(Self {
            commit: git(&["rev-parse", "--short=8", "HEAD"])?.trim().to_owned(),
            cpu: cpu_name(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            cores: cores.get(),
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

/// Rows by the name of their figure.
type Rows = BTreeMap<String, table::Row>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_line_is_a_figure() {
        let line = "pagemill-bench vector-add-functional 1.5e9 thread-instructions/s";
        let figure = Figure::parse(line).unwrap();
        assert_eq!(figure.name, "vector-add-functional");
        assert_eq!(figure.value, 1.5e9);
        assert_eq!(figure.unit, "thread-instructions/s");
        assert_eq!(figure.beside, None);
        let figure = Figure::parse(&format!("{line} beside by-hand")).unwrap();
        assert_eq!(figure.beside.as_deref(), Some("by-hand"));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "vector_add  12 ms",
            "pagemill-bench a 1",
            "pagemill-bench a one s",
            "pagemill-bench a 1 s more",
            "pagemill-bench a 1 s beside",
            "pagemill-bench ../a 1 s",
            "pagemill-bench a inf s",
        ] {
            assert_eq!(Figure::parse(line), None, "{line}");
        }
    }

    #[test]
    fn rows_survive_the_file_and_the_table_compares() {
        let circumstances = Circumstances {
            commit: "abc".to_owned(),
            cpu: cpu_name("vendor_id\t: x\nmodel name\t: Some CPU, 2 GHz\n"),
            cores: 2,
            load: load("0.52 1.00 2.00 1/100 12345\n"),
        };
        let lines = [
            "pagemill-bench hand 4e9 x/s",
            "pagemill-bench a 2e9 x/s beside hand",
        ];
        let figures: Vec<Figure> = lines
            .iter()
            .filter_map(|line| Figure::parse(line))
            .collect();
        let rows: Rows = table::rows(&figures, &circumstances).collect();
        let read = table::read(&table::csv(&rows));
        assert_eq!(table::csv(&read), table::csv(&rows));
        let text = table::readme(&read);
        assert!(
            text.contains("| a | 2.00 G x/s | hand 4.00 G | 0.50 | abc |"),
            "{text}"
        );
        assert!(text.contains("Some CPU; 2 GHz"), "{text}");
        assert_eq!(cpu_name(""), "unknown");
    }
}
