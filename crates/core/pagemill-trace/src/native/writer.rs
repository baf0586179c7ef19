use std::io::{self, Write};

use super::{
    BYTES_FOLLOW, DISTANCE_BYTES, MAGIC, PAYLOAD_BYTES, REFERENCE_BYTES_MAX, TASK_FOLLOWS, WRITE,
};
use crate::{Access, Reference};

/// Writes a trace. Without [`finish`](NativeWriter::finish) it has no end, and readers say so.
#[derive(Debug)]
pub struct NativeWriter<W: Write> {
    out: W,
    payload: Vec<u8>,
    in_block: u32,
    references: u64,
    address: u64,
    task: u16,
}

impl<W: Write> NativeWriter<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// `out` refuses.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        Ok(Self {
            out,
            payload: Vec::with_capacity(PAYLOAD_BYTES + REFERENCE_BYTES_MAX),
            in_block: 0,
            references: 0,
            address: 0,
            task: 0,
        })
    }

    /// Appends a reference; one of 0 bytes counts as 1 byte.
    ///
    /// # Errors
    /// The output refuses.
    pub fn write(&mut self, reference: Reference) -> io::Result<()> {
        self.encode(reference);
        self.in_block += 1;
        if self.payload.len() >= PAYLOAD_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn encode(&mut self, reference: Reference) {
        let bytes = reference.bytes.max(1);
        let size = match bytes.trailing_zeros() as u8 {
            log2 if bytes.is_power_of_two() && log2 < BYTES_FOLLOW => log2,
            _ => BYTES_FOLLOW,
        };
        let distance = reference.address.wrapping_sub(self.address) as i64;
        let zigzag = ((distance << 1) ^ (distance >> 63)) as u64;
        let distance_bytes = (64 - zigzag.leading_zeros()).div_ceil(8) as u8;
        let is_other_task = reference.task != self.task;

        let write = match reference.access {
            Access::Write => WRITE,
            Access::Read => 0,
        };
        let task = if is_other_task { TASK_FOLLOWS } else { 0 };
        self.payload
            .push(write | size << 4 | task | distance_bytes.min(DISTANCE_BYTES));
        if size == BYTES_FOLLOW {
            self.payload.extend(bytes.to_le_bytes());
        }
        if is_other_task {
            self.payload.extend(reference.task.to_le_bytes());
        }
        let kept = match distance_bytes {
            7.. => 8,
            fewer => usize::from(fewer),
        };
        self.payload.extend(&zigzag.to_le_bytes()[..kept]);
        (self.address, self.task) = (reference.address, reference.task);
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.payload.is_empty() {
            return Ok(());
        }
        self.out
            .write_all(&(self.payload.len() as u32).to_le_bytes())?;
        self.out.write_all(&self.in_block.to_le_bytes())?;
        self.out
            .write_all(&crc32fast::hash(&self.payload).to_le_bytes())?;
        self.out.write_all(&self.payload)?;
        self.references += u64::from(self.in_block);
        self.payload.clear();
        (self.in_block, self.address, self.task) = (0, 0, 0);
        Ok(())
    }

    /// Ends the trace and gives the output back, flushed.
    ///
    /// # Errors
    /// The output refuses.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_block()?;
        let total = self.references.to_le_bytes();
        self.out.write_all(&0_u32.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&total).to_le_bytes())?;
        self.out.write_all(&total)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
