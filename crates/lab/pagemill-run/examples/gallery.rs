//! `cargo xtask gallery` runs this: a page for each document whose figures the built-in scenarios make.
//!
//! The argument is the folder, which exists and is empty. The rows are those kept in `validation/`; claims and figures are made of them anew, as
//! `pagemill run` makes them.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use pagemill_report::{ColumnKind, ResultSet, Row, Value, drawings, human};
use pagemill_run::result_set;
use pagemill_scenario::{SCENARIOS, Scenario, load};

/// A document: the beginning of its scenarios' names, the title of its page, and where its rows are kept.
const DOCUMENTS: [(&str, &str, &str); 6] = [
    ("ppm", "Partial page migration", "validation/ppm"),
    ("uvm", "Data larger than GPU memory", "validation/uvm"),
    (
        "pni",
        "A network interface with its translation table in main memory",
        "validation/pni",
    ),
    ("nic", "Network interfaces of today", "validation/pni"),
    ("zero", "Clearing huge pages", "validation/zero"),
    ("cachepm", "Colors of a shared cache", "validation/coloring"),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let gallery = std::env::args_os().nth(1).map(PathBuf::from);
    let gallery = gallery.ok_or("usage: gallery FOLDER")?;
    let mut index = String::from(
        "# Gallery\n\nOne page for each document: its published figures beside pagemill's own, made by `cargo xtask gallery` from the rows kept in `validation/`.\nIts `README.md` says how each was measured.\n\n",
    );
    for (prefix, title, kept) in DOCUMENTS {
        let page = page(&root, &gallery, prefix, title, kept)?;
        fs::write(gallery.join(format!("{prefix}.md")), page)?;
        writeln!(index, "* [{title}]({prefix}.md)")?;
    }
    fs::write(gallery.join("README.md"), index)?;
    Ok(())
}

fn page(root: &Path, gallery: &Path, prefix: &str, title: &str, kept: &str) -> Outcome<String> {
    let mut page = format!("# {title}\n");
    let own = format!("{prefix}-");
    for known in SCENARIOS
        .iter()
        .filter(|known| known.name.starts_with(&own))
    {
        let scenario = load(known.name, &[])?;
        // What examples/fit.py searches: it has the claims of another scenario, and a front instead of rows.
        if scenario.name == "ppm-fit" {
            continue;
        }
        let files = kept_files(&root.join(kept), known.name)?;
        if files.is_empty() {
            return Err(format!("{kept}/ holds no rows of {}", known.name).into());
        }
        let set = result_set(&scenario, rows(&scenario, &files)?.into_iter());
        section(&mut page, gallery, &scenario, &set)?;
        sources(&mut page, kept, &files)?;
    }
    Ok(page)
}

/// The files with rows of a scenario: of its run as it is, else of all its parts, which were run with different settings.
fn kept_files(folder: &Path, scenario: &str) -> Outcome<Vec<PathBuf>> {
    let whole = [scenario.to_owned(), format!("sim-{scenario}")];
    let whole = whole.map(|name| folder.join(name).with_extension("csv"));
    if let Some(whole) = whole.into_iter().find(|file| file.is_file()) {
        return Ok(vec![whole]);
    }
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&format!("{scenario}-")) && name.ends_with(".csv") {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

/// The rows of all `files`; of a point that several have, those of the first.
fn rows(scenario: &Scenario, files: &[PathBuf]) -> Outcome<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for file in files {
        let earlier = rows.len();
        for row in csv_rows(scenario, file)? {
            if rows[..earlier]
                .iter()
                .all(|known| known.parameters != row.parameters)
            {
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn sources(page: &mut String, kept: &str, files: &[PathBuf]) -> Outcome<()> {
    let named = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        format!("`{kept}/{name}`")
    };
    let named: Vec<String> = files.iter().map(named).collect();
    writeln!(page, "\nRows: {}", named.join(", "))?;
    Ok(())
}

/// The rows of a CSV file of `scenario`.
fn csv_rows(scenario: &Scenario, file: &Path) -> Outcome<Vec<Row>> {
    let empty = result_set(scenario, std::iter::empty());
    let mut reader = csv::Reader::from_path(file)?;
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let mut row = Row::new();
        for (name, text) in names.iter().zip(&record?) {
            let Some(column) = empty.columns.iter().find(|column| column.name == *name) else {
                continue;
            };
            let value = value(text, column.kind);
            row = match (value, column.role) {
                (None, _) => row,
                (Some(value), pagemill_report::ColumnRole::Parameter) => row.parameter(name, value),
                // Ratios are made of the others.
                (Some(_), _) if name.contains("_over_") => row,
                (Some(value), _) => row.metric(name, value),
            };
        }
        rows.push(row);
    }
    Ok(rows)
}

fn value(text: &str, kind: ColumnKind) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    if kind == ColumnKind::Text {
        return Some(text.into());
    }
    let whole = text.parse::<u64>().map(Value::from);
    let whole = whole.or_else(|_| text.parse::<i64>().map(Value::from));
    whole.or_else(|_| text.parse::<f64>().map(Value::from)).ok()
}

fn section(page: &mut String, gallery: &Path, scenario: &Scenario, set: &ResultSet) -> Outcome<()> {
    writeln!(
        page,
        "\n## {}\n\n`pagemill run {}`",
        set.title, scenario.name
    )?;
    if !set.about.is_empty() {
        writeln!(page, "\n{}", set.about)?;
    }
    for plot in &set.plots {
        writeln!(page, "\n**{}**", plot.title)?;
        for (number, drawing) in drawings(set, plot).iter().enumerate() {
            let file = format!("{}-{}-{}.svg", scenario.name, plot.id, number + 1);
            fs::write(gallery.join(&file), drawing)?;
            writeln!(page, "\n![{}]({file})", plot.title)?;
        }
        if !plot.caption.is_empty() {
            writeln!(page, "\n{}", plot.caption)?;
        }
    }
    if set.summary.claims.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\n| statement | published | here | holds |\n|---|---|---|---|"
    )?;
    for claim in &set.summary.claims {
        let shown = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or_else(|| "–".to_owned(), |value| human(value, claim.kind))
        };
        let holds = match claim.holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "?",
        };
        let text = claim.text.replace('|', "\\|");
        writeln!(
            page,
            "| {text} | {} | {} | {holds} |",
            shown(&claim.published),
            shown(&claim.measured)
        )?;
    }
    Ok(())
}
