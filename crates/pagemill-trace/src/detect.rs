use std::io::{BufRead, BufReader, Read};

use crate::native::MAGIC;
use crate::{
    ChampSim, Columns, Csv, DrCacheSim, Lackey, NativeReader, OracleGeneral, Trace, TraceError,
    View, drcachesim, lackey,
};

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pagemill's own.
    Native,
    /// Text of Valgrind's lackey.
    Lackey,
    /// Text of the view tool of DynamoRIO's drcachesim.
    DrCacheSim,
    /// libCacheSim's binary `oracleGeneral`. It has no mark of its own, so it has to be asked for.
    OracleGeneral,
    /// Instructions of ChampSim, uncompressed; to be asked for.
    ChampSim,
    /// A table; to be asked for.
    Csv(Columns),
}

impl Format {
    /// Whether its references are to objects, which have no place in memory.
    pub fn holds_objects(self) -> bool {
        match self {
            Self::OracleGeneral => true,
            Self::Csv(columns) => columns.are_objects(),
            Self::Native | Self::Lackey | Self::DrCacheSim | Self::ChampSim => false,
        }
    }
}

const BUFFER_BYTES: usize = 256 << 10;

/// The format of a file, by its first bytes.
///
/// # Errors
/// The input cannot be read, or is of no known format.
pub fn detect(input: impl Read) -> Result<Format, TraceError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    format_of(input.fill_buf()?).ok_or(TraceError::UnknownFormat)
}

/// Opens a trace of `format`, or of the format that its first bytes tell. `view` is what an object of a format
/// without addresses stands for.
///
/// # Errors
/// The input cannot be read, or is no trace.
pub fn open<'a>(
    input: impl Read + 'a,
    format: Option<Format>,
    view: View,
) -> Result<Box<dyn Trace + 'a>, TraceError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let format = match format {
        Some(format) => format,
        None => format_of(input.fill_buf()?).ok_or(TraceError::UnknownFormat)?,
    };
    Ok(match format {
        Format::Native => Box::new(NativeReader::new(input)?),
        Format::Lackey => Box::new(Lackey::new(input)),
        Format::DrCacheSim => Box::new(DrCacheSim::new(input)),
        Format::OracleGeneral => Box::new(OracleGeneral::new(input, view)),
        Format::ChampSim => Box::new(ChampSim::new(input)),
        Format::Csv(columns) => Box::new(Csv::new(input, columns, view)),
    })
}

fn format_of(head: &[u8]) -> Option<Format> {
    if head.starts_with(&MAGIC) {
        Some(Format::Native)
    } else if drcachesim::looks_like(head) {
        Some(Format::DrCacheSim)
    } else {
        lackey::looks_like(head).then_some(Format::Lackey)
    }
}
