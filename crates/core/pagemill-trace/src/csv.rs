use std::io::Read;
use std::str::FromStr;

use csv::{ByteRecord, ReaderBuilder};

use crate::{Access, Reference, Trace, TraceError, lines};

/// References of a block.
const BLOCK: usize = 16 << 10;

const ADDRESS_NEEDED: &str =
    "an address in the column that --csv names so, from 0 on; a first row of names is a `header`";
const BYTES_NEEDED: &str = "a size in bytes in the column `bytes`, from 0 on; leave `bytes` out where rows have none, and name a first row of names `header`";
const BYTES_MAX_NEEDED: &str = "a size below 4 GiB: write all sizes in a larger unit, as KiB";

/// Which columns of a table hold what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The column of the address, from 0.
    address: usize,
    /// The column of the size in bytes; without one, all are of 1 byte.
    bytes: Option<usize>,
    has_header: bool,
    delimiter: u8,
}

/// Why a text does not describe columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` describes no column; write as `address=2,bytes=3,header,delimiter=;`, with columns from 1"
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
        let (mut address, mut bytes, mut has_header, mut delimiter) = (None, None, false, b',');
        for word in text.split(',') {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let column = || {
                let number = value.parse::<usize>().ok();
                number
                    .and_then(|number| number.checked_sub(1))
                    .ok_or_else(|| error(word))
            };
            match (name, value) {
                ("address", _) => address = Some(column()?),
                ("bytes", _) => bytes = Some(column()?),
                ("header", "") => has_header = true,
                ("delimiter", "tab") => delimiter = b'\t',
                ("delimiter", "space") => delimiter = b' ',
                ("delimiter", value) if value.len() == 1 => delimiter = value.as_bytes()[0],
                _ => return Err(error(word)),
            }
        }
        Ok(Self {
            address: address.ok_or_else(|| error(text))?,
            bytes,
            has_header,
            delimiter,
        })
    }
}

/// A table of references: comma-separated values, with an address for each and perhaps a size.
pub struct Csv<R: Read> {
    reader: csv::Reader<R>,
    record: ByteRecord,
    columns: Columns,
}

impl<R: Read> Csv<R> {
    /// Starts at the first row.
    pub fn new(input: R, columns: Columns) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(columns.has_header)
            .delimiter(columns.delimiter)
            .flexible(true)
            .from_reader(input);
        Self {
            reader,
            record: ByteRecord::new(),
            columns,
        }
    }

    /// The reference of a row, or what the row lacks.
    fn reference(&self) -> Result<Reference, &'static str> {
        let field = |column| self.record.get(column).map(<[u8]>::trim_ascii);
        let address = field(self.columns.address)
            .and_then(number)
            .ok_or(ADDRESS_NEEDED)?;
        let bytes = match self.columns.bytes {
            Some(column) => {
                let bytes = field(column).and_then(number).ok_or(BYTES_NEEDED)?;
                u32::try_from(bytes).map_err(|_| BYTES_MAX_NEEDED)?
            }
            None => 1,
        };
        Ok(Reference {
            address,
            bytes: bytes.max(1),
            task: 0,
            access: Access::Read,
        })
    }

    fn bad_line(&self, needed: &'static str) -> TraceError {
        let fields: Vec<_> = self.record.iter().map(String::from_utf8_lossy).collect();
        let delimiter = char::from(self.columns.delimiter).to_string();
        TraceError::Line {
            line: self.record.position().map_or(0, csv::Position::line),
            text: fields.join(&delimiter).chars().take(60).collect(),
            needed,
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
                Ok(reference) => block.push(reference),
                Err(needed) => {
                    block.clear();
                    return Err(self.bad_line(needed));
                }
            }
        }
        Ok(())
    }
}

/// A decimal number, or a hexadecimal one after `0x`.
fn number(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => lines::number(digits, 16),
        [b'+', digits @ ..] | digits => lines::number(digits, 10),
    }
}
