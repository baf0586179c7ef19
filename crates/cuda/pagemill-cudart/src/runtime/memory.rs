//! Allocations: what is where.

use std::io::Write;

use pagemill_pages::hints::{self, Action, PAGE_BYTES, PageAdvice};
use pagemill_ptx::Defect;
use pagemill_sim::{Buffer, TransferMode};
use pagemill_types::VirtAddr;

use super::device::Device;
use super::pages::ManagedPages;
use super::{Extent, Runtime, Span, StreamId, Work};
use crate::error::{CudaError, Fault};

/// GPU memory that programs see of a machine that does not limit it.
const UNLIMITED_BYTES: u64 = 64 << 30;
/// Where pinned memory whose touches are seen begins: in the upper half of the addresses that are watched.
const WATCHED_BASE: u64 = (1 << 40) + (1 << 43);

/// Where memory of graphs begins.
const GRAPH_ALIGN_BYTES: u64 = 512;

/// Which memory an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Always on the GPU.
    Device,
    /// Wherever it was used last.
    Managed,
    /// CPU memory that the GPU can use.
    Pinned,
    /// CPU memory that the runtime knows nothing of.
    Host,
}

/// One allocation.
pub(super) struct Block {
    pub(super) bytes: u64,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Device(Buffer),
    Managed(Buffer, ManagedPages),
    Pinned(Pinned),
    /// What `cuMemMap` has put there: the handle of the memory.
    Mapped(u64),
    /// Memory of another process's GPU.
    Imported,
}

impl Block {
    /// Its pages where the CPU's touches can be seen.
    pub(super) fn pages(&self) -> Option<&ManagedPages> {
        match &self.kind {
            Kind::Managed(_, pages) | Kind::Pinned(Pinned::Watched(pages)) => Some(pages),
            _ => None,
        }
    }

    pub(super) fn pages_mut(&mut self) -> Option<&mut ManagedPages> {
        match &mut self.kind {
            Kind::Managed(_, pages) | Kind::Pinned(Pinned::Watched(pages)) => Some(pages),
            _ => None,
        }
    }
}

/// Who owns pinned memory.
pub(super) enum Pinned {
    /// The runtime: it is given back when it is freed.
    Owned,
    /// The program, which registered it.
    Registered,
    /// The runtime, which sees what the CPU touches.
    Watched(ManagedPages),
}

impl Device {
    /// `cudaMallocManaged`: memory with one address on both sides.
    ///
    /// # Errors
    /// Zero bytes, or the system has no room at the address.
    pub fn malloc_managed(&mut self, bytes: u64) -> Result<u64, Fault> {
        if bytes == 0 {
            let message = "a managed allocation needs at least one byte";
            return Err(Fault::invalid(message));
        }
        let address = self.gpu.next_managed_address().0;
        let (pages, memory) = ManagedPages::map(address, bytes, self.gpu.managed_granule())?;
        self.lend_managed("cudaMallocManaged", address, pages, memory)?;
        Ok(address)
    }

    /// Managed memory for a program that asks for memory of the GPU, and expects no more of it: its bytes have no value, and copies
    /// find it on the GPU.
    fn malloc_in_place_of_device(&mut self, bytes: u64) -> Result<u64, Fault> {
        let address = self.gpu.next_managed_address().0;
        let (pages, memory) = ManagedPages::map(address, bytes, self.gpu.managed_granule())?;
        self.lend_managed("cudaMalloc", address, pages.in_place_of_device(), memory)?;
        self.gpu.device_memory_mut().forget_values(address, bytes);
        Ok(address)
    }

    fn lend_managed(
        &mut self,
        name: &str,
        address: u64,
        pages: ManagedPages,
        memory: &'static mut [u8],
    ) -> Result<(), Fault> {
        let bytes = memory.len() as u64;
        let buffer = self.gpu.lend_managed(name, memory)?;
        self.gpu.starts_untouched(buffer)?;
        self.add_block(address, bytes, Kind::Managed(buffer, pages));
        Ok(())
    }

    /// Makes host memory at `address` usable by kernels. `owned` says whether the runtime allocated it.
    ///
    /// # Errors
    /// If some of it is known already.
    pub fn pin(
        &mut self,
        address: u64,
        memory: &'static mut [u8],
        owned: bool,
    ) -> Result<(), Fault> {
        let bytes = memory.len() as u64;
        let lent = self
            .gpu
            .lend_host("pinned memory", VirtAddr(address), memory);
        lent.map_err(|error| {
            Fault::new(CudaError::HOST_MEMORY_ALREADY_REGISTERED, error.to_string())
        })?;
        let kind = Kind::Pinned(if owned {
            Pinned::Owned
        } else {
            Pinned::Registered
        });
        self.blocks.insert(address, Block { bytes, kind });
        Ok(())
    }

    /// Allocates pinned memory in which the CPU's touches are seen; `None` where mistakes are not looked for, or that is not
    /// possible.
    pub fn pin_watched(&mut self, bytes: u64) -> Option<u64> {
        if !self.setting.check {
            return None;
        }
        let granule = self.gpu.managed_granule();
        let last = self.blocks.range(WATCHED_BASE..).next_back();
        let address = last.map_or(WATCHED_BASE, |(start, block)| start + block.bytes);
        let address = address.next_multiple_of(granule.bytes());
        let (pages, memory) = ManagedPages::map(address, bytes, granule).ok()?;
        let memory_of_gpu = self.gpu.device_memory_mut();
        memory_of_gpu
            .lend_at("pinned memory", address, memory)
            .ok()?;
        self.add_block(address, bytes, Kind::Pinned(Pinned::Watched(pages)));
        Some(address)
    }

    fn no_allocation(&self, address: u64) -> Fault {
        let within = self
            .block_at(address)
            .map_or_else(String::new, |(start, block)| {
                format!(
                    "; it is {} bytes into an allocation of {}",
                    address - start,
                    block.bytes
                )
            });
        let message = format!("no allocation of the GPU starts at {address:#x}{within}");
        let defect = self.defect_at(address, Defect::BadFree);
        Fault::invalid(message).as_defect(defect)
    }

    /// The allocation that holds `address`, with its start.
    pub(super) fn block_at(&self, address: u64) -> Option<(u64, &Block)> {
        let (&start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.bytes).then_some((start, block))
    }

    /// Which memory `address` belongs to.
    pub fn side(&self, address: u64) -> Side {
        match self.block_at(address).map(|(_, block)| &block.kind) {
            Some(Kind::Device(_) | Kind::Mapped(_) | Kind::Imported) => Side::Device,
            Some(Kind::Managed(..)) => Side::Managed,
            Some(Kind::Pinned(_)) => Side::Pinned,
            // Variables of modules are no allocations of the program.
            None if self.gpu.bytes(VirtAddr(address), 1).is_ok() => Side::Device,
            None => Side::Host,
        }
    }

    /// First address and size in bytes of the allocation that holds `address`.
    pub fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let (start, block) = self.block_at(address)?;
        Some((start, block.bytes))
    }

    /// The bytes at `address` of memory that the runtime knows.
    ///
    /// # Errors
    /// If they are not all within one allocation.
    pub fn bytes_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], Fault> {
        self.bytes(address, bytes)?;
        let bytes = self.gpu.bytes_mut(VirtAddr(address), bytes);
        bytes.map_err(|error| Fault::invalid(error.to_string()))
    }

    /// As [`Device::bytes_mut`], to read.
    ///
    /// # Errors
    /// As there.
    pub fn bytes(&self, address: u64, bytes: u64) -> Result<&[u8], Fault> {
        let found = self.gpu.bytes(VirtAddr(address), bytes);
        found.map_err(|error| self.outside(address, error.to_string()))
    }

    /// A copy or fill that uses memory which is not there.
    pub fn outside(&self, address: u64, message: String) -> Fault {
        let defect = self.defect_at(address, Defect::OutOfBounds);
        Fault::invalid(message).as_defect(defect)
    }

    /// Free and total bytes of GPU memory, for `cudaMemGetInfo`.
    pub fn memory_info(&self) -> (u64, u64) {
        let total = self.total_bytes();
        (total.saturating_sub(self.gpu.fixed_bytes()), total)
    }

    /// GPU memory in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.setting
            .machine
            .program_bytes()
            .unwrap_or(UNLIMITED_BYTES)
    }

    /// What was said of every 4 KiB page of managed memory, if the same was said of all of them.
    ///
    /// # Errors
    /// If the bytes are not all managed.
    pub fn advice(&self, address: u64, bytes: u64) -> Result<Vec<PageAdvice>, Fault> {
        self.managed_range(address, bytes)?;
        let pages = (address / PAGE_BYTES..(address + bytes).div_ceil(PAGE_BYTES))
            .map(|page| self.gpu.advice(VirtAddr(page * PAGE_BYTES)));
        let mut different: Vec<PageAdvice> = pages.collect();
        different.dedup();
        Ok(different)
    }

    /// Whether a unified-memory driver moves pages.
    pub(super) fn is_driven(&self) -> bool {
        matches!(self.setting.mode, TransferMode::Driver(_))
    }

    /// The managed buffer that holds all of `address..address + bytes`, and where in it.
    ///
    /// # Errors
    /// If there is none.
    pub fn managed_range(
        &self,
        address: u64,
        bytes: u64,
    ) -> Result<(Buffer, std::ops::Range<u64>), Fault> {
        if let Some((start, block)) = self.block_at(address)
            && let Kind::Managed(buffer, _) = &block.kind
            && bytes <= start + block.bytes - address
        {
            let offset = address - start;
            return Ok((*buffer, offset..offset + bytes));
        }
        Err(Fault::invalid(format!(
            "{bytes} bytes at {address:#x} are not all of one managed allocation"
        )))
    }

    /// Whether all of a range is mapped.
    pub fn is_mapped(&self, address: u64, bytes: u64) -> bool {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            match self.block_at(at) {
                Some((start, block)) if matches!(block.kind, Kind::Mapped(_)) => {
                    at = start + block.bytes
                }
                _ => return false,
            }
        }
        true
    }

    /// Work that allocates `bytes`, and where they will be.
    ///
    /// # Errors
    /// More addresses than there are.
    pub fn graph_allocation(&mut self, bytes: u64) -> Result<(Work, u64), Fault> {
        let address = self
            .gpu
            .reserve_addresses(bytes.max(1), GRAPH_ALIGN_BYTES)?
            .0;
        Ok((Work::Allocate { address, bytes }, address))
    }
}

impl Runtime {
    /// `cudaMalloc`: memory that is always on the GPU, or managed memory in its place. Nothing for zero bytes.
    ///
    /// # Errors
    /// If the GPU has no room.
    pub fn malloc(&mut self, bytes: u64) -> Result<Option<u64>, Fault> {
        if bytes == 0 {
            return Ok(None);
        }
        if self.device.setting.managed {
            return self.device.malloc_in_place_of_device(bytes).map(Some);
        }
        let at = self.streams.host();
        let buffer = self.device.gpu.alloc_fixed(at, "cudaMalloc", bytes)?;
        self.device
            .add_block(buffer.address.0, bytes, Kind::Device(buffer));
        Ok(Some(buffer.address.0))
    }

    /// Has what a copy or fill in `stream` uses on the GPU, where the program asked for memory of the GPU; what the copy finds there.
    pub(super) fn bring_for_copy(
        &mut self,
        (span, side): (&Span, Side),
        extent: &Extent,
        stream: StreamId,
    ) -> Result<Side, Fault> {
        let found = self.device.block_at(span.address);
        match found.map(|(_, block)| &block.kind) {
            Some(Kind::Managed(_, pages)) if pages.is_in_place_of_device() => {
                let bytes = span.reach(extent).unwrap_or(u64::MAX);
                self.prefetch(span.address, bytes, true, stream)?;
                Ok(Side::Device)
            }
            _ => Ok(side),
        }
    }

    /// Ends `cudaHostRegister`, or gives back memory of `cudaMallocHost`; returns how many bytes are
    /// the caller's to give back.
    ///
    /// # Errors
    /// If nothing of the kind starts at `address`.
    pub fn unpin(&mut self, address: u64, owned: bool) -> Result<u64, Fault> {
        let block = self.device.blocks.get(&address);
        let is_it = block.is_some_and(|block| match block.kind {
            Kind::Pinned(Pinned::Owned | Pinned::Watched(_)) => owned,
            Kind::Pinned(Pinned::Registered) => !owned,
            _ => false,
        });
        if !is_it {
            let (code, what) = if owned {
                (CudaError::INVALID_VALUE, "allocation of cudaMallocHost")
            } else {
                (CudaError::HOST_MEMORY_NOT_REGISTERED, "registered memory")
            };
            let defect = self.device.defect_at(address, Defect::BadFree);
            let message = format!("no {what} starts at {address:#x}");
            return Err(Fault::new(code, message).as_defect(defect));
        }
        self.synchronize();
        if matches!(self.device.blocks.get(&address), Some(block) if matches!(block.kind, Kind::Pinned(Pinned::Watched(_))))
        {
            let freed = self.device.gpu.device_memory_mut().free(address);
            freed.map_err(|error| Fault::invalid(error.to_string()))?;
            self.device.blocks.remove(&address);
            return Ok(0);
        }
        let at = self.streams.host();
        self.device.gpu.free(at, VirtAddr(address))?;
        let block = self.device.blocks.remove(&address);
        Ok(block.map_or(0, |block| block.bytes))
    }

    /// `cudaFree` of an address other than null; waits for the GPU.
    ///
    /// # Errors
    /// If no allocation of the GPU starts there.
    pub fn free(&mut self, address: u64) -> Result<(), Fault> {
        self.synchronize();
        self.release(address)
    }

    /// `cudaFreeAsync`: as [`Runtime::free`], but work of other streams is not waited for.
    ///
    /// # Errors
    /// As there.
    pub fn free_in(&mut self, address: u64, stream: StreamId) -> Result<(), Fault> {
        if let Some(block) = self.device.blocks.get(&address) {
            self.note_free(address, block.bytes, stream)?;
        }
        self.streams.host_waits(self.streams.end_of_all());
        self.release(address)
    }

    fn release(&mut self, address: u64) -> Result<(), Fault> {
        let at = self.streams.host();
        match self.device.blocks.get(&address).map(|block| &block.kind) {
            Some(Kind::Device(buffer)) => self.device.gpu.free_fixed(at, *buffer)?,
            Some(Kind::Managed(..)) => self.device.gpu.free(at, VirtAddr(address))?,
            _ => return Err(self.device.no_allocation(address)),
        }
        self.graph_memory.forget(address);
        self.shared.forget(address);
        self.device.blocks.remove(&address);
        Ok(())
    }

    /// Moves all managed pages of `address..address + bytes` to one side before they are needed.
    ///
    /// # Errors
    /// If the bytes are not all managed.
    pub fn prefetch(
        &mut self,
        address: u64,
        bytes: u64,
        to_gpu: bool,
        stream: super::StreamId,
    ) -> Result<(), Fault> {
        let (buffer, range) = self.device.managed_range(address, bytes)?;
        self.device.report_first_touches();
        let driven = self.device.is_driven();
        let done = self.enqueue(stream, |gpu, at| {
            if driven {
                let side = match to_gpu {
                    true => hints::Side::Gpu,
                    false => hints::Side::Cpu,
                };
                let done = gpu.advise(at, buffer, range, Action::Prefetch(side))?;
                Ok(done.unwrap_or(at))
            } else if to_gpu {
                Ok(gpu.prefetch(at, buffer, range)?)
            } else {
                Ok(gpu.copy_from_gpu(at, buffer, range)?)
            }
        })?;
        self.device.close_pages_on_gpu(done);
        Ok(())
    }

    /// `cudaMemAdvise` on managed memory.
    ///
    /// # Errors
    /// If the bytes are not all managed.
    pub fn advise(&mut self, address: u64, bytes: u64, action: Action) -> Result<(), Fault> {
        let (buffer, range) = self.device.managed_range(address, bytes)?;
        self.device.report_first_touches();
        let at = self.streams.host();
        match self.device.gpu.advise(at, buffer, range, action)? {
            None => warn_of_hints(self.device.is_driven()),
            Some(done) => {
                if action == Action::ReadMostly {
                    self.device.see_writes_to(address, bytes);
                }
                self.streams.host_waits(done);
            }
        }
        self.device.close_pages_on_gpu(self.streams.host());
        Ok(())
    }

    /// Allocates in its turn in `stream`. Memory of an earlier launch that was never freed stays as it is.
    ///
    /// # Errors
    /// If the GPU has no room, or there is no such stream.
    pub fn allocate_at(&mut self, address: u64, bytes: u64, stream: StreamId) -> Result<(), Fault> {
        if bytes == 0 || self.device.blocks.contains_key(&address) {
            return Ok(());
        }
        let at = self.streams.start(stream)?.at;
        let gpu = &mut self.device.gpu;
        let buffer = gpu.alloc_fixed(at, "cudaGraphAddMemAllocNode", bytes)?;
        let buffer = gpu.move_fixed(buffer, VirtAddr(address))?;
        self.device.add_block(address, bytes, Kind::Device(buffer));
        self.graph_memory.add(address, bytes);
        Ok(())
    }
}

fn warn_of_hints(is_driven: bool) {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    let text = match is_driven {
        true => {
            "read-mostly and accessed-by have no effect on this machine, whose GPU walks the host's page tables: use \
             cudaMemPrefetchAsync or a preferred location"
        }
        false => {
            "hints of cudaMemAdvise have no effect in this transfer mode: choose one of a unified-memory driver, such as \
             on-demand, on a machine that has one"
        }
    };
    ONCE.call_once(|| {
        // A closed standard error leaves no place for a message.
        let _ = writeln!(std::io::stderr(), "pagemill: {text}");
    });
}
