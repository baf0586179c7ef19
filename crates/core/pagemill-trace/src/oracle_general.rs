use std::io::Read;

use crate::records::{Records, number_at};
use crate::{Access, Reference, Trace, TraceError, View};

/// Time (u32), object (u64), bytes (u32), next access (i64); little-endian.
const RECORD_BYTES: usize = 24;
/// Requests are logged when they end: the time of one may be before that of the last, but not by more than this.
const EARLIER_S_MAX: u32 = 24 * 60 * 60;
const OBJECT: usize = 4;
const BYTES: usize = 12;
const NEXT: usize = 16;

/// libCacheSim's binary format `oracleGeneral`: requests to objects of a storage or key-value cache.
#[derive(Debug)]
pub struct OracleGeneral<R: Read> {
    records: Records<R, RECORD_BYTES>,
    view: View,
    read: u64,
    time_s: u32,
}

impl<R: Read> OracleGeneral<R> {
    /// Starts at the first record.
    pub fn new(input: R, view: View) -> Self {
        Self {
            records: Records::new(input),
            view,
            read: 0,
            time_s: 0,
        }
    }
}

/// What is wrong with the request that `read` others precede, the last at `before_s`. The next request of an object is a later one,
/// or none: -1, -2 or the largest number.
fn wrong(time_s: u32, next: i64, read: u64, before_s: u32) -> Option<String> {
    let at = read * RECORD_BYTES as u64;
    if before_s.saturating_sub(time_s) > EARLIER_S_MAX {
        return Some(format!(
            "the request at byte {at} is of second {time_s}, and that before it of {before_s}, more than a day later"
        ));
    }
    let is_later = u64::try_from(next).map_or(next >= -2, |next| next > read);
    (!is_later).then(|| format!("the request at byte {at} says that its object is next wanted by request {next}, and is request {read}"))
}

impl<R: Read> Trace for OracleGeneral<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        for record in self.records.next()? {
            // The low half of what starts there is the time, or the size.
            let (time_s, bytes) = (number_at(record, 0) as u32, number_at(record, BYTES) as u32);
            let next = number_at(record, NEXT) as i64;
            if let Some(what) = wrong(time_s, next, self.read, self.time_s) {
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
            (self.read, self.time_s) = (self.read + 1, time_s);
        }
        Ok(())
    }
}
