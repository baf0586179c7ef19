//! The symbols of the executable file, as far as they are needed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const SYMBOL_BYTES: usize = 24;
const SECTION_BYTES: usize = 64;
const SYMBOL_TABLE: u32 = 2;
const DYNAMIC: u32 = 6;
const FUNCTION: u8 = 2;
/// Stands for the number of the section of names where that is too large (`SHN_XINDEX`).
const NAMES_ARE_BEYOND: u32 = 0xffff;
/// More than any symbol table; a damaged size must not take all memory.
const TABLE_BYTES_MAX: u64 = 1 << 30;

/// A function that the executable has within itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Where it is in memory.
    pub(super) address: u64,
    pub(super) bytes: u64,
}

struct Section {
    name: String,
    kind: u32,
    offset: u64,
    bytes: u64,
    /// The section of its names.
    link: usize,
}

/// The running program's file.
pub(super) struct Executable {
    file: File,
    sections: Vec<Section>,
}

fn damaged() -> io::Error {
    io::Error::other("the executable is damaged")
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .ok_or_else(damaged)
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    Ok(u32::from_le_bytes(number(bytes, at)?))
}

fn u64_at(bytes: &[u8], at: usize) -> io::Result<u64> {
    Ok(u64::from_le_bytes(number(bytes, at)?))
}

fn read(mut file: &File, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    if bytes > TABLE_BYTES_MAX {
        return Err(damaged());
    }
    let mut data = vec![0; bytes as usize];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut data)?;
    Ok(data)
}

/// A name, which may be any bytes; those that are wanted are text.
fn name_at(names: &[u8], at: usize) -> io::Result<Cow<'_, str>> {
    let rest = names.get(at..).ok_or_else(damaged)?;
    let end = rest
        .iter()
        .position(|&byte| byte == 0)
        .ok_or_else(damaged)?;
    Ok(String::from_utf8_lossy(&rest[..end]))
}

impl Executable {
    /// Reads the table of sections.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let header = read(&file, 0, 64)?;
        // 64 bits, little-endian.
        if header[..6] != *b"\x7fELF\x02\x01" {
            return Err(damaged());
        }
        let mut count = u64::from(u16::from_le_bytes(number(&header, 60)?));
        let mut names = u32::from(u16::from_le_bytes(number(&header, 62)?));
        let start = u64_at(&header, 40)?;
        // Where 16 bits are too few, the first section has the numbers.
        if start != 0 && (count == 0 || names == NAMES_ARE_BEYOND) {
            let first = read(&file, start, SECTION_BYTES as u64)?;
            count = if count == 0 {
                u64_at(&first, 32)?
            } else {
                count
            };
            names = if names == NAMES_ARE_BEYOND {
                u32_at(&first, 40)?
            } else {
                names
            };
        }
        let table_bytes = count.checked_mul(SECTION_BYTES as u64);
        let table = read(&file, start, table_bytes.ok_or_else(damaged)?)?;
        let mut sections = Vec::new();
        let mut name_offsets = Vec::new();
        for section in table.chunks_exact(SECTION_BYTES) {
            name_offsets.push(u32_at(section, 0)? as usize);
            sections.push(Section {
                name: String::new(),
                kind: u32_at(section, 4)?,
                offset: u64_at(section, 24)?,
                bytes: u64_at(section, 32)?,
                link: u32_at(section, 40)? as usize,
            });
        }
        if let Some(own) = sections.get(names as usize) {
            let names = read(&file, own.offset, own.bytes)?;
            for (section, offset) in sections.iter_mut().zip(name_offsets) {
                section.name = name_at(&names, offset)?.into_owned();
            }
        }
        Ok(Self { file, sections })
    }

    pub(super) fn has_section(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name)
    }

    /// The contents of a table and of its names.
    fn table(&self, kind: u32) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some(table) = self.sections.iter().find(|section| section.kind == kind) else {
            return Ok(None);
        };
        let names = self.sections.get(table.link).ok_or_else(damaged)?;
        let contents = read(&self.file, table.offset, table.bytes)?;
        Ok(Some((
            contents,
            read(&self.file, names.offset, names.bytes)?,
        )))
    }

    /// Whether it asks for a library whose name begins with `name` when it is started.
    pub(super) fn needs_library(&self, name: &str) -> bool {
        const NEEDED: u64 = 1;
        let Ok(Some((entries, names))) = self.table(DYNAMIC) else {
            return false;
        };
        entries.chunks_exact(16).any(|entry| {
            let value = (u64_at(entry, 0), u64_at(entry, 8));
            let (Ok(NEEDED), Ok(at)) = value else {
                return false;
            };
            name_at(&names, at as usize).is_ok_and(|own| own.starts_with(name))
        })
    }

    /// The functions that `is_wanted` names, where they are in memory.
    pub(super) fn functions(&self, is_wanted: impl Fn(&str) -> bool) -> io::Result<Vec<Function>> {
        let Some((symbols, names)) = self.table(SYMBOL_TABLE)? else {
            return Ok(Vec::new());
        };
        let base = base();
        let mut found = Vec::new();
        for symbol in symbols.chunks_exact(SYMBOL_BYTES) {
            let (value, bytes) = (u64_at(symbol, 8)?, u64_at(symbol, 16)?);
            let is_here = symbol[4] & 0xf == FUNCTION && symbol[6..8] != [0, 0] && value != 0;
            if !is_here {
                continue;
            }
            let name = name_at(&names, u32_at(symbol, 0)? as usize)?;
            if is_wanted(&name) {
                found.push(Function {
                    name: name.into_owned(),
                    address: base.wrapping_add(value),
                    bytes,
                });
            }
        }
        Ok(found)
    }
}

/// What the addresses in the executable are counted from.
fn base() -> u64 {
    /// The first object is the executable.
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        to: *mut libc::c_void,
    ) -> i32 {
        // SAFETY: the C library passes a valid description, and `to` as it was given.
        unsafe { to.cast::<u64>().write((*info).dlpi_addr) };
        1
    }
    let mut base = 0u64;
    // SAFETY: the callback matches, and `base` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    base
}

#[cfg(test)]
mod tests;
