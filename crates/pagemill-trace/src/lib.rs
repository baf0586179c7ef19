//! Traces of memory references, read and written as streams: memory does not grow with a trace.
//!
//! [`open`] tells the format by its first bytes. Formats give blocks of [`Reference`]s, so that what a reference costs is
//! its decoding and nothing else.
#![forbid(unsafe_code)]

mod detect;
mod error;
mod lackey;
mod native;
mod oracle_general;
mod reference;

pub use detect::{Format, open};
pub use error::TraceError;
pub use lackey::Lackey;
pub use native::{NativeReader, NativeWriter};
pub use oracle_general::OracleGeneral;
pub use reference::{Access, Reference};

/// References in the order in which they happened.
pub trait Trace {
    /// Replaces `block` by the next references. At the end of the trace it stays empty.
    ///
    /// # Errors
    /// The trace is damaged or cut off, or cannot be read. `block` is then empty: what a damaged block holds is not
    /// handed out.
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError>;
}
