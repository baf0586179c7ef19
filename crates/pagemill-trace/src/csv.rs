use std::io::Read;
use std::str::FromStr;

use csv::{ByteRecord, ReaderBuilder};

use crate::{Access, Reference, Trace, TraceError, View};

/// References of a block.
const BLOCK: usize = 16 << 10;

const NEEDED: &str = "the columns that --csv names, with a number in those of addresses and bytes";

/// Which columns of a table hold what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The column of the object or the address, from 0.
    key: usize,
    is_address: bool,
    /// The column of the size in bytes; without one, all are of 1 byte.
    bytes: Option<usize>,
    has_header: bool,
    delimiter: u8,
}

impl Columns {
    /// Whether the table has objects, not addresses.
    pub fn are_objects(&self) -> bool {
        !self.is_address
    }
}

/// Why a text does not describe columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` describes no column; write as `object=2,bytes=3,header,delimiter=;`, or `address=1` for addresses of memory, with columns from 1"
)]
pub struct ColumnsError {
    word: String,
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let error = |word: &str| ColumnsError {
            word: word.to_owned(),
        };
        let (mut key, mut bytes, mut has_header, mut delimiter) = (None, None, false, b',');
        for word in text.split(',') {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let column = || {
                let number = value.parse::<usize>().ok();
                number
                    .and_then(|number| number.checked_sub(1))
                    .ok_or_else(|| error(word))
            };
            match (name, value) {
                ("object", _) => key = Some((column()?, false)),
                ("address", _) => key = Some((column()?, true)),
                ("bytes", _) => bytes = Some(column()?),
                ("header", "") => has_header = true,
                ("delimiter", "tab") => delimiter = b'\t',
                ("delimiter", "space") => delimiter = b' ',
                ("delimiter", value) if value.len() == 1 => delimiter = value.as_bytes()[0],
                _ => return Err(error(word)),
            }
        }
        let (key, is_address) = key.ok_or_else(|| error(text))?;
        Ok(Self {
            key,
            is_address,
            bytes,
            has_header,
            delimiter,
        })
    }
}

/// A table of requests: comma-separated values, with a key for each request and perhaps a size.
pub struct Csv<R: Read> {
    reader: csv::Reader<R>,
    record: ByteRecord,
    columns: Columns,
    view: View,
}

impl<R: Read> Csv<R> {
    /// Starts at the first row.
    pub fn new(input: R, columns: Columns, view: View) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(columns.has_header)
            .delimiter(columns.delimiter)
            .flexible(true)
            .from_reader(input);
        Self {
            reader,
            record: ByteRecord::new(),
            columns,
            view,
        }
    }

    fn reference(&self) -> Option<Reference> {
        let Columns {
            key,
            is_address,
            bytes,
            ..
        } = self.columns;
        let key = self.record.get(key)?.trim_ascii();
        let bytes = match bytes {
            Some(column) => u32::try_from(number(self.record.get(column)?.trim_ascii())?).ok()?,
            None => 1,
        };
        let (address, bytes) = match (is_address, number(key)) {
            (true, key) => (key?, bytes.max(1)),
            (false, Some(object)) => self.view.place(object, bytes),
            (false, None) if key.is_empty() => return None,
            (false, None) => self.view.place(key_number(key), bytes),
        };
        Some(Reference {
            address,
            bytes,
            task: 0,
            access: Access::Read,
        })
    }

    fn bad_line(&self) -> TraceError {
        let text = String::from_utf8_lossy(self.record.as_slice());
        TraceError::Line {
            line: self.record.position().map_or(0, csv::Position::line),
            text: text.chars().take(60).collect(),
            needed: NEEDED,
        }
    }
}

impl<R: Read> Trace for Csv<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        while block.len() < BLOCK {
            let more = self.reader.read_byte_record(&mut self.record);
            match more.map_err(std::io::Error::from) {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    block.clear();
                    return Err(error.into());
                }
            }
            match self.reference() {
                Some(reference) => block.push(reference),
                None => {
                    block.clear();
                    return Err(self.bad_line());
                }
            }
        }
        Ok(())
    }
}

/// A decimal number, or a hexadecimal one after `0x`.
fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A number for a name: the 64-bit hash FNV-1a.
fn key_number(name: &[u8]) -> u64 {
    name.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
