//! Safetensors, the file of Hugging Face's models: a length, a table in JSON, the weights.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::Deserialize;
use serde_json::Value;

use super::tensors::{Tensor, Tensors, bad};

/// The format's own limit of the table.
const TABLE_BYTES_MAX: u64 = 100_000_000;
const METADATA: &str = "__metadata__";

#[derive(Deserialize)]
struct Entry {
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// Reads the table of tensors; `length` is the first eight bytes of the file.
///
/// # Errors
/// The file is none, or the reader fails.
pub fn read(length: u64, from: &mut impl Read) -> io::Result<Tensors> {
    if length > TABLE_BYTES_MAX {
        return Err(bad("neither a GGUF nor a safetensors file".to_owned()));
    }
    let table: BTreeMap<String, Value> = serde_json::from_reader(from.take(length))
        .map_err(|error| bad(format!("its table of tensors is wrong: {error}")))?;
    let data = length + 8;
    let mut tensors = Tensors {
        all: Vec::new(),
        end_bytes: data,
    };
    for (name, entry) in table {
        if name == METADATA {
            continue;
        }
        let entry: Entry = serde_json::from_value(entry)
            .map_err(|error| bad(format!("tensor {name:?} is wrong: {error}")))?;
        let (start, end) = entry.data_offsets;
        let (Some(bytes), Some(end)) = (end.checked_sub(start), data.checked_add(end)) else {
            return Err(bad(format!(
                "tensor {name:?} ends before it begins, or beyond all files"
            )));
        };
        let rows = entry.shape.first().copied().unwrap_or(1).max(1);
        tensors.end_bytes = tensors.end_bytes.max(end);
        tensors.all.push(Tensor { name, bytes, rows });
    }
    Ok(tensors)
}
