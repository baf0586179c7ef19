//! What `results.json` and `results.csv` say is what the rows say, whatever the strings.

use pagemill_report::{ResultSet, Value, csv, json};
use proptest::prelude::*;

fn json_of(set: &ResultSet) -> String {
    let mut out = Vec::new();
    json::write(set, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn same(value: Option<&Value>, json: &serde_json::Value) -> bool {
    match value {
        None => json.is_null(),
        Some(Value::Unsigned(n)) => json.as_u64() == Some(*n),
        Some(Value::Signed(n)) => json.as_i64() == Some(*n),
        Some(Value::Float(n)) if n.is_finite() => {
            json.is_f64() && json.as_f64().map(f64::to_bits) == Some(n.to_bits())
        }
        Some(Value::Float(_)) => json.is_null(),
        Some(Value::Text(text)) => json.as_str() == Some(text),
        Some(Value::Bool(flag)) => json.as_bool() == Some(*flag),
    }
}

proptest! {
    #[test]
    fn json_holds_every_value_exactly(set in crate::common::result_set()) {
        let text = json_of(&set);
        let closed = text.ends_with("}\n");
        prop_assert!(closed);
        prop_assert_eq!(&text, &json_of(&set));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read["title"].as_str(), Some(set.title.as_str()));
        prop_assert_eq!(read["seed"].as_u64(), Some(set.seed));
        let columns = set.all_columns();
        let rows = read["rows"].as_array().unwrap();
        prop_assert_eq!(rows.len(), set.rows.len());
        for (row, json_row) in set.rows.iter().zip(rows) {
            let keys: Vec<&String> = json_row.as_object().unwrap().keys().collect();
            prop_assert_eq!(keys, columns.iter().map(|c| &c.name).collect::<Vec<_>>());
            for column in &columns {
                let cell = row.get(&column.name);
                prop_assert!(same(cell, &json_row[&column.name]), "{:?} in {}", cell, text);
            }
        }
    }

    #[test]
    fn csv_holds_every_value_exactly(set in crate::common::result_set()) {
        let mut out = Vec::new();
        csv::write(&set, &mut out).unwrap();
        let columns = set.all_columns();
        let mut reader = ::csv::Reader::from_reader(out.as_slice());
        if !columns.is_empty() {
            let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
            prop_assert_eq!(header, columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>());
        }
        let records: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        if columns.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(records.len(), set.rows.len());
        for (row, record) in set.rows.iter().zip(&records) {
            for (column, field) in columns.iter().zip(record) {
                match row.get(&column.name) {
                    None => prop_assert_eq!(field, ""),
                    Some(Value::Float(n)) if n.is_finite() => {
                        prop_assert_eq!(field.parse::<f64>().unwrap().to_bits(), n.to_bits());
                    }
                    Some(value) => prop_assert_eq!(field, value.to_string()),
                }
            }
        }
    }
}

#[test]
fn json_never_holds_nan() {
    let mut set = crate::common::sample();
    set.rows[0].metrics[0].1 = Value::Float(f64::NAN);
    set.summary.claims[0].measured = Some(Value::Float(f64::INFINITY));
    let read: serde_json::Value = serde_json::from_str(&json_of(&set)).unwrap();
    assert!(read["rows"][0]["time_ns"].is_null());
    assert!(read["summary"]["claims"][0]["measured"].is_null());
}

#[test]
fn json_has_the_promised_top_level() {
    let read: serde_json::Value = serde_json::from_str(&json_of(&crate::common::sample())).unwrap();
    let keys: Vec<&str> = read
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let promised = [
        "schema",
        "scenario",
        "title",
        "about",
        "pagemill_version",
        "seed",
        "columns",
        "rows",
        "summary",
        "description",
    ];
    assert_eq!(keys, promised);
    assert_eq!(read["schema"], json::SCHEMA);
    assert_eq!(read["summary"]["facts"]["simulated_bytes"], 1u64 << 30);
    assert_eq!(read["summary"]["claims"][0]["holds"], true);
    assert_eq!(read["columns"][3]["unit"], "ns");
    assert_eq!(read["description"][0]["entries"][0]["value"], "16 GB/s");
}

#[test]
fn integers_stay_integers() {
    let text = json_of(&crate::common::sample());
    assert!(text.contains("\"unit_bytes\":1024,"), "{text}");
    let mut set = crate::common::sample();
    set.rows.truncate(1);
    set.rows[0].metrics[0].1 = Value::Float(1.0);
    assert!(
        json_of(&set).contains("\"time_ns\":1.0,"),
        "a float stays a float"
    );
}
