//! `results.json`: the contract that scripts rely on. Its fields are described in `docs/results.md`.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use crate::{Claim, Column, ColumnRole, DescriptionSection, Fact, ResultSet, Row, Value};

/// Names the format and its major version. A reader should refuse another one.
pub const SCHEMA: &str = "pagemill-results/2";

/// Writes `set` as JSON: equal results give equal bytes.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(set: &ResultSet, mut out: impl Write) -> io::Result<()> {
    let columns = set.all_columns();
    writeln!(out, "{{")?;
    field(&mut out, "schema", &SCHEMA)?;
    field(&mut out, "scenario", &set.scenario)?;
    field(&mut out, "title", &set.title)?;
    if !set.subject.is_empty() {
        field(&mut out, "subject", &set.subject)?;
    }
    field(&mut out, "about", &set.about)?;
    field(&mut out, "pagemill_version", &set.pagemill_version)?;
    if let Some(kind) = kind(&set.rows) {
        field(&mut out, "kind", &kind)?;
    }
    field(&mut out, "seed", &set.seed)?;
    if set.measured {
        field(&mut out, "measured", &true)?;
    }
    list(&mut out, "  ", "columns", columns.iter().map(ColumnJson))?;
    list(
        &mut out,
        "  ",
        "rows",
        set.rows.iter().map(|row| RowJson {
            row,
            columns: &columns,
        }),
    )?;
    writeln!(out, "  \"summary\": {{")?;
    list(
        &mut out,
        "    ",
        "claims",
        set.summary.claims.iter().map(ClaimJson),
    )?;
    if let Some(count) = set.summary.failed_launches {
        writeln!(out, "    \"failed_launches\": {count},")?;
    }
    if !set.summary.warnings.is_empty() {
        list(&mut out, "    ", "warnings", set.summary.warnings.iter())?;
    }
    write!(out, "    \"facts\": ")?;
    serde_json::to_writer(&mut out, &FactsJson(&set.summary.facts))?;
    writeln!(out, "\n  }},")?;
    write!(out, "  \"description\": ")?;
    serde_json::to_writer(&mut out, &DescriptionJson(&set.description))?;
    writeln!(out, "\n}}")?;
    out.flush()
}

/// The kind of all rows, if they are of one.
fn kind(rows: &[Row]) -> Option<&str> {
    let first = rows.first()?.kind.as_str();
    let is_of_it = |row: &Row| row.kind == first;
    (!first.is_empty() && rows.iter().all(is_of_it)).then_some(first)
}

fn field(out: &mut impl Write, name: &str, value: &impl Serialize) -> io::Result<()> {
    write!(out, "  \"{name}\": ")?;
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out, ",")
}

/// One element a line, so that two results differ in the lines that differ.
fn list<T: Serialize>(
    out: &mut impl Write,
    indent: &str,
    name: &str,
    items: impl Iterator<Item = T>,
) -> io::Result<()> {
    write!(out, "{indent}\"{name}\": [")?;
    let mut separator = "\n";
    for item in items {
        write!(out, "{separator}{indent}  ")?;
        serde_json::to_writer(&mut *out, &item)?;
        separator = ",\n";
    }
    if separator
        != "
"
    {
        write!(
            out,
            "
{indent}"
        )?;
    }
    writeln!(out, "],")
}

struct ColumnJson<'a>(&'a Column);

impl Serialize for ColumnJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let role = match self.0.role {
            ColumnRole::Parameter => "parameter",
            ColumnRole::Metric => "metric",
        };
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("role", role)?;
        map.serialize_entry("kind", self.0.kind.machine_name())?;
        map.serialize_entry("unit", self.0.kind.machine_unit())?;
        map.serialize_entry("doc", &self.0.doc)?;
        map.end()
    }
}

struct RowJson<'a> {
    row: &'a Row,
    columns: &'a [Column],
}

impl Serialize for RowJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for column in self.columns {
            map.serialize_entry(&column.name, &ValueJson(self.row.get(&column.name)))?;
        }
        map.end()
    }
}

struct ValueJson<'a>(Option<&'a Value>);

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(Value::Unsigned(n)) => serializer.serialize_u64(*n),
            Some(Value::Signed(n)) => serializer.serialize_i64(*n),
            Some(Value::Float(n)) if n.is_finite() => serializer.serialize_f64(*n),
            Some(Value::Text(text)) => serializer.serialize_str(text),
            Some(Value::Bool(flag)) => serializer.serialize_bool(*flag),
            Some(Value::Float(_)) | None => serializer.serialize_none(),
        }
    }
}

struct ClaimJson<'a>(&'a Claim);

impl Serialize for ClaimJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let claim = self.0;
        let mut map = serializer.serialize_map(Some(7))?;
        map.serialize_entry("id", &claim.id)?;
        map.serialize_entry("text", &claim.text)?;
        map.serialize_entry("kind", claim.kind.machine_name())?;
        map.serialize_entry("published", &ValueJson(claim.published.as_ref()))?;
        map.serialize_entry("measured", &ValueJson(claim.measured.as_ref()))?;
        map.serialize_entry("holds", &claim.holds)?;
        map.serialize_entry("note", &claim.note)?;
        map.end()
    }
}

struct FactsJson<'a>(&'a [Fact]);

impl Serialize for FactsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|fact| (&fact.name, ValueJson(Some(&fact.value)))),
        )
    }
}

struct DescriptionJson<'a>(&'a [DescriptionSection]);

impl Serialize for DescriptionJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for section in self.0 {
            let entries: Vec<_> = section
                .entries
                .iter()
                .map(|entry| {
                    serde_json::json!({
                        "name": entry.name,
                        "value": entry.value,
                        "source": entry.source,
                    })
                })
                .collect();
            list.serialize_element(&serde_json::json!({
                "title": section.title,
                "entries": entries,
            }))?;
        }
        list.end()
    }
}
