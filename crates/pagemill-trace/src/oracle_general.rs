use std::io::Read;

use crate::records::{Records, number_at};
use crate::{Access, Reference, Trace, TraceError, View};

/// Time (u32), object (u64), bytes (u32), next access (i64); little-endian.
const RECORD_BYTES: usize = 24;
const OBJECT: usize = 4;
const BYTES: usize = 12;
const NEXT: usize = 16;

/// libCacheSim's binary format `oracleGeneral`: requests to objects of a storage or key-value cache.
#[derive(Debug)]
pub struct OracleGeneral<R: Read> {
    records: Records<R, RECORD_BYTES>,
    view: View,
    read: u64,
}

impl<R: Read> OracleGeneral<R> {
    /// Starts at the first record.
    pub fn new(input: R, view: View) -> Self {
        Self {
            records: Records::new(input),
            view,
            read: 0,
        }
    }
}

/// What is wrong with the request that `read` others precede. The next request of an object is a later one, or none: -1, -2
/// or the largest number.
fn wrong(next: i64, read: u64) -> Option<String> {
    let at = read * RECORD_BYTES as u64;
    let is_later = u64::try_from(next).map_or(next >= -2, |next| next > read);
    (!is_later).then(|| format!("the request at byte {at} says that its object is next wanted by request {next}, and is request {read}"))
}

impl<R: Read> Trace for OracleGeneral<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        for record in self.records.next()? {
            // The low half of what starts there is the size.
            let bytes = number_at(record, BYTES) as u32;
            if let Some(what) = wrong(number_at(record, NEXT) as i64, self.read) {
                block.clear();
                return Err(TraceError::Damaged {
                    references: self.read,
                    what,
                });
            }
            let (address, bytes) = self.view.place(number_at(record, OBJECT), bytes);
            block.push(Reference {
                address,
                bytes,
                task: 0,
                access: Access::Read,
            });
            self.read += 1;
        }
        Ok(())
    }
}
