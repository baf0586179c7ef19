//! Traces of memory references, read and written as streams: memory does not grow with a trace.
//!
//! [`open`] recognizes the format by its first bytes. Formats give blocks of [`Reference`]s, so that what a reference costs is
//! its decoding and nothing else.
#![forbid(unsafe_code)]

mod champsim;
mod compressed;
mod csv;
mod detect;
mod drcachesim;
mod error;
mod lackey;
mod lines;
mod native;
mod records;
mod reference;

pub use champsim::ChampSim;
pub use compressed::{Compression, Unpacked, unpacked};
pub use csv::{Columns, ColumnsError, Csv};
pub use detect::{Format, detect, open};
pub use drcachesim::DrCacheSim;
pub use error::TraceError;
pub use lackey::Lackey;
pub use native::{NativeReader, NativeWriter};
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
