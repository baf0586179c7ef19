//! Fat binaries: the containers that nvcc puts device code into. Layout as cuobjdump shows it and nvcc 13 writes it.

use std::io::Read;

const MAGIC: u32 = 0xba55_ed50;
const HEADER_BYTES_MIN: usize = 16;
const ENTRY_BYTES_MIN: usize = 64;
const KIND_PTX: u16 = 1;
const KIND_CUBIN: u16 = 2;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
/// More than any PTX text; a damaged size must not take all memory.
const TEXT_BYTES_MAX: u64 = 1 << 30;

/// PTX in a fat binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxImage {
    /// The architecture it was compiled for: 75 for `compute_75`.
    pub arch: u32,
    /// The text.
    pub text: String,
}

/// What is wrong with a fat binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FatBinaryError {
    /// It does not begin as one.
    NoFatBinary,
    /// It ends early, or a size in it is wrong.
    Damaged(&'static str),
    /// It has machine code only; the architectures.
    CubinOnly(Vec<u32>),
}

impl std::fmt::Display for FatBinaryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoFatBinary => f.write_str("the device code is no fat binary of nvcc"),
            Self::Damaged(what) => write!(f, "the fat binary is damaged: {what}"),
            Self::CubinOnly(archs) => {
                f.write_str("the device code is machine code")?;
                for arch in archs {
                    write!(f, " sm_{arch}")?;
                }
                f.write_str(" but no PTX, which is what pagemill executes: build it with -gencode arch=compute_75,code=compute_75")
            }
        }
    }
}

impl std::error::Error for FatBinaryError {}

/// Every PTX text in `binary`, the newest architecture first.
///
/// # Errors
/// If it is no fat binary, is damaged, or has no PTX.
pub fn ptx_images(binary: &[u8]) -> Result<Vec<PtxImage>, FatBinaryError> {
    let mut images = Vec::new();
    let mut cubins = Vec::new();
    let mut rest = body(binary)?;
    while rest.len() >= ENTRY_BYTES_MIN {
        let entry = Entry::read(rest)?;
        match entry.kind {
            KIND_PTX => images.push(PtxImage {
                arch: entry.arch,
                text: entry.text()?,
            }),
            KIND_CUBIN => cubins.push(entry.arch),
            _ => {}
        }
        rest = &rest[entry.whole_bytes..];
    }
    if images.is_empty() {
        return Err(FatBinaryError::CubinOnly(cubins));
    }
    images.sort_by_key(|image| std::cmp::Reverse(image.arch));
    Ok(images)
}

/// How long the fat binary that starts with `header` is, in bytes; the header is 16 bytes.
///
/// # Errors
/// If it is no header.
pub fn whole_bytes(header: &[u8; HEADER_BYTES_MIN]) -> Result<usize, FatBinaryError> {
    if u32_at(header, 0) != Some(MAGIC) {
        return Err(FatBinaryError::NoFatBinary);
    }
    let header_bytes = u16_at(header, 6).map(usize::from);
    let body_bytes = u64_at(header, 8).and_then(|bytes| usize::try_from(bytes).ok());
    header_bytes
        .zip(body_bytes)
        .and_then(|(header, body)| header.checked_add(body))
        .filter(|bytes| (HEADER_BYTES_MIN..1 << 40).contains(bytes))
        .ok_or(FatBinaryError::Damaged(
            "its header gives an impossible size",
        ))
}

fn body(binary: &[u8]) -> Result<&[u8], FatBinaryError> {
    let header = binary
        .first_chunk::<HEADER_BYTES_MIN>()
        .ok_or(FatBinaryError::NoFatBinary)?;
    let whole = whole_bytes(header)?;
    let header_bytes = u16_at(header, 6).map_or(0, usize::from);
    binary
        .get(header_bytes..whole)
        .ok_or(FatBinaryError::Damaged(
            "it is shorter than its header says",
        ))
}

/// One piece of device code.
struct Entry<'a> {
    kind: u16,
    arch: u32,
    flags: u64,
    compressed_bytes: usize,
    plain_bytes: u64,
    payload: &'a [u8],
    /// Header and payload.
    whole_bytes: usize,
}

impl<'a> Entry<'a> {
    fn read(from: &'a [u8]) -> Result<Self, FatBinaryError> {
        let damaged = FatBinaryError::Damaged;
        let fields = || {
            Some(Self {
                kind: u16_at(from, 0)?,
                arch: u32_at(from, 28)?,
                flags: u64_at(from, 40)?,
                compressed_bytes: u32_at(from, 16)? as usize,
                plain_bytes: u64_at(from, 56)?,
                payload: &[],
                whole_bytes: 0,
            })
        };
        let entry = fields().ok_or(damaged("an entry ends early"))?;
        let header_bytes = u32_at(from, 4).unwrap_or(0) as usize;
        let payload_bytes = u64_at(from, 8).and_then(|bytes| usize::try_from(bytes).ok());
        let whole_bytes = payload_bytes
            .and_then(|payload| header_bytes.checked_add(payload))
            .filter(|_| header_bytes >= ENTRY_BYTES_MIN)
            .ok_or(damaged("an entry has an impossible size"))?;
        let payload = from
            .get(header_bytes..whole_bytes)
            .ok_or(damaged("an entry reaches past the end"))?;
        Ok(Self {
            payload,
            whole_bytes,
            ..entry
        })
    }

    fn text(&self) -> Result<String, FatBinaryError> {
        let mut bytes = self.plain()?;
        // The text ends at a NUL and is padded behind.
        let end = bytes.iter().position(|&byte| byte == 0);
        bytes.truncate(end.unwrap_or(bytes.len()));
        String::from_utf8(bytes).map_err(|_| FatBinaryError::Damaged("its PTX is no text"))
    }

    fn plain(&self) -> Result<Vec<u8>, FatBinaryError> {
        let damaged = FatBinaryError::Damaged;
        if self.flags & (FLAG_LZ4 | FLAG_ZSTD) == 0 {
            return Ok(self.payload.to_vec());
        }
        if self.plain_bytes > TEXT_BYTES_MAX {
            return Err(damaged("its PTX would be larger than 1 GiB"));
        }
        let packed = self
            .payload
            .get(..self.compressed_bytes)
            .ok_or(damaged("compressed PTX reaches past its entry"))?;
        if self.flags & FLAG_LZ4 != 0 {
            return lz4_flex::block::decompress(packed, self.plain_bytes as usize)
                .ok()
                .filter(|plain| plain.len() as u64 == self.plain_bytes)
                .ok_or(damaged("its PTX cannot be decompressed with LZ4"));
        }
        let zstd = damaged("its PTX cannot be decompressed with zstd");
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|_| zstd.clone())?;
        let mut plain = Vec::new();
        decoder
            .take(self.plain_bytes + 1)
            .read_to_end(&mut plain)
            .map_err(|_| zstd.clone())?;
        match plain.len() as u64 == self.plain_bytes {
            true => Ok(plain),
            false => Err(zstd),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests;
