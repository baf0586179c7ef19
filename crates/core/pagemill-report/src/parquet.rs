//! `results.parquet`: the rows as columns of one type each, and rows back from such a file.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::{Type, TypePtr};

use crate::json::SCHEMA;
use crate::seal;
use crate::{Column, ColumnKind, ColumnRole, ResultSet, Row, Value};

/// The key of the file's metadata that names the parameters, one a line.
const PARAMETERS: &str = "pagemill.parameters";

/// The key of the checksum.
const SEAL: &str = "pagemill.seal";

/// Writes the rows of `set`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(set: &ResultSet, out: impl Write + Send) -> io::Result<()> {
    let about = [
        ("pagemill.schema", SCHEMA.to_owned()),
        ("pagemill.scenario", set.scenario.clone()),
        ("pagemill.version", set.pagemill_version.clone()),
        ("pagemill.seed", set.seed.to_string()),
    ];
    write_table(&set.all_columns(), &set.rows, &about, out).map_err(io::Error::other)
}

/// `rows` as a file that [`read_rows`] reads back exactly.
///
/// # Errors
/// A name stands for two columns.
pub fn write_rows(rows: &[Row]) -> io::Result<Vec<u8>> {
    let set = ResultSet {
        rows: rows.to_vec(),
        ..ResultSet::default()
    };
    set.check().map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    let about = [(SEAL, seal::BLANK.to_owned())];
    write_table(&set.all_columns(), rows, &about, &mut bytes).map_err(io::Error::other)?;
    seal::close(&mut bytes);
    Ok(bytes)
}

/// The rows of a file that pagemill wrote.
///
/// # Errors
/// It is cut off, damaged, or not one of ours.
pub fn read_rows(bytes: Vec<u8>) -> io::Result<Vec<Row>> {
    if !seal::holds(&bytes) {
        let what = "it is not as pagemill wrote it";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    read_table(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The one type that all values of a column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Unsigned,
    Signed,
    Float,
    Bool,
    Text,
}

impl Form {
    fn of_value(value: &Value) -> Self {
        match value {
            Value::Unsigned(_) => Self::Unsigned,
            Value::Signed(_) => Self::Signed,
            Value::Float(_) => Self::Float,
            Value::Bool(_) => Self::Bool,
            Value::Text(_) => Self::Text,
        }
    }

    fn of_kind(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Count | ColumnKind::Bytes => Self::Unsigned,
            ColumnKind::Text => Self::Text,
            _ => Self::Float,
        }
    }

    /// What holds values of both.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (own, other) if own == other => own,
            (Self::Bool | Self::Text, _) | (_, Self::Bool | Self::Text) => Self::Text,
            (Self::Float, _) | (_, Self::Float) => Self::Float,
            _ => Self::Signed,
        }
    }

    fn of_column(column: &Column, rows: &[Row]) -> Self {
        let values = rows.iter().filter_map(|row| row.get(&column.name));
        let is_past_signed =
            |value: &Value| matches!(value, Value::Unsigned(n) if *n > i64::MAX as u64);
        let form = values.clone().map(Self::of_value).reduce(Self::with);
        match form {
            // A column with both has no whole type that holds them.
            Some(Self::Signed) if values.clone().any(is_past_signed) => Self::Float,
            Some(form) => form,
            None => Self::of_kind(column.kind),
        }
    }

    fn schema(self, name: &str) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Self::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::Signed => (Physical::INT64, Some(LogicalType::integer(64, true))),
            Self::Float => (Physical::DOUBLE, None),
            Self::Bool => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let built = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(built))
    }
}

fn write_table(
    columns: &[Column],
    rows: &[Row],
    about: &[(&str, String)],
    out: impl Write + Send,
) -> Result<(), ParquetError> {
    let forms: Vec<Form> = columns
        .iter()
        .map(|column| Form::of_column(column, rows))
        .collect();
    let fields = columns
        .iter()
        .zip(&forms)
        .map(|(column, form)| form.schema(&column.name));
    let schema = Type::group_type_builder("results")
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    let parameters: Vec<&str> = columns
        .iter()
        .filter(|column| column.role == ColumnRole::Parameter)
        .map(|column| column.name.as_str())
        .collect();
    let mut metadata = vec![KeyValue::new(PARAMETERS.to_owned(), parameters.join("\n"))];
    metadata.extend(
        about
            .iter()
            .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone())),
    );
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(metadata))
        .set_created_by(format!("pagemill {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    if !columns.is_empty() {
        let mut group = file.next_row_group()?;
        for (column, form) in columns.iter().zip(&forms) {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            write_column(writer.untyped(), &column.name, *form, rows)?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn write_column(
    writer: &mut ColumnWriter<'_>,
    name: &str,
    form: Form,
    rows: &[Row],
) -> Result<(), ParquetError> {
    let present: Vec<&Value> = rows.iter().filter_map(|row| row.get(name)).collect();
    let levels: Vec<i16> = rows
        .iter()
        .map(|row| row.get(name).is_some().into())
        .collect();
    match writer {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let values: Vec<i64> = present.iter().map(|value| whole(value)).collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let values: Vec<f64> = present.iter().map(|value| float(value)).collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        ColumnWriter::BoolColumnWriter(writer) => {
            let values: Vec<bool> = present
                .iter()
                .map(|value| **value == Value::Bool(true))
                .collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let text = |value: &&Value| ByteArray::from(value.to_string().into_bytes());
            let values: Vec<ByteArray> = present.iter().map(text).collect();
            writer.write_batch(&values, Some(&levels), None)?;
        }
        _ => {
            return Err(ParquetError::General(format!(
                "column {name} of form {form:?} has no writer"
            )));
        }
    }
    Ok(())
}

/// The bits of a whole number: unsigned ones above 2^63 read back by their logical type.
fn whole(value: &Value) -> i64 {
    match value {
        Value::Unsigned(number) => number.cast_signed(),
        Value::Signed(number) => *number,
        _ => 0,
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}

fn read_table(bytes: Vec<u8>) -> Result<Vec<Row>, ParquetError> {
    let reader = SerializedFileReader::new(Bytes::from(bytes))?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let parameters = metadata
        .and_then(|entries| entries.iter().find(|entry| entry.key == PARAMETERS))
        .and_then(|entry| entry.value.clone())
        .ok_or_else(|| ParquetError::General("it is no file of pagemill".to_owned()))?;
    let parameters: Vec<&str> = parameters.lines().collect();
    let mut rows = Vec::new();
    for record in reader.get_row_iter(None)? {
        let mut row = Row::new();
        for (name, field) in record?.get_column_iter() {
            let Some(value) = value(name, field)? else {
                continue;
            };
            row = if parameters.contains(&name.as_str()) {
                row.parameter(name, value)
            } else {
                row.metric(name, value)
            };
        }
        rows.push(row);
    }
    Ok(rows)
}

fn value(name: &str, field: &Field) -> Result<Option<Value>, ParquetError> {
    Ok(Some(match field {
        Field::Null => return Ok(None),
        Field::ULong(number) => Value::Unsigned(*number),
        Field::Long(number) => Value::Signed(*number),
        Field::Double(number) => Value::Float(*number),
        Field::Bool(flag) => Value::Bool(*flag),
        Field::Str(text) => Value::Text(text.clone()),
        other => {
            return Err(ParquetError::General(format!(
                "column {name} holds {other}"
            )));
        }
    }))
}

#[cfg(test)]
mod tests;
