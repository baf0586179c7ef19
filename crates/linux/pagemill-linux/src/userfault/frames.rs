use std::io;
use std::ops::Range;
use std::sync::Arc;

use rustix::mm::{Advice, madvise, munmap};

use super::paged::{UNIT, pointer, reserve, reserve_at};
use super::{Paged, Userfault};
use crate::{OsError, Result};

/// What became of pages that were to be taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Addresses whose pages are on the stack now, in order.
    pub taken: Vec<u64>,
    /// Addresses whose pages cannot leave: a device or the kernel holds them.
    pub held: Vec<u64>,
    /// Addresses that have no page: the program gave it up.
    pub missing: Vec<u64>,
}

impl Taken {
    fn clear(&mut self) {
        self.taken.clear();
        self.held.clear();
        self.missing.clear();
    }
}

/// A stack of frames of 4 KiB: pages taken from [`Paged`] memory are pushed, and popped to become pages of it elsewhere. No byte is copied,
/// and a thread that writes to a page writes before it was taken, or faults and waits.
#[derive(Debug)]
pub struct Frames {
    start: u64,
    /// Bytes that the stack may have. A page of addresses follows, which holds nothing but for a moment.
    capacity: u64,
    /// Bytes of the stack. Its frames lie together, from the start.
    held: u64,
    userfault: Arc<Userfault>,
}

impl Frames {
    /// An empty stack with addresses for `capacity` bytes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(userfault: &Arc<Userfault>, capacity: u64) -> Result<Self> {
        Self::new_at(userfault, capacity, None)
    }

    /// The same, at address `place` if that is free. A child of `fork` has holes where its parent has frames, and others where the program
    /// wants none of its memory inherited: those are to stay holes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new_at(userfault: &Arc<Userfault>, capacity: u64, place: Option<u64>) -> Result<Self> {
        let capacity = capacity.next_multiple_of(UNIT);
        let mapped = capacity + UNIT;
        let failed = |error| OsError::new(format!("map {mapped} bytes of frames"), error);
        let taken = place.and_then(|place| reserve_at(place, mapped));
        let start = taken.map_or_else(|| reserve(mapped), Ok);
        let start = start.map_err(|error| failed(error.into()))?;
        let frames = Self {
            start,
            capacity,
            held: 0,
            userfault: Arc::clone(userfault),
        };
        userfault.register(start..start + mapped).map_err(failed)?;
        // SAFETY: the range is this value's. A child has no use for it.
        let _ = unsafe { madvise(pointer(start), mapped as usize, Advice::LinuxDontFork) };
        Ok(frames)
    }

    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.capacity + UNIT
    }

    /// Bytes of frames on the stack.
    pub fn len(&self) -> u64 {
        self.held
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Takes the pages of `range` of `memory` out of it and pushes them, in order. `result` says which were.
    ///
    /// # Panics
    /// If `range` is not in `memory`, or there is no room for it.
    pub fn take(&mut self, memory: &Paged, range: Range<u64>, result: &mut Taken) {
        memory.check(&range);
        assert!(
            self.held + (range.end - range.start) <= self.capacity,
            "no room for frames"
        );
        result.clear();
        let mut at = range.start;
        let mut is_unshared = false;
        while at < range.end {
            let to = self.start + self.held;
            let (moved, stopped) = self.userfault.move_pages(to, at, range.end - at);
            result.taken.extend((at..at + moved).step_by(UNIT as usize));
            self.held += moved;
            is_unshared &= moved == 0;
            at += moved;
            let Err(error) = stopped else { continue };
            match error.raw_os_error() {
                Some(libc::ENOENT) => result.missing.push(at),
                Some(libc::EEXIST) if self.has_arrived(at) => {
                    result.taken.push(at);
                    self.held += UNIT;
                }
                // Shared with a child or a parent: a copy of its own can move. Else it is held for good.
                Some(libc::EBUSY) if !is_unshared => {
                    memory.unshare(at);
                    is_unshared = true;
                    continue;
                }
                _ => result.held.push(at),
            }
            is_unshared = false;
            at += UNIT;
        }
    }

    /// Whether the page of `address` is the frame above the stack, though the kernel says that it moved nothing: once Linux 6.18 has begun
    /// a move again, as where it meets a page that it moves itself, it counts no page of the next batch. They are found at their new
    /// place, by EEXIST.
    ///
    /// A second move tells, which finds no page to move. Where it finds one, the frame above the stack was a remnant.
    fn has_arrived(&self, address: u64) -> bool {
        let (above, beside) = (self.start + self.held, self.start + self.capacity);
        let moved = self.move_one(beside, address);
        if has_stopped(&moved, libc::ENOENT) {
            return true;
        }
        // SAFETY: the range is this value's, above its stack: nothing of it is lent.
        let _ = unsafe { madvise(pointer(above), UNIT as usize, Advice::LinuxDontNeed) };
        moved.is_ok() && self.move_one(above, beside).is_ok()
    }

    /// Moves a page to where none is: that there is one now says that it has moved.
    fn move_one(&self, to: u64, from: u64) -> io::Result<()> {
        let (_, stopped) = self.userfault.move_pages(to, from, UNIT);
        if has_stopped(&stopped, libc::EEXIST) {
            return Ok(());
        }
        stopped
    }

    /// Pops frames so that they are the pages of `range` of `memory`, where there are none, with the bytes of the stack's end in order; then
    /// wakes those who wait for them, where `wakes`. Where there is a page, or no memory any more, the frame is dropped.
    ///
    /// # Panics
    /// If `range` is not in `memory`, or is more than the stack holds.
    pub fn give(&mut self, memory: &Paged, range: Range<u64>, wakes: bool) {
        memory.check(&range);
        let bytes = range.end - range.start;
        assert!(bytes <= self.held, "more frames than there are");
        let from = self.start + self.held - bytes;
        let mut done = 0;
        let mut is_complete = true;
        while done < bytes {
            let to = range.start + done;
            let rest = bytes - done;
            let (moved, stopped) = match wakes {
                true => (self.userfault).move_pages_and_wake(to, from + done, rest),
                false => self.userfault.move_pages(to, from + done, rest),
            };
            done += moved;
            if let Err(error) = stopped {
                // Where a page is already, it may be this frame, moved and not counted: nothing is left to read at its old place, where a
                // fault has no answer. Any other frame can be copied, such as one that direct I/O has filled: the kernel still holds it for
                // a moment.
                if !matches!(error.raw_os_error(), Some(libc::EEXIST | libc::ENOENT)) {
                    let _ = self.userfault.copy(range.start + done, from + done, UNIT);
                }
                is_complete = false;
                done += UNIT;
            }
        }
        if is_complete {
            self.held -= bytes;
        } else {
            self.shrink_to(self.held - bytes);
            if wakes {
                self.userfault.wake(range);
            }
        }
    }

    /// The topmost `bytes`, to read and write.
    ///
    /// # Panics
    /// If the stack is not so high.
    pub fn top(&mut self, bytes: u64) -> &mut [u8] {
        assert!(bytes <= self.held, "more frames than there are");
        let start = self.start + self.held - bytes;
        // SAFETY: frames of the stack are mapped, readable and writable, and reached through `&mut self` alone.
        unsafe { std::slice::from_raw_parts_mut(pointer(start).cast(), bytes as usize) }
    }

    /// Drops frames until `bytes` are left.
    pub fn shrink_to(&mut self, bytes: u64) {
        if bytes >= self.held {
            return;
        }
        let gone = (self.held - bytes) as usize;
        // SAFETY: these frames are the stack's, and no reference outlives the calls that lend them.
        let _ = unsafe { madvise(pointer(self.start + bytes), gone, Advice::LinuxDontNeed) };
        self.held = bytes;
    }

    /// Adds frames of zeros until there are `bytes`.
    ///
    /// # Errors
    /// The kernel has no memory.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn grow_to(&mut self, bytes: u64) -> Result<()> {
        static ZEROS: [u8; 16 * UNIT as usize] = [0; 16 * UNIT as usize];
        assert!(bytes <= self.capacity, "no room for frames");
        while self.held < bytes {
            let some = (bytes - self.held).min(ZEROS.len() as u64);
            let to = self.start + self.held;
            let from = ZEROS.as_ptr().expose_provenance() as u64;
            let copied = self.userfault.copy(to, from, some);
            copied.map_err(|error| OsError::new(format!("get {some} bytes of frames"), error))?;
            self.held += some;
        }
        Ok(())
    }
}

fn has_stopped(moved: &io::Result<()>, error: i32) -> bool {
    matches!(moved, Err(found) if found.raw_os_error() == Some(error))
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: this value made the mapping, and no reference outlives the calls that lend it.
        let _ = unsafe { munmap(pointer(self.start), (self.capacity + UNIT) as usize) };
    }
}

#[cfg(test)]
mod tests;
