//! `cargo run -p pagemill-run --example gallery`: a page in `docs/gallery/` for each document whose figures the built-in scenarios make.
//!
//! The rows are those kept in `validation/`; claims and figures are made of them anew, as `pagemill run` makes them.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pagemill_report::{ColumnKind, ResultSet, Row, Value, drawings, human};
use pagemill_run::result_set;
use pagemill_scenario::{SCENARIOS, Scenario, load};

/// A document: the beginning of its scenarios' names, the title of its page, and where its rows are kept.
const DOCUMENTS: [(&str, &str, &str); 3] = [
    ("ppm", "Partial page migration", "validation/ppm"),
    (
        "pni",
        "A network interface with its translation table in main memory",
        "validation/pni",
    ),
    ("zero", "Clearing huge pages", "validation/zero/xeon"),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let gallery = root.join("docs/gallery");
    fs::create_dir_all(&gallery)?;
    let mut index = String::from(
        "# Gallery\n\nOne page for each document: its published figures beside pagemill's own. Made by `cargo xtask gallery` from the rows kept in\n`validation/`; do not edit.\n\n",
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
    for scenario in SCENARIOS
        .iter()
        .filter(|scenario| scenario.name.starts_with(&format!("{prefix}-")))
    {
        let file = |ending: &str| root.join(kept).join(format!("{}.{ending}", scenario.name));
        let scenario = load(scenario.name, &[])?;
        let rows = if file("csv").is_file() {
            csv_rows(&scenario, &file("csv"))?
        } else if file("json").is_file() {
            pagemill_report::read(&fs::read_to_string(file("json"))?)?.rows
        } else {
            continue;
        };
        let set = result_set(&scenario, rows.into_iter());
        section(&mut page, gallery, &scenario, &set)?;
    }
    Ok(page)
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
