use std::io::Read;

use crate::compressed::unpacked;
use crate::native::MAGIC;
use crate::{
    ChampSim, Columns, Csv, DrCacheSim, Lackey, NativeReader, Trace, TraceError, drcachesim, lackey,
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
    /// Instructions of ChampSim, uncompressed; to be asked for.
    ChampSim,
    /// A table; to be asked for.
    Csv(Columns),
}

impl Format {
    /// What it is called in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Native => "pagemill's own trace",
            Self::Lackey => "text of Valgrind's lackey",
            Self::DrCacheSim => "text of DynamoRIO's drcachesim",
            Self::ChampSim => "a trace of ChampSim",
            Self::Csv(_) => "a table",
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Lackey | Self::DrCacheSim | Self::Csv(_))
    }
}

/// What some editors write before text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes that tell text from other files.
const SAMPLE_BYTES: usize = 64;

/// The format of a file, by its first bytes.
///
/// # Errors
/// The input cannot be read, or is of no known format.
pub fn detect(input: impl Read) -> Result<Format, TraceError> {
    format_of(&unpacked(input)?.0).ok_or(TraceError::UnknownFormat)
}

/// Opens a trace of `format`, or of the format that its first bytes tell; what gzip or zstd compressed is unpacked.
///
/// # Errors
/// The input cannot be read, or is no trace.
pub fn open<'a>(
    input: impl Read + 'a,
    format: Option<Format>,
) -> Result<Box<dyn Trace + 'a>, TraceError> {
    let (head, mut input) = unpacked(input)?;
    let format = match format {
        Some(format) => format,
        None => format_of(&head).ok_or(TraceError::UnknownFormat)?,
    };
    check_kind(&head, format)?;
    if format.is_text() && head.starts_with(BYTE_ORDER_MARK) {
        input.read_exact(&mut [0; BYTE_ORDER_MARK.len()])?;
    }
    Ok(match format {
        Format::Native => Box::new(NativeReader::new(input)?),
        Format::Lackey => Box::new(Lackey::new(input)),
        Format::DrCacheSim => Box::new(DrCacheSim::new(input)),
        Format::ChampSim => Box::new(ChampSim::new(input)),
        Format::Csv(columns) => Box::new(Csv::new(input, columns)),
    })
}

fn format_of(head: &[u8]) -> Option<Format> {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if head.starts_with(&MAGIC) {
        Some(Format::Native)
    } else if drcachesim::looks_like(text) {
        Some(Format::DrCacheSim)
    } else {
        lackey::looks_like(text).then_some(Format::Lackey)
    }
}

/// Refuses a file that cannot be of the format that was named.
fn check_kind(head: &[u8], format: Format) -> Result<(), TraceError> {
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let has_controls = head.iter().take(SAMPLE_BYTES).any(is_control);
    let found = match format_of(head) {
        Some(Format::Native) => "pagemill's own trace",
        _ if has_controls => "a binary file",
        _ => "text",
    };
    let is_right = match format {
        Format::Native => true,
        _ if head.is_empty() => true,
        _ if format.is_text() => !has_controls,
        _ => found == "a binary file",
    };
    if is_right {
        return Ok(());
    }
    Err(TraceError::OtherKind {
        found,
        wanted: format.name(),
    })
}
