//! What a CUDA runtime asks of a GPU beyond a built-in program: memory that is always on the GPU, memory that the caller
//! owns, freeing, prefetching.

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::error::GpuError;
use crate::gpu::host::device::{Buffer, Gpu, MAX_PAGES};
use crate::gpu::host::program::{LoadedModule, ModuleId};
use crate::gpu::memory::l2::Writer;
use pagemill_pages::managers::ledger::managed_name;
use pagemill_pages::parts::link::Direction;
use pagemill_policy::residency::{Action, PageAdvice};
use pagemill_ptx::{DeviceMemory, Finding, Kernel, MemoryError, Texture};
use pagemill_types::{PageSize, Picos, VirtAddr};
use std::ops::Range;

/// Alignment of memory that is always on the GPU, as `cudaMalloc` promises.
const FIXED_ALIGN_BYTES: u64 = 256;

/// A managed page that something of is in GPU memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its first address.
    pub address: VirtAddr,
    /// Whether CPU memory lacks some of it.
    pub only_on_gpu: bool,
    /// Whether the program says that it is mostly read.
    pub is_read_mostly: bool,
}

impl Gpu {
    /// The pages that move and that TLBs translate.
    pub fn page_size(&self) -> PageSize {
        self.page
    }

    /// Whether pages move on demand.
    pub fn migrates(&self) -> bool {
        self.timing_model.migrates()
    }

    /// Allocates `bytes` zero bytes that are always on the GPU, whatever the transfer mode. They take room from pages
    /// that migrate, which move out for them from `at` on.
    ///
    /// # Errors
    /// Zero bytes, or more than GPU memory holds.
    pub fn alloc_fixed(&mut self, at: Picos, name: &str, bytes: u64) -> Result<Buffer, GpuError> {
        if bytes == 0 {
            return Err(GpuError::EmptyAllocation {
                name: name.to_owned(),
            });
        }
        self.check_fixed_room(name, bytes)?;
        let address = self.memory.alloc(name, bytes, FIXED_ALIGN_BYTES)?;
        self.memory.forget_values(address, bytes);
        self.set_fixed_bytes(at, self.fixed_bytes + bytes);
        self.allocated.add(bytes, bytes);
        Ok(Buffer {
            address: VirtAddr(address),
            bytes,
        })
    }

    /// Addresses for `bytes` that [`Gpu::move_fixed`] may move memory to; nothing else ever lies there.
    ///
    /// # Errors
    /// If there are not so many.
    pub fn reserve_addresses(&mut self, bytes: u64, align: u64) -> Result<VirtAddr, GpuError> {
        let align = align.max(FIXED_ALIGN_BYTES);
        let address = self.memory.reserve("reserved addresses", bytes, align)?;
        Ok(VirtAddr(address))
    }

    /// Moves memory of [`Gpu::alloc_fixed`] to other addresses. Costs no time.
    ///
    /// # Errors
    /// If there is no such memory, or other memory lies there.
    pub fn move_fixed(&mut self, buffer: Buffer, to: VirtAddr) -> Result<Buffer, GpuError> {
        self.memory.relocate(buffer.address.0, to.0)?;
        Ok(Buffer {
            address: to,
            bytes: buffer.bytes,
        })
    }

    /// Moves the bytes of memory of [`Gpu::alloc_fixed`] into `memory`, which its lender shares with others and which is as
    /// large. Costs no time.
    ///
    /// # Errors
    /// If there is no such memory.
    pub fn move_into(&mut self, buffer: Buffer, memory: &'static mut [u8]) -> Result<(), GpuError> {
        Ok(self.memory.move_into(buffer.address.0, memory)?)
    }

    /// Makes `memory` memory of the GPU at `address`, which was reserved. It takes no room: it is that of another GPU.
    ///
    /// # Errors
    /// If something else is there.
    pub fn lend_fixed(
        &mut self,
        name: &str,
        address: VirtAddr,
        memory: &'static mut [u8],
    ) -> Result<(), GpuError> {
        self.memory.lend_at(name, address.0, memory)?;
        Ok(())
    }

    /// Whether GPU memory holds `bytes` more that never move.
    fn check_fixed_room(&self, name: &str, bytes: u64) -> Result<(), GpuError> {
        // A page that migrates needs a frame at least.
        let kept = if self.migrates() {
            self.page.bytes()
        } else {
            0
        };
        let after = self.fixed_bytes.saturating_add(bytes);
        match self.memory_bytes {
            Some(capacity) if after > capacity.saturating_sub(kept) => Err(GpuError::OutOfMemory {
                name: name.to_owned(),
                bytes,
                used: self.fixed_bytes,
                capacity,
                key: self.memory_key,
            }),
            _ => Ok(()),
        }
    }

    /// GPU memory that `bytes` of managed memory take for good: all of it where the programmer copies, none elsewhere.
    fn copied_bytes(&self, bytes: u64) -> u64 {
        if self.timing_model.copies() { bytes } else { 0 }
    }

    /// GPU memory that holds all of a managed allocation of `bytes`.
    pub(in crate::gpu) fn footprint(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.page.bytes())
    }

    fn set_fixed_bytes(&mut self, at: Picos, bytes: u64) {
        self.fixed_bytes = bytes;
        self.allocated.note_fixed(bytes);
        if let Some(capacity) = self.memory_bytes {
            self.timing_model
                .path
                .limit_memory(at, capacity.saturating_sub(bytes));
        }
    }

    /// GPU memory that is taken and never moves: what [`Gpu::alloc_fixed`] handed out, and managed memory where the
    /// programmer copies.
    pub fn fixed_bytes(&self) -> u64 {
        self.fixed_bytes
    }

    /// Where [`Gpu::lend_managed`] will place its next memory.
    pub fn next_managed_address(&self) -> VirtAddr {
        VirtAddr(self.next_address)
    }

    /// Makes `memory` managed: pages that migrate, in CPU memory at first. It is at [`Gpu::next_managed_address`].
    /// Where the programmer copies, it takes GPU memory as [`Gpu::alloc_fixed`] does.
    ///
    /// # Errors
    /// Zero bytes, more pages than state is kept for, or more than GPU memory holds where the programmer copies.
    pub fn lend_managed(
        &mut self,
        name: &str,
        memory: &'static mut [u8],
    ) -> Result<Buffer, GpuError> {
        let (address, bytes) = (self.next_address, memory.len() as u64);
        let after = address - MANAGED_BASE + bytes.next_multiple_of(self.page.bytes());
        let pages = after / self.page.bytes();
        if bytes == 0 || pages > MAX_PAGES {
            return Err(match bytes {
                0 => GpuError::EmptyAllocation {
                    name: name.to_owned(),
                },
                _ => GpuError::TooManyPages {
                    name: name.to_owned(),
                    bytes,
                    pages,
                    most: MAX_PAGES,
                },
            });
        }
        let copied_bytes = self.copied_bytes(bytes);
        self.check_fixed_room(name, copied_bytes)?;
        self.memory.lend_at(name, address, memory)?;
        // Not `set_fixed_bytes`: where the programmer copies, no page is there that had to move out for it.
        self.fixed_bytes += copied_bytes;
        self.next_address = MANAGED_BASE + after;
        self.allocated.add(bytes, self.footprint(bytes));
        let path = &mut self.timing_model.path;
        path.allocate(address, bytes, self.next_address);
        self.managed_count += 1;
        if let Some(pages) = path.host_link.timeline.pages() {
            let name = managed_name(self.managed_count as usize);
            pages.allocated(&name, address, bytes);
        }
        Ok(Buffer {
            address: VirtAddr(address),
            bytes,
        })
    }

    /// Makes `memory` of the host readable and writable for kernels, at `address`. It never moves: accesses go over the
    /// link, unless data moves at no cost.
    ///
    /// # Errors
    /// If something else is there.
    pub fn lend_host(
        &mut self,
        name: &str,
        address: VirtAddr,
        memory: &'static mut [u8],
    ) -> Result<(), GpuError> {
        let bytes = memory.len() as u64;
        self.memory.lend_at(name, address.0, memory)?;
        if !self.timing_model.moves_for_free() {
            self.timing_model.path.pages.pinned.add(address.0, bytes);
        }
        Ok(())
    }

    /// Gives back at `at` what was allocated or lent at `address`. Nothing moves: what is freed is not needed.
    ///
    /// # Errors
    /// If no allocation starts there.
    pub fn free(&mut self, at: Picos, address: VirtAddr) -> Result<(), GpuError> {
        let bytes = self.allocation_bytes(address).unwrap_or(0);
        self.memory.free(address.0)?;
        self.timing_model.path.pages.pinned.remove(address.0);
        if (MANAGED_BASE..self.next_address).contains(&address.0) {
            self.timing_model.path.forget(at, address.0, bytes);
            self.fixed_bytes -= self.copied_bytes(bytes);
            self.allocated.remove(self.footprint(bytes));
        }
        Ok(())
    }

    /// As [`Gpu::free`], of memory of [`Gpu::alloc_fixed`], whose room becomes free.
    ///
    /// # Errors
    /// If no allocation starts there.
    pub fn free_fixed(&mut self, at: Picos, buffer: Buffer) -> Result<(), GpuError> {
        self.memory.free(buffer.address.0)?;
        self.allocated.remove(buffer.bytes);
        self.set_fixed_bytes(at, self.fixed_bytes.saturating_sub(buffer.bytes));
        Ok(())
    }

    /// Size in bytes of the allocation that holds `address`; `None` where nothing is allocated.
    pub fn allocation_bytes(&self, address: VirtAddr) -> Option<u64> {
        let allocation = self.memory.allocation(self.memory.find(address.0)?)?;
        Some(allocation.bytes())
    }

    /// The bytes at `address`, wherever they are. Costs no time.
    ///
    /// # Errors
    /// If they are not all within one allocation.
    pub fn bytes(&self, address: VirtAddr, bytes: u64) -> Result<&[u8], MemoryError> {
        self.memory.bytes(address.0, bytes)
    }

    /// The bytes at `address` for writing. Costs no time.
    ///
    /// # Errors
    /// If they are not all within one allocation.
    pub fn bytes_mut(&mut self, address: VirtAddr, bytes: u64) -> Result<&mut [u8], MemoryError> {
        self.memory.bytes_mut(address.0, bytes)
    }

    /// The host copies `bytes` over the link at `at`, between its memory and memory that is always on the GPU. Returns when it
    /// is done.
    pub fn transfer(&mut self, at: Picos, bytes: u64, direction: Direction) -> Picos {
        match self.options.timing && bytes > 0 {
            true => self.timing_model.transfer(at, bytes, direction),
            false => at,
        }
    }

    /// The GPU's own copy engine or a fill is busy for `duration` from `at` on. Returns when it is done.
    pub fn occupy(&mut self, at: Picos, duration: Picos) -> Picos {
        match self.options.timing {
            true => self.timing_model.occupy(at, duration),
            false => at,
        }
    }

    /// `by`, which ends at `at`, has written `bytes` at `address` of GPU memory.
    pub fn note_written(&mut self, at: Picos, address: VirtAddr, bytes: u64, by: Writer) {
        if self.options.timing {
            let path = &mut self.timing_model.path;
            path.leave_written(at, (address.0, bytes), by);
        }
    }

    /// Brings all of `range` of a managed buffer to the GPU from `at` on, before anything asks for it. Returns when it is there.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn prefetch(
        &mut self,
        at: Picos,
        buffer: Buffer,
        range: Range<u64>,
    ) -> Result<Picos, GpuError> {
        self.check_range(buffer, &range)?;
        if !self.options.timing || range.is_empty() {
            return Ok(at);
        }
        let (address, bytes) = (buffer.address.0 + range.start, range.end - range.start);
        Ok(self.timing_model.prefetch(at, address, bytes))
    }

    /// The program says at `at` how `range` of a managed buffer will be used. Returns when the call is done, for a prefetch when
    /// all has moved; `None` where the page manager heeds no such call.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn advise(
        &mut self,
        at: Picos,
        buffer: Buffer,
        range: Range<u64>,
        action: Action,
    ) -> Result<Option<Picos>, GpuError> {
        self.check_range(buffer, &range)?;
        if !self.options.timing || range.is_empty() {
            return Ok(Some(at));
        }
        let (address, bytes) = (buffer.address.0 + range.start, range.end - range.start);
        let waits = matches!(action, Action::Prefetch(_));
        let done = self.timing_model.advise(at, address, bytes, action, waits);
        self.unheeded_hints += u64::from(done.is_none());
        Ok(done)
    }

    /// The CPU has touched those bytes of `range` that were untouched. Costs nothing: that was its own work.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn touched_by_host(&mut self, buffer: Buffer, range: Range<u64>) -> Result<(), GpuError> {
        self.check_range(buffer, &range)?;
        let pages = &mut self.timing_model.path.pages.manager;
        pages.touched_by_host(buffer.address.0 + range.start, range.end - range.start);
        Ok(())
    }

    /// No byte of `buffer`, which is new, has been touched: its pages are in neither memory. The caller promises to report
    /// the CPU's first touches ([`Gpu::touched_by_host`]) before they matter.
    ///
    /// # Errors
    /// If `buffer` is not of this GPU.
    pub fn starts_untouched(&mut self, buffer: Buffer) -> Result<(), GpuError> {
        self.check_range(buffer, &(0..buffer.bytes))?;
        let pages = &mut self.timing_model.path.pages.manager;
        pages.start_untouched(buffer.address.0, buffer.bytes);
        Ok(())
    }

    /// What the program said about the managed page at `address`; nothing where the page manager heeds no advice.
    pub fn advice(&self, address: VirtAddr) -> PageAdvice {
        self.timing_model.path.pages.manager.advice(address.0)
    }

    /// Granule of [`Gpu::take_arrived`] in bytes of managed memory.
    pub fn managed_granule(&self) -> PageSize {
        let bytes = self
            .timing_model
            .path
            .pages
            .manager
            .granule_bytes(self.page.bytes());
        PageSize::new(bytes).unwrap_or(self.page)
    }

    /// Whether any byte of the managed page at `address` is in GPU memory and not in CPU memory.
    pub fn is_on_gpu(&self, address: VirtAddr) -> bool {
        self.timing_model.path.pages.manager.is_on_gpu(address.0)
    }

    /// From now on, [`Gpu::take_arrived`] knows which managed pages moved.
    pub fn listen_to_moves(&mut self) {
        self.timing_model.path.listen();
    }

    /// Managed pages that something of came to the GPU since the last call and is still there, by ascending address.
    pub fn take_arrived(&mut self) -> Vec<Arrived> {
        let changed = self.timing_model.path.take_changed();
        let pages = &self.timing_model.path.pages.manager;
        // What came may have left again since.
        let is_there = |page: &u64| pages.is_on_gpu(*page) || pages.is_in_both(*page);
        let there = changed.into_iter().filter(is_there);
        let arrived = there.map(|page| Arrived {
            address: VirtAddr(page),
            only_on_gpu: pages.is_on_gpu(page),
            is_read_mostly: self.advice(VirtAddr(page)).read_mostly,
        });
        arrived.collect()
    }

    /// The CPU has written to all of `range` of a managed buffer at `at`: what of it is on the GPU moves to the CPU, and copies
    /// there are void. Returns when that is done.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn written_by_host(
        &mut self,
        at: Picos,
        buffer: Buffer,
        range: Range<u64>,
    ) -> Result<Picos, GpuError> {
        self.check_range(buffer, &range)?;
        if !self.options.timing || range.is_empty() {
            return Ok(at);
        }
        let (address, bytes) = (buffer.address.0 + range.start, range.end - range.start);
        Ok(self.timing_model.written_by_host(at, address, bytes))
    }

    /// Makes `texture` known to kernels and returns its handle, which is never used again.
    pub fn bind_texture(&mut self, texture: Texture) -> u64 {
        self.memory.bind_texture(texture)
    }

    /// Forgets a handle of [`Gpu::bind_texture`]; whether there was one.
    pub fn unbind_texture(&mut self, handle: u64) -> bool {
        self.memory.unbind_texture(handle)
    }

    /// A kernel of a loaded module.
    ///
    /// # Errors
    /// No such module or kernel.
    pub fn kernel(&self, module: ModuleId, name: &str) -> Result<&Kernel, GpuError> {
        self.loaded(module)?.kernel(name)
    }

    /// The names of a module's kernels that can be executed; none if there is no such module.
    pub fn kernel_names(&self, module: ModuleId) -> Vec<String> {
        self.loaded(module)
            .map_or_else(|_| Vec::new(), LoadedModule::kernel_names)
    }

    /// What kernels printed since the last call.
    pub fn take_output(&mut self) -> String {
        self.output.take()
    }

    /// Looks for mistakes of kernels in later launches without time.
    pub fn check(&mut self) {
        self.memory.set_checked();
    }

    /// The mistakes that were found so far.
    pub fn findings(&self) -> &[Finding] {
        self.memory.findings()
    }

    /// Those that were found since the last call and had not been found before.
    pub fn take_new_findings(&mut self) -> Vec<Finding> {
        self.memory.take_new_findings()
    }

    /// The memory that kernels see.
    pub fn device_memory(&self) -> &DeviceMemory {
        &self.memory
    }

    /// The memory that kernels see, to note what is known of it.
    pub fn device_memory_mut(&mut self) -> &mut DeviceMemory {
        &mut self.memory
    }

    /// What users should know about kernels that ran on regardless, since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        self.output.take_notes()
    }
}
