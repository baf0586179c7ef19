use std::io::Read;

use crate::records::{Records, number_at};
use crate::{Access, Reference, Trace, TraceError, View};

/// Time (u32), object (u64), bytes (u32), next access (i64); little-endian.
const RECORD_BYTES: usize = 24;
const OBJECT: usize = 4;
const BYTES: usize = 12;

/// libCacheSim's binary format `oracleGeneral`: requests to objects of a storage or key-value cache.
#[derive(Debug)]
pub struct OracleGeneral<R: Read> {
    records: Records<R, RECORD_BYTES>,
    view: View,
}

impl<R: Read> OracleGeneral<R> {
    /// Starts at the first record.
    pub fn new(input: R, view: View) -> Self {
        Self {
            records: Records::new(input),
            view,
        }
    }
}

impl<R: Read> Trace for OracleGeneral<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        let view = self.view;
        block.extend(self.records.next()?.iter().map(|record| {
            // The low half of what starts there is the size.
            let bytes = number_at(record, BYTES) as u32;
            let (address, bytes) = view.place(number_at(record, OBJECT), bytes);
            Reference {
                address,
                bytes,
                task: 0,
                access: Access::Read,
            }
        }));
        Ok(())
    }
}
