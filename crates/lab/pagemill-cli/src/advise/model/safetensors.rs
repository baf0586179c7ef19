//! Safetensors, the file of Hugging Face's models: a length, a table in JSON, the weights.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use super::tensors::{Tensor, Tensors, bad};

/// The format's own limit of the table.
const TABLE_BYTES_MAX: u64 = 100_000_000;
const METADATA: &str = "__metadata__";

/// Types and their bits.
#[rustfmt::skip]
const TYPES: [(&str, u64); 20] = [
    ("BOOL", 8), ("U8", 8), ("I8", 8), ("U16", 16), ("I16", 16), ("U32", 32), ("I32", 32), ("U64", 64), ("I64", 64), ("F16", 16), ("BF16", 16),
    ("F32", 32), ("F64", 64), ("C64", 64), ("F8_E5M2", 8), ("F8_E4M3", 8), ("F8_E8M0", 8), ("F6_E2M3", 6), ("F6_E3M2", 6), ("F4", 4),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// The members of an object, none of them twice.
struct Table(BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Table;
            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Table, M::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.contains_key(&name) {
                        return Err(M::Error::custom(format!("{name:?} is there twice")));
                    }
                    members.insert(name, value);
                }
                Ok(Table(members))
            }
        }
        from.deserialize_map(Members)
    }
}

/// Reads the table of tensors; `length` is the first eight bytes of the file.
///
/// # Errors
/// The file is none, or the reader fails.
pub fn read(length: u64, from: &mut impl Read) -> io::Result<Tensors> {
    if length > TABLE_BYTES_MAX {
        return Err(bad("neither a GGUF nor a safetensors file".to_owned()));
    }
    let mut text = Vec::new();
    from.take(length).read_to_end(&mut text)?;
    if (text.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let Table(mut table) = serde_json::from_slice(&text)
        .map_err(|error| bad(format!("its table of tensors is wrong: {error}")))?;
    let mut tensors = Tensors::default();
    if let Some(metadata) = table.remove(METADATA) {
        add_facts(&mut tensors.facts, "", &metadata);
    }
    for (name, entry) in table {
        tensors.all.push(tensor(name, entry)?);
    }
    // No byte behind the table is without a tensor.
    let end = tensors
        .all
        .iter()
        .map(|tensor| tensor.start + tensor.bytes)
        .max()
        .unwrap_or(0);
    if tensors.bytes() < end {
        return Err(bad(format!(
            "its tensors have {} bytes, but end at byte {end}",
            tensors.bytes()
        )));
    }
    tensors.end_bytes = (length + 8)
        .checked_add(end)
        .ok_or_else(|| bad("its tensors end beyond all files".to_owned()))?;
    Ok(tensors)
}

fn tensor(name: String, entry: Value) -> io::Result<Tensor> {
    let Entry {
        dtype,
        shape,
        data_offsets: (start, end),
    } = serde_json::from_value(entry)
        .map_err(|error| bad(format!("tensor {name:?} is wrong: {error}")))?;
    let Some(bytes) = end.checked_sub(start) else {
        return Err(bad(format!("tensor {name:?} ends before it begins")));
    };
    let Some((_, bits)) = TYPES.iter().find(|(known, _)| *known == dtype) else {
        return Err(bad(format!(
            "tensor {name:?} has the unknown type {dtype:?}"
        )));
    };
    let wanted = shape
        .iter()
        .try_fold(*bits, |product, side| product.checked_mul(*side));
    if wanted != bytes.checked_mul(8) || wanted.is_none() {
        return Err(bad(format!(
            "tensor {name:?} of {dtype} and shape {shape:?} cannot have {bytes} bytes"
        )));
    }
    Ok(Tensor {
        name,
        start,
        bytes,
        shape,
    })
}

/// Adds the whole numbers in `value`, be they written as text, by their keys.
pub fn add_facts(facts: &mut BTreeMap<String, u64>, key: &str, value: &Value) {
    let number = match value {
        Value::Object(members) => {
            return members
                .iter()
                .for_each(|(key, value)| add_facts(facts, key, value));
        }
        Value::Array(values) => {
            return values.iter().for_each(|value| add_facts(facts, key, value));
        }
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    if let Some(number) = number {
        let most = facts.entry(key.to_owned()).or_default();
        *most = number.max(*most);
    }
}
