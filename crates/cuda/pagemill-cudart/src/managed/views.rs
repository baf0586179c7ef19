//! One managed allocation, mapped twice.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::faults;

/// The two mappings of one allocation: the program's, at the simulated address, and the simulator's.
#[derive(Debug)]
pub(crate) struct Views {
    cpu: Range<u64>,
    simulator: Range<u64>,
}

impl Views {
    /// Maps `bytes` zero bytes at `address`, a multiple of the granule, and returns how the simulator sees them. The
    /// mapping ends with a whole granule.
    ///
    /// # Errors
    /// When the address is taken, or the system has no memory.
    pub(crate) fn map(
        address: u64,
        bytes: u64,
        granule_shift: u32,
    ) -> io::Result<(Self, &'static mut [u8])> {
        let mapped = bytes.next_multiple_of(1 << granule_shift);
        let file = memory_file(mapped)?;
        let cpu = map(&file, Some(address), mapped)?;
        let simulator = match map(&file, None, mapped) {
            Ok(simulator) => simulator,
            Err(error) => {
                unmap(cpu);
                return Err(error);
            }
        };
        let views = Self { cpu, simulator };
        faults::adopt(views.cpu.clone(), granule_shift)?;
        // SAFETY: the mapping is readable, writable, at least `bytes` long and stays until this `Views` is dropped, which
        // its owner does after the simulator has given the slice back. Nothing else uses this address. The program may
        // write the same bytes through its own view while it is not in a call of the runtime: such writes are as sudden
        // as those of a device, and no Rust code holds a borrow of the bytes across calls.
        let slice = unsafe {
            std::slice::from_raw_parts_mut(views.simulator.start as *mut u8, bytes as usize)
        };
        Ok((views, slice))
    }

    /// The addresses that the CPU sees.
    pub(crate) fn cpu(&self) -> Range<u64> {
        self.cpu.clone()
    }

    /// For each 4 KiB of `range`, addresses of the CPU's view, whether it has memory: something has touched it.
    pub(crate) fn present(&self, range: Range<u64>) -> Vec<bool> {
        debug_assert!(self.cpu.start <= range.start && range.end <= self.cpu.end);
        let length = (range.end - range.start) as usize;
        let mut pages = vec![0u8; length.div_ceil(4096)];
        let start = range.start as *mut libc::c_void;
        // SAFETY: the range is mapped, begins with a page, and there is a byte for each of its pages.
        let result = unsafe { libc::mincore(start, length, pages.as_mut_ptr()) };
        match result {
            0 => pages.into_iter().map(|page| page & 1 == 1).collect(),
            // Where the system does not tell, everything counts as touched.
            _ => vec![true; length.div_ceil(4096)],
        }
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        faults::abandon(self.cpu.clone());
        unmap(self.cpu.clone());
        unmap(self.simulator.clone());
    }
}

fn memory_file(bytes: u64) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string; a returned descriptor is new and ours.
    let file = unsafe {
        match libc::memfd_create(c"pagemill-managed".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => return Err(io::Error::last_os_error()),
            descriptor => OwnedFd::from_raw_fd(descriptor),
        }
    };
    let length = i64::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // SAFETY: the descriptor is open.
    match unsafe { libc::ftruncate(file.as_raw_fd(), length) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

fn map(file: &OwnedFd, address: Option<u64>, bytes: u64) -> io::Result<Range<u64>> {
    let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let fixed = match address {
        Some(_) => libc::MAP_FIXED_NOREPLACE,
        None => 0,
    };
    // SAFETY: a new mapping either where nothing is (NOREPLACE fails otherwise) or wherever there is room.
    let mapped = unsafe {
        libc::mmap(
            address.unwrap_or(0) as *mut libc::c_void,
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE | fixed,
            file.as_raw_fd(),
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let start = mapped as u64;
    if address.is_some_and(|address| address != start) {
        // Kernels before 4.17 take the address as a hint only.
        unmap(start..start + bytes);
        return Err(io::ErrorKind::AddrInUse.into());
    }
    Ok(start..start + bytes)
}

fn unmap(range: Range<u64>) {
    // SAFETY: the range is one that `map` returned, and is not used any more.
    unsafe {
        libc::munmap(
            range.start as *mut libc::c_void,
            (range.end - range.start) as usize,
        )
    };
}

#[cfg(test)]
mod tests;
