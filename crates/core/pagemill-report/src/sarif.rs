//! `findings.sarif`: mistakes of kernels as forges and editors show them (SARIF 2.1.0 of OASIS).

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::{ResultSet, Row, Value};

/// Its name.
pub const FILE: &str = "findings.sarif";

/// Whether mistakes were looked for.
pub fn applies(set: &ResultSet) -> bool {
    set.rows.iter().any(|row| row.number("findings").is_some())
}

/// Writes a result for each row of the table `defect`. Files are named as the debug information has them, but those below
/// `root` from there on, as forges do.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(set: &ResultSet, root: &Path, mut out: impl Write) -> io::Result<()> {
    let defects: Vec<&Row> = set.rows.iter().filter(|row| is_defect(row)).collect();
    let rules: BTreeSet<&str> = defects.iter().map(|row| text(row, "defect")).collect();
    let rules: Vec<Json> = rules.into_iter().map(|id| json!({ "id": id })).collect();
    let results: Vec<Json> = defects.into_iter().map(|row| result(row, root)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "pagemill",
                "version": set.pagemill_version,
                "rules": rules,
            } },
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut out, &log)?;
    writeln!(out)?;
    out.flush()
}

pub(crate) fn is_defect(row: &Row) -> bool {
    text(row, "table") == "defect"
}

/// The text of a row; empty where it has none.
pub(crate) fn text<'a>(row: &'a Row, name: &str) -> &'a str {
    match row.get(name) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

fn result(row: &Row, root: &Path) -> Json {
    let (name, line) = text(row, "line").rsplit_once(':').unwrap_or_default();
    let file = match text(row, "source") {
        "" => name,
        source => source,
    };
    let below = Path::new(file).strip_prefix(root).ok();
    let file = below.and_then(Path::to_str).unwrap_or(file);
    let mut place = json!({ "artifactLocation": { "uri": file } });
    if let Ok(line) = line.parse::<u32>()
        && line > 0
    {
        place["region"] = json!({ "startLine": line });
    }
    json!({
        "ruleId": text(row, "defect"),
        "level": "error",
        "message": { "text": text(row, "detail") },
        "locations": [{ "physicalLocation": place }],
        "occurrenceCount": row.number("seen").unwrap_or(1.0) as u64,
    })
}
