use std::io::Read;

use crate::TraceError;

/// Records of a block.
const BLOCK: usize = 4 << 10;

/// Input of records of `N` bytes, block by block.
#[derive(Debug)]
pub(crate) struct Records<R: Read, const N: usize> {
    input: R,
    buffer: Vec<u8>,
    records: u64,
}

impl<R: Read, const N: usize> Records<R, N> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BLOCK * N],
            records: 0,
        }
    }

    /// The next records; none at the end.
    pub(crate) fn next(&mut self) -> Result<&[[u8; N]], TraceError> {
        let filled = self.fill()?;
        if !filled.is_multiple_of(N) {
            return Err(TraceError::CutOff {
                references: self.records + (filled / N) as u64,
            });
        }
        let (records, _) = self.buffer[..filled].as_chunks::<N>();
        self.records += records.len() as u64;
        Ok(records)
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

/// The number of 8 bytes at `place`.
#[inline]
pub(crate) fn number_at<const N: usize>(record: &[u8; N], place: usize) -> u64 {
    record[place..]
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
