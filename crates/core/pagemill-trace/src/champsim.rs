use std::io::Read;

use crate::records::{Records, number_at};
use crate::{Access, Reference, Trace, TraceError};

/// ChampSim's `input_instr`: instruction pointer (u64), branch and taken (u8 each), 2 destination and 4 source registers
/// (u8), 2 destination and 4 source addresses (u64, 0 for none); little-endian.
const RECORD_BYTES: usize = 64;
/// Whether it is a branch, and whether that is taken.
const FLAGS: std::ops::Range<usize> = 8..10;
const DESTINATIONS: [usize; 2] = [16, 24];
const SOURCES: [usize; 4] = [32, 40, 48, 56];

/// Instructions of a ChampSim trace, uncompressed: what they read, then what they write. The format has no sizes; a
/// reference is of 1 byte, and so of one line.
#[derive(Debug)]
pub struct ChampSim<R: Read> {
    records: Records<R, RECORD_BYTES>,
    read: u64,
}

impl<R: Read> ChampSim<R> {
    /// Starts at the first instruction.
    pub fn new(input: R) -> Self {
        Self {
            records: Records::new(input),
            read: 0,
        }
    }
}

impl<R: Read> Trace for ChampSim<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        // Instructions without data must not look like the end.
        while block.is_empty() {
            let records = self.records.next()?;
            if records.is_empty() {
                break;
            }
            for record in records {
                if record[FLAGS].iter().any(|flag| *flag > 1) {
                    block.clear();
                    let at = self.read * RECORD_BYTES as u64;
                    let what =
                        format!("the instruction at byte {at} has a flag that is neither 0 nor 1");
                    return Err(TraceError::Damaged {
                        references: self.read,
                        what,
                    });
                }
                self.read += 1;
                let mut add = |places: &[usize], access| {
                    let addresses = places.iter().map(|place| number_at(record, *place));
                    block.extend(addresses.filter(|address| *address != 0).map(|address| {
                        Reference {
                            address,
                            bytes: 1,
                            task: 0,
                            access,
                        }
                    }));
                };
                add(&SOURCES, Access::Read);
                add(&DESTINATIONS, Access::Write);
            }
        }
        Ok(())
    }
}
