//! GGUF, llama.cpp's file of a model: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.
//!
//! Only what stands before the weights is read, value by value: nothing that a file announces is allocated unseen.

use std::io::{self, Read};

use super::tensors::{Tensor, Tensors, bad};

/// The first bytes of a file.
pub const MAGIC: &[u8] = b"GGUF";
/// More entries than any model has.
const ENTRIES_MAX: u64 = 1 << 20;
/// Longer than any name.
const NAME_BYTES_MAX: u64 = 1 << 16;
/// Vocabularies are arrays of strings, some tens of megabytes.
const ARRAY_MAX: u64 = 1 << 26;
/// Arrays in arrays that are followed.
const DEPTH_MAX: u32 = 4;
const ALIGNMENT: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u64 = 32;

/// Number of a type, elements of a block, bytes of a block: `ggml_type` of ggml.h and the structures of ggml-common.h.
#[rustfmt::skip]
const TYPES: [(u32, u64, u64); 34] = [
    (0, 1, 4), (1, 1, 2), (2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24), (8, 32, 34), (9, 32, 36),
    (10, 256, 84), (11, 256, 110), (12, 256, 144), (13, 256, 176), (14, 256, 210), (15, 256, 292),
    (16, 256, 66), (17, 256, 74), (18, 256, 98), (19, 256, 50), (20, 32, 18), (21, 256, 110), (22, 256, 82), (23, 256, 136),
    (24, 1, 1), (25, 1, 2), (26, 1, 4), (27, 1, 8), (28, 1, 8), (29, 256, 56), (30, 1, 2),
    (34, 256, 54), (35, 256, 66), (39, 32, 17), (40, 64, 36), (41, 128, 18),
];

/// Reads the table of tensors behind the magic.
///
/// # Errors
/// The file is none, or the reader fails.
pub fn read(from: &mut impl Read) -> io::Result<Tensors> {
    let mut file = File { from, position: 4 };
    let version = file.u32()?;
    if !(2..=3).contains(&version) {
        return Err(bad(format!(
            "GGUF of version {version}; versions 2 and 3 can be read"
        )));
    }
    let (tensors, entries) = (file.count("tensors")?, file.count("entries")?);
    let mut alignment = DEFAULT_ALIGNMENT;
    for _ in 0..entries {
        let key = file.string()?;
        let kind = file.u32()?;
        let number = file.value(kind, 0)?;
        if key == ALIGNMENT {
            alignment = number
                .filter(|bytes| bytes.is_power_of_two() && *bytes <= 1 << 20)
                .ok_or_else(|| bad(format!("{ALIGNMENT} is no power of two up to 1 MiB")))?;
        }
    }
    let mut table = Vec::new();
    for _ in 0..tensors {
        table.push(file.tensor()?);
    }
    let data = file.position.next_multiple_of(alignment);
    let mut end_bytes = 0;
    for (tensor, offset) in &table {
        let end = data
            .checked_add(*offset)
            .and_then(|start| start.checked_add(tensor.bytes));
        end_bytes = end_bytes.max(
            end.ok_or_else(|| bad(format!("tensor {:?} ends beyond all files", tensor.name)))?,
        );
    }
    let all = table.into_iter().map(|(tensor, _)| tensor).collect();
    Ok(Tensors { all, end_bytes })
}

struct File<'a, R> {
    from: &'a mut R,
    position: u64,
}

impl<R: Read> File<'_, R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn count(&mut self, what: &str) -> io::Result<u64> {
        match self.u64()? {
            count if count <= ENTRIES_MAX => Ok(count),
            count => Err(bad(format!(
                "{count} {what} are announced; {ENTRIES_MAX} are the most"
            ))),
        }
    }

    fn string(&mut self) -> io::Result<String> {
        let length = self.u64()?;
        if length > NAME_BYTES_MAX {
            return Err(bad(format!("a name of {length} bytes")));
        }
        let mut bytes = vec![0; length as usize];
        self.from.read_exact(&mut bytes)?;
        self.position += length;
        String::from_utf8(bytes).map_err(|_| bad("a name that is no UTF-8".to_owned()))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.from.by_ref().take(bytes), &mut io::sink())?;
        self.position += skipped;
        if skipped < bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Reads a value; answers with it where it is a number without sign.
    fn value(&mut self, kind: u32, depth: u32) -> io::Result<Option<u64>> {
        match kind {
            0 | 1 | 7 => self.skip(1)?,
            2 | 3 => self.skip(2)?,
            4 => return Ok(Some(self.u32()?.into())),
            10 => return Ok(Some(self.u64()?)),
            5 | 6 => self.skip(4)?,
            8 => {
                let length = self.u64()?;
                self.skip(length)?;
            }
            9 if depth < DEPTH_MAX => {
                let (of, length) = (self.u32()?, self.u64()?);
                if length > ARRAY_MAX {
                    return Err(bad(format!("an array of {length} values")));
                }
                for _ in 0..length {
                    self.value(of, depth + 1)?;
                }
            }
            11 | 12 => self.skip(8)?,
            kind => return Err(bad(format!("a value of the unknown type {kind}"))),
        }
        Ok(None)
    }

    /// A tensor and where it begins in the data.
    fn tensor(&mut self) -> io::Result<(Tensor, u64)> {
        let name = self.string()?;
        let dimensions = self.u32()?;
        if dimensions > 4 {
            return Err(bad(format!(
                "tensor {name:?} has {dimensions} dimensions; 4 are the most"
            )));
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            shape.push(self.u64()?);
        }
        let (kind, offset) = (self.u32()?, self.u64()?);
        let Some((_, block, block_bytes)) = TYPES.iter().find(|(number, ..)| *number == kind)
        else {
            return Err(bad(format!("tensor {name:?} has the unknown type {kind}")));
        };
        let elements = shape
            .iter()
            .try_fold(1u64, |product, side| product.checked_mul(*side));
        let bytes =
            elements.and_then(|elements| elements.div_ceil(*block).checked_mul(*block_bytes));
        let bytes =
            bytes.ok_or_else(|| bad(format!("tensor {name:?} is larger than any memory")))?;
        // A row is contiguous: the first dimension is the length of a row.
        let rows = shape.get(1).copied().unwrap_or(1).max(1);
        Ok((Tensor { name, bytes, rows }, offset))
    }
}
