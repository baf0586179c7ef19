//! `results.json` back to a [`ResultSet`]: rows and columns, which is what comparisons need.

use serde_json::{Map, Value as Json};

use crate::json::SCHEMA;
use crate::{Column, ColumnKind, ColumnRole, ResultSet, ResultSetError, Row, Value};

/// Why a text holds no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// It is JSON and no results.
    #[error("no results of pagemill: {0}")]
    NotResults(String),
    /// It is of another version of the format.
    #[error(
        "its schema is {found:?}, and this version of pagemill reads {SCHEMA:?}: make the file again with this version"
    )]
    OtherSchema {
        /// What it says.
        found: String,
    },
    /// A row does not fit the columns.
    #[error("row {row}: {message}")]
    BadRow {
        /// Index of the row, from 0.
        row: usize,
        /// What is wrong.
        message: String,
    },
    /// Names are ambiguous.
    #[error(transparent)]
    Ambiguous(#[from] ResultSetError),
}

/// Reads the text of a `results.json`: its names, columns and rows. Claims, facts and descriptions are left out.
///
/// # Errors
/// What keeps the text from being results, with its place.
pub fn read(text: &str) -> Result<ResultSet, ReadError> {
    // Some editors write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json: Json =
        serde_json::from_str(text).map_err(|error| ReadError::NotJson(error.to_string()))?;
    let object = json
        .as_object()
        .ok_or_else(|| ReadError::NotResults("the top level is not an object".to_owned()))?;
    let schema = word(object, "schema")?;
    if schema != SCHEMA {
        return Err(ReadError::OtherSchema { found: schema });
    }
    let columns = list(object, "columns")?
        .iter()
        .enumerate()
        .map(|(index, column)| self::column(index, column))
        .collect::<Result<Vec<_>, _>>()?;
    let mut set = ResultSet {
        scenario: word(object, "scenario")?,
        title: word(object, "title")?,
        subject: object
            .get("subject")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned(),
        about: word(object, "about")?,
        pagemill_version: word(object, "pagemill_version")?,
        seed: object.get("seed").and_then(Json::as_u64).ok_or_else(|| {
            ReadError::NotResults("`seed` is missing or no whole number".to_owned())
        })?,
        measured: object.get("measured") == Some(&Json::Bool(true)),
        columns,
        ..ResultSet::default()
    };
    set.check()?;
    set.rows = list(object, "rows")?
        .iter()
        .enumerate()
        .map(|(index, row)| self::row(index, row, &set.columns))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(kind) = object.get("kind").and_then(Json::as_str) {
        set.rows
            .iter_mut()
            .for_each(|row| kind.clone_into(&mut row.kind));
    }
    Ok(set)
}

fn word(object: &Map<String, Json>, key: &str) -> Result<String, ReadError> {
    let text = object.get(key).and_then(Json::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| ReadError::NotResults(format!("`{key}` is missing or no text")))
}

fn list<'a>(object: &'a Map<String, Json>, key: &str) -> Result<&'a [Json], ReadError> {
    let list = object.get(key).and_then(Json::as_array);
    list.map(Vec::as_slice)
        .ok_or_else(|| ReadError::NotResults(format!("`{key}` is missing or no list")))
}

fn column(index: usize, json: &Json) -> Result<Column, ReadError> {
    let bad = |message: &str| ReadError::NotResults(format!("column {index}: {message}"));
    let object = json.as_object().ok_or_else(|| bad("not an object"))?;
    let text = |key: &str| object.get(key).and_then(Json::as_str);
    let name = text("name").ok_or_else(|| bad("`name` is missing or no text"))?;
    let role = match text("role") {
        Some("parameter") => ColumnRole::Parameter,
        Some("metric") => ColumnRole::Metric,
        _ => return Err(bad("`role` is neither \"parameter\" nor \"metric\"")),
    };
    let kind = text("kind").ok_or_else(|| bad("`kind` is missing or no text"))?;
    Ok(Column {
        name: name.to_owned(),
        role,
        // A kind of a later version is shown as it is.
        kind: ColumnKind::of_machine_name(kind).unwrap_or(ColumnKind::Number),
        doc: text("doc").unwrap_or_default().to_owned(),
    })
}

fn row(index: usize, json: &Json, columns: &[Column]) -> Result<Row, ReadError> {
    let bad = |message: String| ReadError::BadRow {
        row: index,
        message,
    };
    let object = json
        .as_object()
        .ok_or_else(|| bad("not an object".to_owned()))?;
    let is_known = |name: &String| columns.iter().any(|column| column.name == *name);
    if let Some(name) = object.keys().find(|name| !is_known(name)) {
        return Err(bad(format!("it holds `{name}`, which no column describes")));
    }
    let mut row = Row::new();
    for column in columns {
        let value = match object.get(&column.name) {
            None | Some(Json::Null) => continue,
            Some(json) => value(json).ok_or_else(|| {
                bad(format!(
                    "`{}` is neither a number nor text nor true or false",
                    column.name
                ))
            })?,
        };
        row = match column.role {
            ColumnRole::Parameter => row.parameter(&column.name, value),
            ColumnRole::Metric => row.metric(&column.name, value),
        };
    }
    Ok(row)
}

fn value(json: &Json) -> Option<Value> {
    match json {
        Json::Bool(flag) => Some(Value::Bool(*flag)),
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Number(number) => number
            .as_u64()
            .map(Value::Unsigned)
            .or_else(|| number.as_i64().map(Value::Signed))
            .or_else(|| number.as_f64().map(Value::Float)),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
