//! pagemill's own format: two to four bytes a reference.
//!
//! ```text
//! file    = magic, block*, end                    numbers are little-endian
//! magic   = "PMTRACE" 0x01
//! block   = payload bytes (u32 > 0), references (u32), CRC-32 of payload (u32), payload
//! end     = 0 (u32), CRC-32 of the next 8 bytes (u32), references in all (u64)
//! payload = reference*                            the first is relative to address 0 and task 0
//! reference = control, [bytes (u32)], [task (u16)], distance (0 to 7, or 8 bytes)
//! control = bit 7: write; bits 6-4: log2 bytes, 7: bytes follow; bit 3: task follows; bits 2-0: bytes of the
//!           distance, 7: 8 bytes
//! ```
//! The distance to the address before is zigzag-coded: twice its size, and one less where it is negative.

mod reader;
mod writer;

pub use reader::NativeReader;
pub use writer::NativeWriter;

/// What a file starts with.
pub(crate) const MAGIC: [u8; 8] = *b"PMTRACE\x01";

/// A block is written when it holds this many bytes.
const PAYLOAD_BYTES: usize = 64 << 10;

/// Most bytes of a reference: control, bytes, task, distance.
const REFERENCE_BYTES_MAX: usize = 1 + 4 + 2 + 8;

const WRITE: u8 = 0x80;
const BYTES_FOLLOW: u8 = 7;
const TASK_FOLLOWS: u8 = 0x08;
const DISTANCE_BYTES: u8 = 0x07;
