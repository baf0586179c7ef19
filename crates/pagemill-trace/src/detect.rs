use std::io::{BufRead, BufReader, Read};

use crate::native::MAGIC;
use crate::{Lackey, NativeReader, OracleGeneral, Trace, TraceError, lackey};

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pagemill's own.
    Native,
    /// Text of Valgrind's lackey.
    Lackey,
    /// libCacheSim's binary `oracleGeneral`. It has no mark of its own, so it has to be asked for.
    OracleGeneral,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Native, Self::Lackey, Self::OracleGeneral];

    /// What it is called by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Lackey => "lackey",
            Self::OracleGeneral => "oracle-general",
        }
    }
}

const BUFFER_BYTES: usize = 256 << 10;

/// Opens a trace of `format`, or of the format that its first bytes tell. `line_bytes` is what an object of a format
/// without addresses stands for.
///
/// # Errors
/// The input cannot be read, or is no trace.
pub fn open<'a>(
    input: impl Read + 'a,
    format: Option<Format>,
    line_bytes: u32,
) -> Result<Box<dyn Trace + 'a>, TraceError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let format = match format {
        Some(format) => format,
        None => detect(input.fill_buf()?).ok_or(TraceError::UnknownFormat)?,
    };
    Ok(match format {
        Format::Native => Box::new(NativeReader::new(input)?),
        Format::Lackey => Box::new(Lackey::new(input)),
        Format::OracleGeneral => Box::new(OracleGeneral::new(input, line_bytes)),
    })
}

fn detect(head: &[u8]) -> Option<Format> {
    if head.starts_with(&MAGIC) {
        Some(Format::Native)
    } else {
        lackey::looks_like(head).then_some(Format::Lackey)
    }
}
