//! Virtual memory management: addresses that are reserved, memory that is made, and what is mapped where.
//!
//! Memory that is not mapped lies at addresses that no program learns; mapping moves it. So memory can be mapped at one
//! place at a time.

use std::collections::BTreeMap;

use pagemill_sim::Buffer;
use pagemill_types::VirtAddr;

use super::Runtime;
use super::device::Device;
use super::memory::Kind;
use crate::error::{CudaError, Fault};

/// Sizes of memory and of reserved ranges are multiples of this, as on NVIDIA's GPUs.
pub const GRANULE_BYTES: u64 = 2 << 20;

/// Set in handles of memory, and in no address.
const HANDLE_TAG: u64 = 0x70 << 56;

/// Memory that `cuMemCreate` made.
#[derive(Debug)]
struct Physical {
    buffer: Buffer,
    /// Where it lies when it is not mapped.
    home: u64,
    is_mapped: bool,
    /// Handles that the program has not released.
    handles: u32,
}

/// All of it.
#[derive(Debug, Default)]
pub struct VirtualMemory {
    /// Bytes of reserved ranges, by their first address.
    ranges: BTreeMap<u64, u64>,
    physical: BTreeMap<u64, Physical>,
    made: u64,
}

fn check_granule(what: &str, bytes: u64) -> Result<(), Fault> {
    if bytes == 0 || !bytes.is_multiple_of(GRANULE_BYTES) {
        return Err(Fault::invalid(format!(
            "{what} of {bytes:#x} bytes is no multiple of the granularity, {GRANULE_BYTES:#x} bytes"
        )));
    }
    Ok(())
}

impl VirtualMemory {
    /// `cuMemAddressReserve`: a range of addresses, aligned at least to the granularity.
    ///
    /// # Errors
    /// A size that is no multiple of the granularity, or more addresses than there are.
    pub fn reserve_addresses(
        &mut self,
        device: &mut Device,
        bytes: u64,
        align: u64,
    ) -> Result<u64, Fault> {
        check_granule("a range", bytes)?;
        if align != 0 && !align.is_power_of_two() {
            let message = format!("an alignment of {align:#x} is no power of two");
            return Err(Fault::invalid(message));
        }
        let address = device
            .gpu
            .reserve_addresses(bytes, align.max(GRANULE_BYTES))?
            .0;
        self.ranges.insert(address, bytes);
        Ok(address)
    }

    /// `cuMemAddressFree`.
    ///
    /// # Errors
    /// If the range was not reserved as a whole, or something is mapped in it.
    pub fn free_addresses(
        &mut self,
        device: &Device,
        address: u64,
        bytes: u64,
    ) -> Result<(), Fault> {
        if self.ranges.get(&address) != Some(&bytes) {
            let message = format!("{bytes:#x} bytes at {address:#x} were not reserved");
            return Err(Fault::invalid(message));
        }
        if device
            .blocks
            .range(address..address + bytes)
            .next()
            .is_some()
        {
            let message = format!("memory is mapped in the range at {address:#x}");
            return Err(Fault::invalid(message));
        }
        self.ranges.remove(&address);
        Ok(())
    }

    fn physical(&mut self, handle: u64) -> Result<&mut Physical, Fault> {
        let found = self.physical.get_mut(&handle);
        found.ok_or_else(|| Fault::invalid(format!("{handle:#x} is no memory of cuMemCreate")))
    }

    /// Bytes of the memory of a handle.
    ///
    /// # Errors
    /// If there is none.
    pub fn physical_bytes(&mut self, handle: u64) -> Result<u64, Fault> {
        Ok(self.physical(handle)?.buffer.bytes)
    }

    /// `cuMemMap`: all memory of `handle` is at `address` from now on.
    ///
    /// # Errors
    /// A range that is not reserved or has something mapped, memory that is mapped elsewhere, or part of memory.
    pub fn map_physical(
        &mut self,
        device: &mut Device,
        address: u64,
        bytes: u64,
        handle: u64,
    ) -> Result<(), Fault> {
        let range = self.ranges.range(..=address).next_back();
        let fits =
            range.is_some_and(|(start, length)| bytes <= length.saturating_sub(address - start));
        if !fits || !address.is_multiple_of(GRANULE_BYTES) {
            let message = format!("{bytes:#x} bytes at {address:#x} are not reserved");
            return Err(Fault::invalid(message));
        }
        let physical = self.physical(handle)?;
        if physical.is_mapped || physical.buffer.bytes != bytes {
            let message = format!(
                "memory of {:#x} bytes can be mapped as a whole, at one place at a time",
                physical.buffer.bytes
            );
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        let buffer = physical.buffer;
        let moved = device.gpu.move_fixed(buffer, VirtAddr(address));
        let buffer = moved.map_err(|error| Fault::invalid(error.to_string()))?;
        let physical = self.physical(handle)?;
        (physical.buffer, physical.is_mapped) = (buffer, true);
        device.add_block(address, bytes, Kind::Mapped(handle));
        Ok(())
    }

    /// `cuMemRetainAllocationHandle`: another handle of what is mapped at `address`, which is the same number.
    ///
    /// # Errors
    /// If nothing is mapped there.
    pub fn retain_mapped(&mut self, device: &Device, address: u64) -> Result<u64, Fault> {
        let handle = match device.block_at(address).map(|(_, block)| &block.kind) {
            Some(Kind::Mapped(handle)) => *handle,
            _ => return Err(Fault::invalid(format!("nothing is mapped at {address:#x}"))),
        };
        self.physical(handle)?.handles += 1;
        Ok(handle)
    }
}

impl Runtime {
    /// `cuMemCreate`: takes GPU memory, and returns its handle.
    ///
    /// # Errors
    /// A size that is no multiple of the granularity, or no room.
    pub fn create_physical(&mut self, bytes: u64) -> Result<u64, Fault> {
        check_granule("memory", bytes)?;
        let at = self.streams.host();
        let buffer = self.device.gpu.alloc_fixed(at, "cuMemCreate", bytes)?;
        let memory = &mut self.virtual_memory;
        memory.made += 1;
        let handle = HANDLE_TAG | memory.made;
        let physical = Physical {
            buffer,
            home: buffer.address.0,
            is_mapped: false,
            handles: 1,
        };
        memory.physical.insert(handle, physical);
        Ok(handle)
    }

    /// `cuMemRelease`: the memory goes once it is neither mapped nor held.
    ///
    /// # Errors
    /// If there is no such memory, or all its handles were released.
    pub fn release_physical(&mut self, handle: u64) -> Result<(), Fault> {
        let physical = self.virtual_memory.physical(handle)?;
        let left = physical.handles.checked_sub(1);
        physical.handles =
            left.ok_or_else(|| Fault::invalid(format!("{handle:#x} was released")))?;
        self.drop_unused(handle)
    }

    fn drop_unused(&mut self, handle: u64) -> Result<(), Fault> {
        let physical = self.virtual_memory.physical(handle)?;
        if physical.is_mapped || physical.handles > 0 {
            return Ok(());
        }
        let buffer = physical.buffer;
        self.synchronize();
        self.device.gpu.free_fixed(self.streams.host(), buffer)?;
        self.virtual_memory.physical.remove(&handle);
        Ok(())
    }

    /// `cuMemUnmap` of everything in a range; waits for the GPU.
    ///
    /// # Errors
    /// If nothing is mapped there, or something only in part.
    pub fn unmap(&mut self, address: u64, bytes: u64) -> Result<(), Fault> {
        let end = address.saturating_add(bytes);
        let mapped =
            self.device
                .blocks
                .range(address..end)
                .filter_map(|(&start, block)| match block.kind {
                    Kind::Mapped(handle) => Some((start, start + block.bytes, handle)),
                    _ => None,
                });
        let mapped: Vec<(u64, u64, u64)> = mapped.collect();
        let covered: u64 = mapped.iter().map(|(start, end, _)| end - start).sum();
        if covered != bytes || bytes == 0 {
            let message = format!("{bytes:#x} bytes at {address:#x} are not all mapped");
            return Err(Fault::invalid(message));
        }
        self.synchronize();
        for (start, _, handle) in mapped {
            let physical = self.virtual_memory.physical(handle)?;
            let (buffer, home) = (physical.buffer, VirtAddr(physical.home));
            let buffer = self.device.gpu.move_fixed(buffer, home)?;
            let physical = self.virtual_memory.physical(handle)?;
            (physical.buffer, physical.is_mapped) = (buffer, false);
            self.device.blocks.remove(&start);
            self.drop_unused(handle)?;
        }
        Ok(())
    }
}
