use std::io;

use crate::Compression;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system refused.
    #[error("the trace cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The trace stops before its end.
    #[error(
        "the trace is cut off after {references} references: its end is missing; record or copy it again"
    )]
    CutOff {
        /// References that came before.
        references: u64,
    },
    /// A block does not hold what was written.
    #[error("the trace is damaged after {references} references: {what}")]
    Damaged {
        /// References that came before.
        references: u64,
        /// What is wrong.
        what: String,
    },
    /// A line of text is no reference.
    #[error("line {line} is no reference: `{text}`; needed is {needed}")]
    Line {
        /// From 1.
        line: u64,
        /// The line, or its beginning.
        text: String,
        /// What a line of this format looks like.
        needed: &'static str,
    },
    /// It is compressed in a way that is not unpacked here.
    #[error("it is compressed by {}: unpack it with `{} FILE`", .0.name, .0.command)]
    Compressed(Compression),
    /// The first bytes are of another kind than that which was named.
    #[error("this is {found}, and not {wanted}: name its own format, or leave the format out")]
    OtherKind {
        /// What it is.
        found: &'static str,
        /// What was named.
        wanted: &'static str,
    },
    /// The first bytes are of no known format.
    #[error(
        "this is no trace: neither pagemill's format, nor text of Valgrind's lackey or DynamoRIO's drcachesim; name the format of other files"
    )]
    UnknownFormat,
}
