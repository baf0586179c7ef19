use std::io::Read;

use crate::{Access, Reference, Trace, TraceError};

/// Time (u32), object (u64), bytes (u32), next access (i64); little-endian.
const RECORD_BYTES: usize = 24;

/// Records of a block.
const BLOCK: usize = 4 << 10;

/// libCacheSim's binary format `oracleGeneral`: requests to objects of a storage or key-value cache.
///
/// An object is one line: object n is at n times the bytes of a line, and of 1 byte. Sizes of objects have no meaning for
/// a cache of equal lines.
#[derive(Debug)]
pub struct OracleGeneral<R: Read> {
    input: R,
    line_bytes: u64,
    buffer: Vec<u8>,
    references: u64,
}

impl<R: Read> OracleGeneral<R> {
    /// Starts at the first record; an object is a line of `line_bytes` bytes.
    pub fn new(input: R, line_bytes: u32) -> Self {
        Self {
            input,
            line_bytes: u64::from(line_bytes),
            buffer: vec![0; BLOCK * RECORD_BYTES],
            references: 0,
        }
    }

    /// Fills the buffer as far as the input goes.
    fn fill(&mut self) -> Result<usize, TraceError> {
        let mut filled = 0;
        while filled < self.buffer.len() {
            match self.input.read(&mut self.buffer[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(filled)
    }
}

impl<R: Read> Trace for OracleGeneral<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        let filled = self.fill()?;
        if !filled.is_multiple_of(RECORD_BYTES) {
            return Err(TraceError::CutOff {
                references: self.references + (filled / RECORD_BYTES) as u64,
            });
        }
        let (records, _) = self.buffer[..filled].as_chunks::<RECORD_BYTES>();
        block.extend(records.iter().map(|record| {
            let object = record[4..12]
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            Reference {
                address: object.wrapping_mul(self.line_bytes),
                bytes: 1,
                task: 0,
                access: Access::Read,
            }
        }));
        self.references += block.len() as u64;
        Ok(())
    }
}
