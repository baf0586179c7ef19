//! The device of the kernel module `pagemill_zero`, from its helper's side. The layout is `kmod/uapi/pagemill_zero.h`.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::{OsError, Result};

/// Bytes of a piece: a 2 MiB page is one, a 1 GiB page is 512.
pub const PIECE_BYTES: usize = 2 << 20;
/// Entries of the ring.
pub const ENTRIES: usize = 64;

const DEVICE: &str = "/dev/pagemill_zero";
const MAGIC: u64 = 0x30_654c_4d50;
const VERSION: u32 = 1;
const RING_BYTES: usize = 4096;
const WINDOW_OFFSET: u64 = PIECE_BYTES as u64;
const WINDOW_BYTES: usize = ENTRIES * PIECE_BYTES;
const NEEDS_REAP: u32 = 1;
const IOC_REAP: libc::c_ulong = ((b'Z' as libc::c_ulong) << 8) | 0x50;

#[repr(C)]
struct Entry {
    posted: AtomicU64,
    done: AtomicU64,
    flags: AtomicU32,
    reserved: u32,
}

#[repr(C)]
struct Ring {
    magic: AtomicU64,
    version: AtomicU32,
    entries: AtomicU32,
    head: AtomicU64,
    sleeping: AtomicU32,
    reserved: [u32; 9],
    entry: [Entry; ENTRIES],
}

const _: () = assert!(size_of::<Entry>() == 24 && size_of::<Ring>() == 64 + 24 * ENTRIES);

/// A piece that the module wants clean.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    index: usize,
    number: u64,
    needs_reap: bool,
}

/// An attached helper: the ring, and the window through which pieces are seen.
#[derive(Debug)]
pub struct ZeroModule {
    device: File,
    ring: *mut u8,
    window: *mut u8,
    cursor: u64,
}

// SAFETY: the mappings belong to this value, and no thread owns them.
unsafe impl Send for ZeroModule {}

impl ZeroModule {
    /// Attaches to the module.
    ///
    /// # Errors
    /// The module is not loaded, another helper is attached, the caller is not root, or the module speaks another version.
    pub fn open() -> Result<Self> {
        let device = OpenOptions::new().read(true).write(true).open(DEVICE);
        let device = device.map_err(|error| {
            OsError::new(format!("attach to {DEVICE}"), error).with_hint(
                "load the module (docs/zeroing-kernel.md), run as root, one helper at a time",
            )
        })?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses free addresses.
        let ring = unsafe {
            mmap(
                ptr::null_mut(),
                RING_BYTES,
                access,
                MapFlags::SHARED,
                &device,
                0,
            )
        };
        let ring = ring.map_err(|error| OsError::new("map the ring", error))?;
        let mut module = Self {
            device,
            ring: ring.cast(),
            window: ptr::null_mut(),
            cursor: 0,
        };
        module.check_version()?;
        module.map_window()?;
        bus_errors::catch(module.window)?;
        module.cursor = module.ring().head.load(Ordering::Acquire);
        Ok(module)
    }

    fn ring(&self) -> &Ring {
        // SAFETY: mapped for `RING_BYTES` until drop, page-aligned; all fields are atomic or never read, as the kernel writes them too.
        unsafe { &*self.ring.cast::<Ring>() }
    }

    fn check_version(&self) -> Result<()> {
        let ring = self.ring();
        let found = (
            ring.magic.load(Ordering::Relaxed),
            ring.version.load(Ordering::Relaxed),
            ring.entries.load(Ordering::Relaxed) as usize,
        );
        if found == (MAGIC, VERSION, ENTRIES) {
            return Ok(());
        }
        let error = std::io::Error::from(std::io::ErrorKind::Unsupported);
        Err(
            OsError::new(format!("talk to the module: it says {found:?}"), error)
                .with_hint("build module and helper from the same sources"),
        )
    }

    /// At a multiple of a piece, so that the module maps a piece with one entry of the page table.
    fn map_window(&mut self) -> Result<()> {
        let failed = |error| OsError::new("map the window", error);
        let room = WINDOW_BYTES + PIECE_BYTES;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses free addresses.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), room, ProtFlags::empty(), flags) };
        let start: *mut u8 = start.map_err(failed)?.cast();
        self.window = start.wrapping_add(start.align_offset(PIECE_BYTES));
        (0..ENTRIES).try_for_each(|index| self.map_piece(index))
    }

    /// Shows the piece of an entry at its place, whatever was there.
    fn map_piece(&self, index: usize) -> Result<()> {
        let offset = index * PIECE_BYTES;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the range lies in the room that `map_window` reserved, and no reference to it lives.
        let mapped = unsafe {
            mmap(
                self.window.add(offset).cast(),
                PIECE_BYTES,
                access,
                flags,
                &self.device,
                WINDOW_OFFSET + offset as u64,
            )
        };
        mapped.map_err(|error| OsError::new("map a piece of the window", error))?;
        Ok(())
    }

    /// What is posted and was not taken yet, oldest first, at most `most` pieces.
    pub fn take(&mut self, most: usize) -> Vec<Piece> {
        let head = self.ring().head.load(Ordering::Acquire);
        // Whatever is older than a lap has been taken back.
        self.cursor = self.cursor.max(head.saturating_sub(ENTRIES as u64));
        let mut pieces = Vec::new();
        while self.cursor != head && pieces.len() < most {
            let index = (self.cursor % ENTRIES as u64) as usize;
            let entry = &self.ring().entry[index];
            if entry.posted.load(Ordering::Acquire) == self.cursor {
                pieces.push(Piece {
                    index,
                    number: self.cursor,
                    needs_reap: entry.flags.load(Ordering::Relaxed) & NEEDS_REAP != 0,
                });
            }
            self.cursor += 1;
        }
        pieces
    }

    /// The memory of pieces that were taken together. When the module takes a piece back meanwhile, what is behind it becomes
    /// memory that means nothing.
    pub fn memory(&mut self, pieces: &[Piece]) -> Vec<&mut [u8]> {
        let of = |piece: &Piece| {
            // SAFETY: entries of one `take` differ, so the slices do not overlap; `&mut self` keeps others away, and a bus
            // error replaces the memory by private memory at the same place.
            unsafe {
                let start = self.window.add(piece.index * PIECE_BYTES);
                std::slice::from_raw_parts_mut(start, PIECE_BYTES)
            }
        };
        pieces.iter().map(of).collect()
    }

    /// Reports to the module that pieces are clean. Pieces that it took back meanwhile are left out.
    ///
    /// # Errors
    /// The window cannot be mapped again.
    pub fn done(&mut self, pieces: Vec<Piece>) -> Result<()> {
        let mut needs_reap = false;
        for piece in pieces {
            if bus_errors::hit(piece.index) {
                self.map_piece(piece.index)?;
                continue;
            }
            let entry = &self.ring().entry[piece.index];
            entry.done.store(piece.number, Ordering::Release);
            needs_reap |= piece.needs_reap;
        }
        if needs_reap {
            self.reap()?;
        }
        Ok(())
    }

    /// Has the module take back what is done and post what is dirty; says that this helper is alive.
    ///
    /// # Errors
    /// The module is of another version.
    pub fn reap(&self) -> Result<()> {
        // SAFETY: this request takes no argument.
        let answer = unsafe { libc::ioctl(self.device.as_raw_fd(), IOC_REAP) };
        if answer < 0 {
            return Err(OsError::new(
                "ask the module to reap",
                std::io::Error::last_os_error(),
            ));
        }
        Ok(())
    }

    /// Sleeps until something is posted, for `timeout_ms` at most.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    pub fn wait(&mut self, timeout_ms: u32) -> Result<()> {
        let ring = self.ring();
        ring.sleeping.store(1, Ordering::SeqCst);
        // Pairs with the module's: the head is written, then `sleeping` is read.
        fence(Ordering::SeqCst);
        let mut result = Ok(0);
        if ring.head.load(Ordering::SeqCst) == self.cursor {
            let timeout = Timespec {
                tv_sec: i64::from(timeout_ms / 1000),
                tv_nsec: i64::from(timeout_ms % 1000) * 1_000_000,
            };
            let mut waiting = [PollFd::new(&self.device, PollFlags::IN)];
            result = poll(&mut waiting, Some(&timeout));
        }
        ring.sleeping.store(0, Ordering::SeqCst);
        match result {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(OsError::new("wait for the module", error)),
        }
    }
}

impl AsFd for ZeroModule {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Drop for ZeroModule {
    fn drop(&mut self) {
        bus_errors::ignore();
        // SAFETY: made by `open`; no reference outlives `self`.
        unsafe {
            let _ = munmap(self.ring.cast(), RING_BYTES);
            if !self.window.is_null() {
                let _ = munmap(self.window.cast(), WINDOW_BYTES);
            }
        }
    }
}

/// A touch of a piece that the module has taken back.
mod bus_errors {
    use super::{
        AtomicBool, AtomicUsize, ENTRIES, Ordering, OsError, PIECE_BYTES, Result, WINDOW_BYTES, ptr,
    };

    static WINDOW: AtomicUsize = AtomicUsize::new(0);
    static HIT: [AtomicBool; ENTRIES] = [const { AtomicBool::new(false) }; ENTRIES];

    /// Whether the memory of this entry was replaced since the last time this was asked.
    pub fn hit(index: usize) -> bool {
        HIT[index].swap(false, Ordering::Relaxed)
    }

    pub fn ignore() {
        WINDOW.store(0, Ordering::SeqCst);
    }

    /// From now on bus errors in the window at `window` replace the piece by private memory.
    pub fn catch(window: *mut u8) -> Result<()> {
        WINDOW.store(window as usize, Ordering::SeqCst);
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            on_bus_error;
        // SAFETY: the action is filled in as sigaction(2) wants it; the handler only does what a signal handler may.
        let answer = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
        };
        if answer < 0 {
            return Err(OsError::new(
                "handle bus errors",
                std::io::Error::last_os_error(),
            ));
        }
        Ok(())
    }

    extern "C" fn on_bus_error(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        _: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes a valid siginfo_t, and SIGBUS has an address.
        let address = unsafe { (*info).si_addr() } as usize;
        let window = WINDOW.load(Ordering::SeqCst);
        let offset = address.wrapping_sub(window);
        if window == 0 || offset >= WINDOW_BYTES {
            // SAFETY: async-signal-safe; the touch is repeated and ends the process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
            return;
        }
        let index = offset / PIECE_BYTES;
        HIT[index].store(true, Ordering::Relaxed);
        // SAFETY: the range is a piece of the window, which this process reserved for the purpose.
        let mapped = unsafe {
            libc::mmap(
                (window + index * PIECE_BYTES) as *mut libc::c_void,
                PIECE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            // SAFETY: async-signal-safe.
            unsafe { libc::_exit(2) };
        }
    }
}
