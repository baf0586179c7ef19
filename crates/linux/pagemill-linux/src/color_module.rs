//! The device of the kernel module `pagemill_color`. The layout is `kmod/uapi/pagemill_color.h`.

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{OsError, Result};

/// The file that is opened for a space.
pub const DEVICE: &str = "/dev/pagemill_color";

/// Most colors that the module knows.
pub const COLORS_MAX: u16 = 1024;

const VERSION: u32 = 1;
const SET_WORDS: usize = COLORS_MAX as usize / 64;

/// What the module's colors come from.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    version: u32,
    /// Number of colors; a frame has the color frame number modulo this.
    pub colors: u32,
    /// Capacity of the cache.
    pub cache_bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The number of the space, never used twice.
    pub space: u32,
    reserved: [u64; 2],
}

/// What happens when the color whose turn it is has no frame left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum WhenEmpty {
    /// Another color of the set, then any frame; it is counted.
    #[default]
    AnyFrame = 0,
    /// Another color of the set, then a bus error.
    OtherColor = 1,
    /// A bus error.
    Fail = 2,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Choice {
    set: [u64; SET_WORDS],
    rule: u32,
    reserved: u32,
}

#[repr(C)]
struct Recolor {
    choice: Choice,
    pages: u64,
    planned: u64,
}

#[repr(C)]
struct ReleaseRange {
    address: u64,
    bytes: u64,
}

/// Pages of a space, and what happened to them since it was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages with a frame.
    pub pages: u64,
    /// Of these, in a color of the set.
    pub in_set: u64,
    /// To be copied when touched again.
    pub pending: u64,
    /// First touches.
    pub dealt: u64,
    /// Copied by a touch after a change of colors.
    pub copied: u64,
    /// Copied by a write after a fork.
    pub cow_copied: u64,
    /// Left in their frame, because another user held it.
    pub pinned: u64,
    /// Frames of another color than asked.
    pub strays: u64,
    /// Frames of another color of the set.
    pub other_colors: u64,
    /// Touches without a frame.
    pub failures: u64,
    /// Changes of colors that planned a copy.
    pub recolors: u64,
    /// Passes over page tables, each with one flush.
    pub flushes: u64,
}

#[repr(C)]
struct Report {
    choice: Choice,
    counts: Counts,
    frames_by_color: u64,
    frames_capacity: u32,
    reserved: u32,
}

/// What a change of colors asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recolored {
    /// Pages that the space has.
    pub pages: u64,
    /// Those to be copied when touched again.
    pub planned: u64,
}

const fn request(direction: libc::c_ulong, number: u8, bytes: usize) -> libc::c_ulong {
    direction << 30
        | (bytes as libc::c_ulong) << 16
        | (b'Z' as libc::c_ulong) << 8
        | number as libc::c_ulong
}

const READ: libc::c_ulong = 2;
const WRITE: libc::c_ulong = 1;
const IOC_INFO: libc::c_ulong = request(READ, 0x60, size_of::<Info>());
const IOC_SET: libc::c_ulong = request(WRITE, 0x61, size_of::<Choice>());
const IOC_RECOLOR: libc::c_ulong = request(READ | WRITE, 0x62, size_of::<Recolor>());
const IOC_RELEASE: libc::c_ulong = request(WRITE, 0x63, size_of::<ReleaseRange>());
const IOC_REPORT: libc::c_ulong = request(READ | WRITE, 0x64, size_of::<Report>());

/// Opens a space. Allocates nothing.
///
/// # Errors
/// The module is not loaded, or this user may not use it.
pub fn open_raw() -> std::result::Result<OwnedFd, Errno> {
    rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

/// Gives the frames of pages back; a later touch finds zeroes. Allocates nothing.
///
/// # Errors
/// The pages are not all in one mapping of the space.
pub fn release(
    space: BorrowedFd<'_>,
    address: usize,
    bytes: usize,
) -> std::result::Result<(), Errno> {
    let mut range = ReleaseRange {
        address: address as u64,
        bytes: bytes as u64,
    };
    call(space, IOC_RELEASE, &mut range)
}

fn call<T>(
    space: BorrowedFd<'_>,
    request: libc::c_ulong,
    argument: &mut T,
) -> std::result::Result<(), Errno> {
    let argument: *mut T = argument;
    // SAFETY: each request is passed the structure that its number was made of, alive and exclusively ours.
    let answer = unsafe { libc::ioctl(space.as_raw_fd(), request, argument) };
    if answer == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}

impl Choice {
    fn new(colors: &Range<u16>, rule: WhenEmpty) -> Self {
        let mut set = [0; SET_WORDS];
        for color in colors.clone().take_while(|color| *color < COLORS_MAX) {
            set[usize::from(color) / 64] |= 1 << (color % 64);
        }
        Self {
            set,
            rule: rule as u32,
            reserved: 0,
        }
    }
}

/// A set of colors, and memory in pages of these colors: an open file of the module.
#[derive(Debug)]
pub struct Space {
    file: File,
}

impl Space {
    /// A new space of all colors.
    ///
    /// # Errors
    /// The module is not loaded, this user may not use it, or it speaks another version.
    pub fn open() -> Result<Self> {
        let file = open_raw().map_err(|error| {
            let hint = match error {
                Errno::ACCESS | Errno::PERM => "the file's mode decides who may use it",
                _ => "load the module: docs/coloring-programs.md",
            };
            OsError::new(format!("open {DEVICE}"), error).with_hint(hint)
        })?;
        let space = Self {
            file: File::from(file),
        };
        let version = space.info()?.version;
        if version != VERSION {
            let error = std::io::Error::from(std::io::ErrorKind::Unsupported);
            return Err(OsError::new(
                format!("talk to the module: it has version {version}, this program {VERSION}"),
                error,
            )
            .with_hint("build both from the same sources"));
        }
        Ok(space)
    }

    /// What the colors come from.
    ///
    /// # Errors
    /// Not a file of the module.
    pub fn info(&self) -> Result<Info> {
        let mut info = Info::default();
        self.ask("read what the colors come from", IOC_INFO, &mut info)?;
        Ok(info)
    }

    /// The colors of pages that are dealt from now on.
    ///
    /// # Errors
    /// `colors` is empty, or holds one that there is not.
    pub fn set(&self, colors: &Range<u16>, rule: WhenEmpty) -> Result<()> {
        let mut choice = Choice::new(colors, rule);
        self.ask(&format!("choose colors {colors:?}"), IOC_SET, &mut choice)
    }

    /// The colors of all pages: the even map with the fewest moves; a page that is to move is copied when it is touched again.
    ///
    /// # Errors
    /// As [`Space::set`].
    pub fn recolor(&self, colors: &Range<u16>, rule: WhenEmpty) -> Result<Recolored> {
        let mut recolor = Recolor {
            choice: Choice::new(colors, rule),
            pages: 0,
            planned: 0,
        };
        self.ask(
            &format!("change to colors {colors:?}"),
            IOC_RECOLOR,
            &mut recolor,
        )?;
        Ok(Recolored {
            pages: recolor.pages,
            planned: recolor.planned,
        })
    }

    /// Its pages and events.
    ///
    /// # Errors
    /// Not a file of the module.
    pub fn counts(&self) -> Result<Counts> {
        let mut report = Report {
            choice: Choice::new(&(0..0), WhenEmpty::default()),
            counts: Counts::default(),
            frames_by_color: 0,
            frames_capacity: 0,
            reserved: 0,
        };
        self.ask("read the counts of a space", IOC_REPORT, &mut report)?;
        Ok(report.counts)
    }

    fn ask<T>(&self, what: &str, request: libc::c_ulong, argument: &mut T) -> Result<()> {
        call(self.file.as_fd(), request, argument).map_err(|error| OsError::new(what, error))
    }
}

impl AsFd for Space {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests;
