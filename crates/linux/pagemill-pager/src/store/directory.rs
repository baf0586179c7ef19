use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::{Errno, preadv, pwritev};

use super::slots::Slots;
use super::{NO_SLOT, Slot, Store, StoreError, Unit, Usage, bytes_of};
use crate::UNIT_BYTES;

/// By how much the file grows at a time, less on a disk with little room: blocks are there before they are needed, and a full disk is found
/// out early.
const STEP_UNITS: u64 = 4096;

/// The kernel takes at most so many pieces of memory in one call.
const PIECES_MAX: usize = 256;

/// Which file of a store a slot lies in: a child of `fork` has its own, and reads its parent's.
const FILE_SHIFT: u32 = 48;

/// Units in a file without a name, written past the kernel's page cache where the file system can. The file ends with the process.
#[derive(Debug)]
pub struct Directory {
    folder: PathBuf,
    limit_units: u64,
    files: RwLock<Vec<File>>,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    slots: Slots,
    allocated_units: u64,
    /// How often the step has been halved.
    step_shift: u32,
    /// Files before this one are a parent's.
    own_file: u64,
}

impl Directory {
    /// A new file in `folder` of at most `limit_bytes`.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn open(folder: &Path, limit_bytes: u64) -> Result<Self, StoreError> {
        let mut store = Self {
            folder: folder.to_owned(),
            limit_units: limit_bytes / UNIT_BYTES as u64,
            files: RwLock::default(),
            book: Mutex::default(),
        };
        let file = store.new_file()?;
        store.files = RwLock::new(vec![file]);
        Ok(store)
    }

    fn new_file(&self) -> Result<File, StoreError> {
        let open = |flags: OFlags| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .mode(0o600)
                .custom_flags((OFlags::TMPFILE | flags).bits() as i32)
                .open(&self.folder)
        };
        // A file system in memory has no direct way.
        open(OFlags::DIRECT)
            .or_else(|_| open(OFlags::empty()))
            .map_err(|error| StoreError::io("make a file in", self, error))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Slots for what has none, on blocks that are there.
    fn allocate(&self, count: usize) -> Result<Vec<Slot>, StoreError> {
        let mut book = self.book();
        let needed = book.slots.end_after(count);
        self.reserve(&mut book, needed)?;
        let mut taken = Vec::with_capacity(count);
        book.slots.take(count, &mut taken);
        let own = book.own_file << FILE_SHIFT;
        Ok(taken.into_iter().map(|index| own + index + 1).collect())
    }

    fn reserve(&self, book: &mut Book, needed: u64) -> Result<(), StoreError> {
        if needed <= book.allocated_units {
            return Ok(());
        }
        if needed > self.limit_units {
            return Err(self.full(book));
        }
        let unit = UNIT_BYTES as u64;
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let file = &files[book.own_file as usize];
        let at = book.allocated_units * unit;
        loop {
            let step = (STEP_UNITS >> book.step_shift).max(1);
            let target = needed.next_multiple_of(step).min(self.limit_units);
            let more = target - book.allocated_units;
            match fallocate(file, FallocateFlags::empty(), at, more * unit) {
                Ok(()) | Err(Errno::OPNOTSUPP) => {
                    book.allocated_units = target;
                    book.step_shift = book.step_shift.saturating_sub(1);
                    return Ok(());
                }
                Err(error) if is_full(error) && target > needed => book.step_shift += 1,
                Err(error) if is_full(error) => return Err(self.full(book)),
                Err(error) => return Err(StoreError::io("add room to", self, error.into())),
            }
        }
    }

    fn full(&self, book: &Book) -> StoreError {
        StoreError::Full {
            store: self.name(),
            used_bytes: book.slots.in_use() * UNIT_BYTES as u64,
        }
    }

    /// A file system that allocates no blocks beforehand is full when they are written.
    fn failed(&self, error: io::Error) -> StoreError {
        match Errno::from_io_error(&error) {
            Some(error) if is_full(error) => self.full(&self.book()),
            _ => StoreError::io("write to", self, error),
        }
    }
}

fn is_full(error: Errno) -> bool {
    matches!(error, Errno::NOSPC | Errno::DQUOT)
}

/// Where a slot lies: its file, and its place in units.
fn place(slot: Slot) -> (usize, u64) {
    let index = (slot & ((1 << FILE_SHIFT) - 1)) - 1;
    ((slot >> FILE_SHIFT) as usize, index)
}

/// How many of `slots`, from the first on, lie one behind the other.
fn together(slots: &[Slot]) -> usize {
    let follows = slots.windows(2).take_while(|pair| pair[1] == pair[0] + 1);
    (follows.count() + 1).min(PIECES_MAX)
}

/// A copy for direct I/O, which takes aligned memory only.
#[repr(align(4096))]
struct AlignedUnit(Unit);

fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(UNIT_BYTES)
}

/// Writes all units, also where the kernel takes some at a time.
fn write_all(file: &File, units: &[&Unit], mut at: u64) -> io::Result<()> {
    let unaligned = units.iter().filter(|unit| !is_aligned(&unit[..]));
    let copies: Vec<AlignedUnit> = unaligned.map(|unit| AlignedUnit(**unit)).collect();
    let mut copies = copies.iter();
    let mut aligned: Vec<&[u8]> = Vec::with_capacity(units.len());
    for unit in units {
        let copy = (!is_aligned(&unit[..])).then(|| copies.next()).flatten();
        aligned.push(copy.map_or(&unit[..], |copy| &copy.0[..]));
    }
    let mut units = &aligned[..];
    while !units.is_empty() {
        let pieces: Vec<IoSlice<'_>> = units.iter().map(|unit| IoSlice::new(unit)).collect();
        let written = rustix::io::retry_on_intr(|| pwritev(file, &pieces, at))?;
        // A part of a unit is written again.
        let whole = written / UNIT_BYTES;
        if whole == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        units = &units[whole..];
        at += (whole * UNIT_BYTES) as u64;
    }
    Ok(())
}

fn read_all(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    if is_aligned(bytes) {
        return read_aligned(file, bytes, at);
    }
    let mut copy = Box::new(AlignedUnit([0; UNIT_BYTES]));
    for (index, unit) in bytes.chunks_mut(UNIT_BYTES).enumerate() {
        read_aligned(file, &mut copy.0, at + (index * UNIT_BYTES) as u64)?;
        unit.copy_from_slice(&copy.0[..unit.len()]);
    }
    Ok(())
}

fn read_aligned(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let mut pieces = [IoSliceMut::new(bytes)];
        let read = rustix::io::retry_on_intr(|| preadv(file, &mut pieces, at))?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

impl Store for Directory {
    fn name(&self) -> String {
        format!("the folder {}", self.folder.display())
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError> {
        let fresh = slots.iter().filter(|slot| **slot == NO_SLOT).count();
        let mut new = self.allocate(fresh)?.into_iter();
        let old = slots.to_vec();
        for slot in slots.iter_mut().filter(|slot| **slot == NO_SLOT) {
            *slot = new.next().unwrap_or(NO_SLOT);
        }
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        while done < slots.len() {
            let count = together(&slots[done..]);
            let (file, index) = place(slots[done]);
            let units = &units[done..done + count];
            if let Err(error) = write_all(&files[file], units, index * UNIT_BYTES as u64) {
                drop(files);
                for (slot, &old) in slots.iter_mut().zip(&old).skip(done) {
                    if old == NO_SLOT {
                        self.free(&[*slot]);
                        *slot = NO_SLOT;
                    }
                }
                return Err(self.failed(error));
            }
            done += count;
        }
        Ok(bytes_of(units))
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        while done < slots.len() {
            let count = together(&slots[done..]);
            let (file, index) = place(slots[done]);
            let bytes = &mut units[done * UNIT_BYTES..(done + count) * UNIT_BYTES];
            read_all(&files[file], bytes, index * UNIT_BYTES as u64)
                .map_err(|error| StoreError::io("read from", self, error))?;
            done += count;
        }
        Ok(())
    }

    fn free(&self, slots: &[Slot]) {
        let mut book = self.book();
        for &slot in slots {
            let (file, index) = place(slot);
            if file as u64 == book.own_file {
                book.slots.give_back(index);
            }
        }
    }

    fn usage(&self) -> Usage {
        let units = self.book().slots.in_use();
        Usage {
            units,
            bytes: units * UNIT_BYTES as u64,
        }
    }

    fn enter_child(&self) -> Result<(), StoreError> {
        let file = self.new_file()?;
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        files.push(file);
        *self.book() = Book {
            own_file: files.len() as u64 - 1,
            ..Book::default()
        };
        Ok(())
    }
}
