use std::io::{ErrorKind, Read};

use super::{
    BYTES_FOLLOW, DISTANCE_BYTES, MAGIC, PAYLOAD_BYTES, REFERENCE_BYTES_MAX, TASK_FOLLOWS, WRITE,
};
use crate::{Access, Reference, Trace, TraceError};

/// Reads a trace in pagemill's own format.
#[derive(Debug)]
pub struct NativeReader<R: Read> {
    input: R,
    /// The payload of a block, and zeros: so that 8 bytes can be read anywhere in it.
    payload: Vec<u8>,
    references: u64,
    is_at_end: bool,
}

impl<R: Read> NativeReader<R> {
    /// Starts at the first byte of a trace.
    ///
    /// # Errors
    /// The input cannot be read, or is no such trace.
    pub fn new(mut input: R) -> Result<Self, TraceError> {
        let mut magic = [0; MAGIC.len()];
        input.read_exact(&mut magic)?;
        if magic != MAGIC {
            return Err(TraceError::UnknownFormat);
        }
        Ok(Self {
            input,
            payload: Vec::new(),
            references: 0,
            is_at_end: false,
        })
    }

    fn damaged(&self, what: String) -> TraceError {
        TraceError::Damaged {
            references: self.references,
            what,
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), TraceError> {
        self.input.read_exact(buffer).map_err(|error| {
            if error.kind() == ErrorKind::UnexpectedEof {
                TraceError::CutOff {
                    references: self.references,
                }
            } else {
                TraceError::Io(error)
            }
        })
    }

    fn number(&mut self) -> Result<u32, TraceError> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads a block into `payload`; the number of its references, or `None` at the end of the trace.
    fn load_block(&mut self) -> Result<Option<u32>, TraceError> {
        let bytes = self.number()? as usize;
        if bytes == 0 {
            self.check_end()?;
            return Ok(None);
        }
        let references = self.number()?;
        let crc = self.number()?;
        if bytes > PAYLOAD_BYTES + REFERENCE_BYTES_MAX || references as usize > bytes {
            return Err(self.damaged(format!(
                "a block of {references} references in {bytes} bytes cannot be"
            )));
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        payload.resize(bytes + REFERENCE_BYTES_MAX, 0);
        let filled = self.fill(&mut payload[..bytes]);
        self.payload = payload;
        filled?;
        let found = crc32fast::hash(&self.payload[..bytes]);
        if found != crc {
            return Err(self.damaged(format!(
                "the next block has checksum {found:08x} instead of {crc:08x}"
            )));
        }
        Ok(Some(references))
    }

    fn check_end(&mut self) -> Result<(), TraceError> {
        let crc = self.number()?;
        let mut total = [0; 8];
        self.fill(&mut total)?;
        let found = u64::from_le_bytes(total);
        if crc32fast::hash(&total) != crc || found != self.references {
            return Err(self.damaged(format!("its end speaks of {found} references")));
        }
        self.is_at_end = true;
        Ok(())
    }

    fn decode(&self, references: u32, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.reserve(references as usize);
        let end = self.payload.len() - REFERENCE_BYTES_MAX;
        let (mut at, mut address, mut task) = (0, 0_u64, 0_u16);
        for _ in 0..references {
            if at >= end {
                return Err(self.damaged("a block has fewer references than it says".to_owned()));
            }
            let control = self.payload[at];
            at += 1;
            let mut bytes = 1_u32 << (control >> 4 & BYTES_FOLLOW);
            if control >> 4 & BYTES_FOLLOW == BYTES_FOLLOW {
                bytes = self.word(at) as u32;
                at += 4;
            }
            if control & TASK_FOLLOWS != 0 {
                task = self.word(at) as u16;
                at += 2;
            }
            let zigzag = match usize::from(control & DISTANCE_BYTES) {
                7 => {
                    at += 8;
                    self.word(at - 8)
                }
                kept => {
                    at += kept;
                    self.word(at - kept) & ((1 << (8 * kept)) - 1)
                }
            };
            let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
            address = address.wrapping_add(distance);
            block.push(Reference {
                address,
                bytes: bytes.max(1),
                task,
                access: if control & WRITE == 0 {
                    Access::Read
                } else {
                    Access::Write
                },
            });
        }
        if at != end {
            return Err(self.damaged("a block does not end with its last reference".to_owned()));
        }
        Ok(())
    }

    /// The 8 bytes from `at` on, which is at most [`REFERENCE_BYTES_MAX`] - 8 past the payload.
    #[inline]
    fn word(&self, at: usize) -> u64 {
        let bytes = self.payload[at..at + 8].first_chunk();
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

impl<R: Read> Trace for NativeReader<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        if self.is_at_end {
            return Ok(());
        }
        let Some(references) = self.load_block()? else {
            return Ok(());
        };
        if let Err(error) = self.decode(references, block) {
            block.clear();
            return Err(error);
        }
        self.references += u64::from(references);
        Ok(())
    }
}
