//! Memory and events of other processes: handles of 64 bytes, and what they stand for.
//!
//! Each process has a simulated GPU of its own. Memory that a process hands out moves to a file in memory that others map, so
//! that the kernels of all of them work on the same bytes. An event of another process has always happened: what a stream
//! does is done when the call returns, and clocks of different processes have nothing to do with each other.

use std::collections::BTreeMap;

use pagemill_types::VirtAddr;

use super::Runtime;
use super::device::Device;
use super::memory::{Block, Kind};
use crate::error::{CudaError, Fault};
use crate::managed::{Origin, SharedMemory};

/// `cudaIpcMemHandle_t` and `cudaIpcEventHandle_t`.
pub type IpcHandle = [u8; 64];

/// What handles of memory and of events begin with.
const MEMORY: u64 = u64::from_le_bytes(*b"pgm-mem1");
const EVENT: u64 = u64::from_le_bytes(*b"pgm-evt1");

/// Memory that this process shares with others.
#[derive(Debug, Default)]
pub struct SharedWithOthers {
    /// Handed out, by its address here.
    exports: BTreeMap<u64, SharedMemory>,
    /// Of others, by its address here: where it is from, and how often it was opened.
    imports: BTreeMap<u64, (Origin, SharedMemory, u32)>,
}

impl SharedWithOthers {
    /// The allocation at `address` is gone.
    pub(super) fn forget(&mut self, address: u64) {
        self.exports.remove(&address);
    }
}

fn write(kind: u64, origin: &Origin) -> IpcHandle {
    let mut handle = [0; 64];
    handle[..8].copy_from_slice(&kind.to_le_bytes());
    handle[8..12].copy_from_slice(&origin.process.to_le_bytes());
    handle[12..16].copy_from_slice(&origin.descriptor.to_le_bytes());
    handle[16..24].copy_from_slice(&origin.inode.to_le_bytes());
    handle[24..32].copy_from_slice(&origin.bytes.to_le_bytes());
    handle
}

fn read(kind: u64, handle: &IpcHandle) -> Result<Origin, Fault> {
    let long = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&handle[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if long(0) != kind {
        let message = "this is no such handle of another process";
        return Err(Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message));
    }
    let both = long(8);
    Ok(Origin {
        process: both as u32,
        descriptor: (both >> 32) as u32,
        inode: long(16),
        bytes: long(24),
    })
}

fn system(what: &str, error: &std::io::Error) -> Fault {
    let message = format!("{what}: {error}");
    Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
}

impl SharedWithOthers {
    /// `cudaIpcOpenMemHandle`: where the memory of a handle is in this process.
    ///
    /// # Errors
    /// If it is no handle, of this process, or its memory is gone.
    pub fn import_memory(&mut self, device: &mut Device, handle: &IpcHandle) -> Result<u64, Fault> {
        let origin = read(MEMORY, handle)?;
        if origin.process == std::process::id() {
            let message = "a process cannot open a handle of its own memory";
            return Err(Fault::new(CudaError::INVALID_CONTEXT, message));
        }
        let known = self.imports.iter_mut();
        if let Some((&address, (_, _, opened))) = { known }.find(|(_, (own, ..))| *own == origin) {
            *opened += 1;
            return Ok(address);
        }
        let (shared, memory) = SharedMemory::open(&origin).map_err(|error| {
            let what = format!("the memory of process {} cannot be opened", origin.process);
            system(&what, &error)
        })?;
        let bytes = memory.len() as u64;
        let address = device.gpu.reserve_addresses(bytes, 1)?.0;
        device
            .gpu
            .lend_fixed("cudaIpcOpenMemHandle", VirtAddr(address), memory)?;
        self.imports.insert(address, (origin, shared, 1));
        device.add_block(address, bytes, Kind::Imported);
        Ok(address)
    }
}

impl Runtime {
    /// `cudaIpcGetMemHandle`: a handle of the allocation that holds `address`.
    ///
    /// # Errors
    /// If that is no memory of `cudaMalloc`, or the system has no room.
    pub fn export_memory(&mut self, address: u64) -> Result<IpcHandle, Fault> {
        let found = self.device.block_at(address);
        let Some((
            start,
            &Block {
                bytes,
                kind: Kind::Device(buffer),
            },
        )) = found
        else {
            let advice = match self.device.setting.managed {
                true => ", and is managed here: run the program without --managed",
                false => "",
            };
            return Err(Fault::invalid(format!(
                "{address:#x} is not in memory of cudaMalloc, which alone can be shared with other processes{advice}"
            )));
        };
        let failed = |error: std::io::Error| system("cannot share the memory", &error);
        if !self.shared.exports.contains_key(&start) {
            self.synchronize();
            let (shared, memory) = SharedMemory::create(bytes).map_err(failed)?;
            self.device.gpu.move_into(buffer, memory)?;
            self.shared.exports.insert(start, shared);
        }
        let origin = self.shared.exports[&start].origin().map_err(failed)?;
        Ok(write(MEMORY, &origin))
    }

    /// `cudaIpcCloseMemHandle`.
    ///
    /// # Errors
    /// If nothing of another process starts at `address`.
    pub fn close_memory(&mut self, address: u64) -> Result<(), Fault> {
        self.synchronize();
        let Some((_, _, opened)) = self.shared.imports.get_mut(&address) else {
            let message = format!("no memory of another process starts at {address:#x}");
            return Err(Fault::invalid(message));
        };
        *opened -= 1;
        if *opened == 0 {
            let at = self.streams.host();
            self.device.gpu.free(at, VirtAddr(address))?;
            self.device.blocks.remove(&address);
            self.shared.imports.remove(&address);
        }
        Ok(())
    }

    /// `cudaIpcGetEventHandle`.
    ///
    /// # Errors
    /// If there is no such event.
    pub fn export_event(&self, event: u64) -> Result<IpcHandle, Fault> {
        self.streams.event(event)?;
        let origin = Origin {
            process: std::process::id(),
            descriptor: 0,
            inode: event,
            bytes: 0,
        };
        Ok(write(EVENT, &origin))
    }

    /// `cudaIpcOpenEventHandle`: an event that has happened.
    ///
    /// # Errors
    /// If it is no handle, or of this process.
    pub fn import_event(&mut self, handle: &IpcHandle) -> Result<u64, Fault> {
        let origin = read(EVENT, handle)?;
        if origin.process == std::process::id() {
            let message = "a process cannot open a handle of its own event";
            return Err(Fault::new(CudaError::INVALID_CONTEXT, message));
        }
        Ok(self.streams.create_event())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_read_as_they_were_written() {
        let origin = Origin {
            process: 0x8123_4567,
            descriptor: 77,
            inode: u64::MAX - 1,
            bytes: 1 << 40,
        };
        let handle = write(MEMORY, &origin);
        assert_eq!(read(MEMORY, &handle), Ok(origin));
        assert!(read(EVENT, &handle).is_err());
        assert!(read(MEMORY, &[0; 64]).is_err());
    }
}
