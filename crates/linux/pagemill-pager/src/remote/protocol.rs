//! What client and server say to each other. Numbers are little-endian.
//!
//! | who | what |
//! |---|---|
//! | server | `PMPG`, version (u32), a challenge of 32 bytes |
//! | client | session (16 bytes, zeros for a new one), proof (32 bytes), length of the tenant's name (u8), the name |
//! | server | status (u8); [`OK`]: the session, the number of this connection in it (u64); else length (u16) and text of a message |
//!
//! Then requests, each answered in order; a client may send several before it reads the answers.
//!
//! | request | answer |
//! |---|---|
//! | [`PUT`], count (u8), slots (u64 each), units | status, bytes of the tenant (u64) |
//! | [`GET`], count (u8), slots | status; if [`OK`], units |
//! | [`FREE`], count (u8), slots | status |
//! | [`CHANGE`], count (u8), for each unit: slot (u64), lines that changed (u64), hash of all (16 bytes), the lines | status of each |
//! | [`METRICS`], 0 | length (u32) and text |
//! | [`BYE`], 0 | status, and the session ends with its connections |
//! | [`CUT`], count (u8), connections of the session (u64 each) | status; what these had asked for and was not done is not done any more |
//!
//! A client whose connection broke cuts it on the next one before it repeats a request: the old one may still be on its way.

use std::io::{self, Read};

pub const MAGIC: [u8; 4] = *b"PMPG";
pub const VERSION: u32 = 2;

pub const PUT: u8 = 1;
pub const GET: u8 = 2;
pub const FREE: u8 = 3;
pub const CHANGE: u8 = 4;
pub const METRICS: u8 = 5;
pub const BYE: u8 = 6;
pub const CUT: u8 = 7;

pub const OK: u8 = 0;
/// The tenant's quota or the server's memory is used up.
pub const FULL: u8 = 1;
/// The server does not have this, or its own store failed.
pub const FAILED: u8 = 2;
/// The changed unit is not what its hash says: nothing was changed.
pub const DIFFERS: u8 = 3;
/// A wrong token, a session that is not this tenant's, or a connection that was cut.
pub const REFUSED: u8 = 4;

/// Most units in one request.
pub const UNITS_MAX: usize = 64;

/// Bytes of the lines that [`CHANGE`] counts in.
pub const LINE_BYTES: usize = 64;

pub const NAME_BYTES_MAX: usize = 64;

/// A name of a session.
pub type SessionId = [u8; 16];

pub fn read_array<const BYTES: usize>(stream: &mut impl Read) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub fn read_u8(stream: &mut impl Read) -> io::Result<u8> {
    Ok(read_array::<1>(stream)?[0])
}

pub fn read_u64(stream: &mut impl Read) -> io::Result<u64> {
    Ok(u64::from_le_bytes(read_array(stream)?))
}

/// Longest text in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// As many bytes as said, if a text may be so long.
pub fn read_text(stream: &mut impl Read, bytes: usize) -> io::Result<String> {
    if bytes > TEXT_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; bytes];
    stream.read_exact(&mut text)?;
    String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into())
}
