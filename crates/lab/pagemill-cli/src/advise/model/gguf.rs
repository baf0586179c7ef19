//! GGUF, llama.cpp's file of a model: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.
//!
//! Only what stands before the weights is read, value by value: nothing that a file announces is allocated unseen.

use std::collections::{BTreeMap, BTreeSet};
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
    let mut file = File {
        from,
        position: 4,
        is_big_endian: false,
    };
    let mut version = file.u32()?;
    // Files for big-endian machines differ in nothing else.
    if version.swap_bytes() == 3 {
        (file.is_big_endian, version) = (true, 3);
    }
    if !(2..=3).contains(&version) {
        return Err(bad(format!(
            "GGUF of version {version}; versions 2 and 3 can be read"
        )));
    }
    let (tensors, entries) = (file.count("tensors")?, file.count("entries")?);
    let facts = file.facts(entries)?;
    let alignment = facts.get(ALIGNMENT).copied().unwrap_or(DEFAULT_ALIGNMENT);
    if !alignment.is_power_of_two() || alignment > 1 << 20 {
        return Err(bad(format!(
            "{ALIGNMENT} = {alignment} is no power of two up to 1 MiB"
        )));
    }
    let mut all = Vec::new();
    for _ in 0..tensors {
        all.push(file.tensor()?);
    }
    let data = file.position.next_multiple_of(alignment);
    let mut end_bytes = file.position;
    for Tensor {
        name, start, bytes, ..
    } in &all
    {
        if !start.is_multiple_of(alignment) {
            return Err(bad(format!(
                "tensor {name:?} begins at {start}, which is no multiple of {ALIGNMENT} = {alignment}"
            )));
        }
        let end = data
            .checked_add(*start)
            .and_then(|start| start.checked_add(*bytes));
        end_bytes = end_bytes
            .max(end.ok_or_else(|| bad(format!("tensor {name:?} ends beyond all files")))?);
    }
    Ok(Tensors {
        all,
        facts,
        end_bytes,
    })
}

struct File<'a, R> {
    from: &'a mut R,
    position: u64,
    is_big_endian: bool,
}

impl<R: Read> File<'_, R> {
    /// A whole number of up to 8 bytes.
    fn number(&mut self, bytes: usize) -> io::Result<u64> {
        let mut number = [0; 8];
        self.from.read_exact(&mut number[..bytes])?;
        self.position += bytes as u64;
        if self.is_big_endian {
            number[..bytes].reverse();
        }
        Ok(u64::from_le_bytes(number))
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(self.number(4)? as u32)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.number(8)
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

    /// The whole numbers of so many entries.
    fn facts(&mut self, entries: u64) -> io::Result<BTreeMap<String, u64>> {
        let mut facts = BTreeMap::new();
        let mut keys = BTreeSet::new();
        for _ in 0..entries {
            let key = self.string()?;
            let kind = self.u32()?;
            if let Some(number) = self.value(kind, 0)? {
                facts.insert(key.clone(), number);
            } else if key == ALIGNMENT {
                return Err(bad(format!("{ALIGNMENT} is no whole number")));
            }
            if let Some(twice) = keys.replace(key) {
                return Err(bad(format!("{twice} is there twice")));
            }
        }
        Ok(facts)
    }

    /// Reads a value; answers with it where it is a whole number from 0 on, and of numbers in an array with the largest.
    fn value(&mut self, kind: u32, depth: u32) -> io::Result<Option<u64>> {
        let is_signed = matches!(kind, 1 | 3 | 5 | 11);
        match kind {
            0..=5 | 10 | 11 => {
                let bytes = [1, 1, 2, 2, 4, 4][..]
                    .get(kind as usize)
                    .copied()
                    .unwrap_or(8);
                let number = self.number(bytes)?;
                let is_negative = is_signed && number >> (8 * bytes - 1) == 1;
                return Ok((!is_negative).then_some(number));
            }
            6 => self.skip(4)?,
            7 => self.skip(1)?,
            8 => {
                let length = self.u64()?;
                self.skip(length)?;
            }
            9 if depth < DEPTH_MAX => {
                let (of, length) = (self.u32()?, self.u64()?);
                if length > ARRAY_MAX {
                    return Err(bad(format!("an array of {length} values")));
                }
                let mut most = None;
                for _ in 0..length {
                    most = most.max(self.value(of, depth + 1)?);
                }
                return Ok(most);
            }
            12 => self.skip(8)?,
            kind => return Err(bad(format!("a value of the unknown type {kind}"))),
        }
        Ok(None)
    }

    fn tensor(&mut self) -> io::Result<Tensor> {
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
        let (kind, start) = (self.u32()?, self.u64()?);
        let Some((_, block, block_bytes)) = TYPES.iter().find(|(number, ..)| *number == kind)
        else {
            return Err(bad(format!("tensor {name:?} has the unknown type {kind}")));
        };
        // A row is contiguous, and the first dimension is its length.
        let row = shape.first().copied().unwrap_or(1);
        if !row.is_multiple_of(*block) {
            return Err(bad(format!(
                "tensor {name:?} has rows of {row} numbers, which is no multiple of {block}, the block of type {kind}"
            )));
        }
        let blocks = shape
            .iter()
            .skip(1)
            .try_fold(row / block, |product, side| product.checked_mul(*side));
        let bytes = blocks.and_then(|blocks| blocks.checked_mul(*block_bytes));
        let bytes =
            bytes.ok_or_else(|| bad(format!("tensor {name:?} is larger than any memory")))?;
        shape.reverse();
        Ok(Tensor {
            name,
            start,
            bytes,
            shape,
        })
    }
}
