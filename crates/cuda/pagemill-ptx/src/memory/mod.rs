//! The simulated device memory: allocations at simulated addresses, zero until written.

mod allocation;
pub(crate) mod cluster;
pub(crate) mod error;
mod freeing;
mod guard_granule;
mod heap;
mod near;
mod part;
mod touches;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::check::{Checker, Shadow};
use crate::device_runtime::state::DeviceRuntime;
use crate::exec::step::MemoryAccess;
use crate::exec::trap::TrapKind;
use crate::memory::heap::Heap;
use crate::texture::Texture;
use cluster::Clusters;

pub use allocation::{Allocation, AllocationId};
pub use error::{MemoryError, NearAllocation, Nearest};
pub(crate) use part::{Part, Spare, Stored, Uses, put_in_place};
pub use touches::{TOUCH_BYTES, Touch};

use allocation::Backing;
use touches::Touches;

/// Loads beyond an allocation: which succeed, and how many did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beyond {
    /// Loads succeed up to the next multiple of this behind an allocation; 0 for none.
    pub granule: u64,
    /// Loads of single threads that did.
    pub loads: u64,
    /// The first of them, until it is named: what it would be where none succeeded.
    pub unnamed: Option<Box<TrapKind>>,
}

/// First address handed out to ordinary allocations.
const FIRST_ADDRESS: u64 = 0x10_0000_0000;

/// Where the generic windows begin; ordinary allocations end below.
const ADDRESS_LIMIT: u64 = pagemill_ptx_ir::address::window::SHARED;

/// Size of the heap of kernels unless something else is asked for: as with CUDA's drivers.
const HEAP_BYTES: u64 = 8 << 20;

/// Freed allocations that are remembered for diagnostics.
const FREED_KEPT: usize = 1024;

/// What changes in a memory, for all warps that use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Stores, atomics that changed something, and warps that ended.
    pub writes: u64,
    /// Looks in a row at warps that repeated themselves while nothing was written.
    pub quiet: u64,
}

/// Identifies a memory: no two have the same, copies included.
#[derive(Debug)]
struct Identity(u64);

impl Identity {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self::new()
    }
}

/// All memory a device program can address by global or constant addresses.
#[derive(Clone, Debug)]
pub struct DeviceMemory {
    identity: Identity,
    /// Ascending by address, disjoint.
    pub(crate) allocations: Vec<Allocation>,
    freed: Vec<NearAllocation>,
    next_address: u64,
    next_id: u32,
    /// What kernels reach by handles.
    textures: BTreeMap<u64, Texture>,
    next_texture: u64,
    /// Changes whenever allocations come or go.
    generation: u32,
    activity: Activity,
    pub(crate) checker: Option<Box<Checker>>,
    cpu_memory: Option<fn(u64) -> Option<String>>,
    heap_bytes: u64,
    /// Address and parts of the heap of kernels, once one has asked for memory.
    pub(crate) heap: Option<(u64, Heap)>,
    /// What kernels ask of the device runtime.
    pub(crate) device_runtime: DeviceRuntime,
    pub(crate) beyond: Beyond,
    /// What was touched first, if that is looked for.
    touches: Option<Box<Touches>>,
    /// Shared memory of blocks that others reach.
    pub(crate) clusters: Clusters,
    /// Present in the memory of a part of a launch.
    pub(crate) part: Option<Box<Part>>,
    pub(crate) spare: Spare,
}

impl Default for DeviceMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl DeviceMemory {
    /// Memory with nothing allocated.
    pub fn new() -> Self {
        Self {
            identity: Identity::new(),
            allocations: Vec::new(),
            freed: Vec::new(),
            next_address: FIRST_ADDRESS,
            next_id: 0,
            textures: BTreeMap::new(),
            next_texture: 1,
            generation: 0,
            activity: Activity::default(),
            checker: None,
            cpu_memory: None,
            heap_bytes: HEAP_BYTES,
            heap: None,
            device_runtime: DeviceRuntime::default(),
            beyond: Beyond::default(),
            touches: None,
            clusters: Clusters::default(),
            part: None,
            spare: Spare::default(),
        }
    }

    /// From now on, runs without time note each first touch of a segment of [`TOUCH_BYTES`] from `address` on that is not
    /// in `known`, which has a bit for each.
    pub fn watch_touches(&mut self, address: u64, known: Vec<u64>) {
        self.touches = Some(Box::new(Touches::new(address, known)));
    }

    /// Ends that, and returns what was touched, in order.
    pub fn take_touches(&mut self) -> Vec<Touch> {
        let touches = self.touches.take();
        touches.map(|touches| touches.take()).unwrap_or_default()
    }

    /// Whether first touches are noted.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.touches.is_some()
    }

    /// Notes what `access` touches; whether any of it was new.
    pub(crate) fn note_touches(&mut self, access: &MemoryAccess) -> bool {
        let touches = self.touches.as_mut();
        touches.is_some_and(|touches| touches.note(access))
    }

    /// The addresses around `address`, in allocation `at`, that need no look for first touches.
    pub(crate) fn free_around(&self, at: usize, address: u64) -> Range<u64> {
        let allocation = &self.allocations[at];
        let all = allocation.address..allocation.address + allocation.bytes();
        match &self.touches {
            Some(touches) => touches.free_around(address, all),
            None => all,
        }
    }

    /// Gives `malloc` in kernels a heap of `bytes` in place of 8 MiB; false once a kernel has used it.
    pub fn set_heap_bytes(&mut self, bytes: u64) -> bool {
        if self.heap.is_none() {
            self.heap_bytes = bytes;
        }
        self.heap.is_none()
    }

    /// What `malloc(bytes)` in a kernel returns: an address, or 0.
    pub(crate) fn malloc(&mut self, bytes: u64) -> u64 {
        if self.heap.is_none() {
            let Ok(address) = self.alloc("heap of malloc in kernels", self.heap_bytes, 256) else {
                return 0;
            };
            self.heap = Some((address, Heap::new(self.heap_bytes)));
        }
        self.note_write();
        let taken = self
            .heap
            .as_mut()
            .map(|(start, heap)| (*start, heap.take(bytes)));
        match taken {
            Some((start, Some(offset))) => {
                self.forget_values(start + offset, bytes);
                start + offset
            }
            _ => 0,
        }
    }

    /// Allocates `bytes` zero bytes aligned to `align` (rounded up to a power of two, at least 1) and returns their address.
    /// The host pays only for what is touched. Addresses are never re-used.
    ///
    /// # Errors
    /// When the simulated address space is exhausted.
    pub fn alloc(&mut self, name: &str, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let address = self.reserve(name, bytes, align)?;
        self.alloc_at(name, address, bytes)?;
        Ok(address)
    }

    /// Keeps `bytes` of addresses from all later [`DeviceMemory::alloc`], and returns the first.
    ///
    /// # Errors
    /// When the simulated address space is exhausted.
    pub fn reserve(&mut self, name: &str, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let refused = |address| MemoryError::Refused {
            name: name.to_owned(),
            address,
            bytes,
            reason: "the simulated address space is exhausted",
        };
        let align = align
            .max(1)
            .checked_next_power_of_two()
            .ok_or_else(|| refused(0))?;
        let mut from = self.next_address;
        let (address, end) = loop {
            let address = from
                .checked_next_multiple_of(align)
                .ok_or_else(|| refused(from))?;
            // One byte beyond keeps neighbors from touching, so that running off the end of one is always seen.
            let end = address
                .checked_add(bytes)
                .and_then(|end| end.checked_add(1))
                .ok_or_else(|| refused(address))?;
            if end > ADDRESS_LIMIT {
                return Err(refused(address));
            }
            match self.last_overlap(address, end) {
                Some(taken_to) => from = taken_to + 1,
                None => break (address, end),
            }
        };
        self.next_address = end;
        Ok(address)
    }

    /// Moves the allocation that starts at `from`, with its bytes, to the address `to`.
    ///
    /// # Errors
    /// When none starts there, or something else is at `to`; then nothing moves.
    pub fn relocate(&mut self, from: u64, to: u64) -> Result<(), MemoryError> {
        let at = self.starting_at(from)?;
        let mut moved = self.allocations.remove(at);
        let end = to.saturating_add(moved.bytes());
        let is_taken = to == u64::MAX || self.last_overlap(to, end).is_some_and(|last| last > to);
        if is_taken {
            let refused = MemoryError::Refused {
                name: moved.name.clone(),
                address: to,
                bytes: moved.bytes(),
                reason: "another allocation is there",
            };
            self.allocations.insert(at, moved);
            return Err(refused);
        }
        self.generation = self.generation.wrapping_add(1);
        moved.address = to;
        let at = self.allocations.partition_point(|other| other.address < to);
        self.allocations.insert(at, moved);
        Ok(())
    }

    /// Where the allocation that starts at `address` is in the list.
    fn starting_at(&self, address: u64) -> Result<usize, MemoryError> {
        self.allocations
            .binary_search_by_key(&address, |allocation| allocation.address)
            .map_err(|_| MemoryError::NotAnAllocation {
                address,
                near: self.nearest(address),
            })
    }

    /// Where the last allocation that touches `start..end` ends.
    fn last_overlap(&self, start: u64, end: u64) -> Option<u64> {
        let before = self
            .allocations
            .partition_point(|other| other.address < end);
        let last = self.allocations.get(before.checked_sub(1)?)?;
        let last_end = last.address + last.bytes();
        (last_end > start || last.address == start).then_some(last_end)
    }

    /// Allocates `bytes` zero bytes at `address`.
    ///
    /// # Errors
    /// When the range overlaps an allocation, wraps around, or is more than the host can address.
    pub fn alloc_at(
        &mut self,
        name: &str,
        address: u64,
        bytes: u64,
    ) -> Result<AllocationId, MemoryError> {
        self.insert(name, address, bytes, false, None)
    }

    /// Makes `memory` an allocation at `address`: kernels work on the lender's bytes. [`DeviceMemory::free`] ends it.
    ///
    /// # Errors
    /// When the range overlaps an allocation or wraps around.
    pub fn lend_at(
        &mut self,
        name: &str,
        address: u64,
        memory: &'static mut [u8],
    ) -> Result<AllocationId, MemoryError> {
        let bytes = memory.len() as u64;
        self.insert(name, address, bytes, false, Some(memory))
    }

    /// Moves the bytes of the allocation that starts at `address` into `memory`, which is the lender's from then on.
    ///
    /// # Errors
    /// When none starts there, or `memory` is of another size.
    pub fn move_into(
        &mut self,
        address: u64,
        memory: &'static mut [u8],
    ) -> Result<(), MemoryError> {
        let at = self.starting_at(address)?;
        let allocation = &mut self.allocations[at];
        let bytes = allocation.data.get();
        if bytes.len() != memory.len() {
            return Err(MemoryError::Refused {
                name: allocation.name.clone(),
                address,
                bytes: memory.len() as u64,
                reason: "the allocation is of another size",
            });
        }
        memory.copy_from_slice(bytes);
        allocation.data = Backing::Lent(memory);
        self.generation = self.generation.wrapping_add(1);
        Ok(())
    }

    /// Allocates memory that device code may read and not write.
    pub(crate) fn alloc_constant(
        &mut self,
        name: &str,
        address: u64,
        bytes: u64,
    ) -> Result<AllocationId, MemoryError> {
        self.insert(name, address, bytes, true, None)
    }

    fn insert(
        &mut self,
        name: &str,
        address: u64,
        bytes: u64,
        read_only: bool,
        lent: Option<&'static mut [u8]>,
    ) -> Result<AllocationId, MemoryError> {
        let refused = |reason| MemoryError::Refused {
            name: name.to_owned(),
            address,
            bytes,
            reason,
        };
        let end = address
            .checked_add(bytes)
            .ok_or_else(|| refused("the range wraps around"))?;
        let at = self
            .allocations
            .partition_point(|other| other.address < address);
        let before = at.checked_sub(1).and_then(|at| self.allocations.get(at));
        if before.is_some_and(|other| other.address + other.bytes() > address)
            || self
                .allocations
                .get(at)
                .is_some_and(|other| other.address < end || other.address == address)
        {
            return Err(refused("another allocation is there"));
        }
        let id = AllocationId(self.next_id);
        self.next_id += 1;
        self.generation = self.generation.wrapping_add(1);
        let data = match lent {
            Some(memory) => Backing::Lent(memory),
            None => {
                Backing::zeroed(bytes).ok_or_else(|| refused("this host has no room for that"))?
            }
        };
        self.allocations.insert(
            at,
            Allocation {
                id,
                name: name.to_owned(),
                address,
                read_only,
                data,
                shadow: Shadow::default(),
            },
        );
        Ok(id)
    }

    /// Gives back the allocation that starts at `address`.
    ///
    /// # Errors
    /// When none starts there.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let at = self.starting_at(address)?;
        let gone = self.allocations.remove(at);
        self.generation = self.generation.wrapping_add(1);
        if self.freed.len() == FREED_KEPT {
            self.freed.remove(0);
        }
        self.freed.push(NearAllocation {
            bytes: gone.bytes(),
            name: gone.name,
            address: gone.address,
            freed: true,
            on_cpu: false,
            distance: None,
        });
        Ok(())
    }

    /// Bytes at `address`.
    ///
    /// # Errors
    /// When they are not all inside one allocation.
    pub fn bytes(&self, address: u64, len: u64) -> Result<&[u8], MemoryError> {
        let (at, offset) = self.locate(address, len)?;
        Ok(&self.allocations[at].data.get()[offset..offset + len as usize])
    }

    /// Bytes at `address`, for writing by the host.
    ///
    /// # Errors
    /// When they are not all inside one allocation.
    pub fn bytes_mut(&mut self, address: u64, len: u64) -> Result<&mut [u8], MemoryError> {
        let (at, offset) = self.locate(address, len)?;
        let allocation = &mut self.allocations[at];
        let (data, len) = (allocation.data.get_mut(), len as usize);
        allocation.shadow.fill(data.len(), offset, len);
        Ok(&mut data[offset..offset + len])
    }

    /// Makes `texture` known to kernels and returns its handle, which is never used again.
    pub fn bind_texture(&mut self, texture: Texture) -> u64 {
        let handle = self.next_texture;
        self.next_texture += 1;
        self.textures.insert(handle, texture);
        handle
    }

    /// Forgets a handle; whether there was one.
    pub fn unbind_texture(&mut self, handle: u64) -> bool {
        self.textures.remove(&handle).is_some()
    }

    /// What `handle` stands for.
    pub fn texture(&self, handle: u64) -> Option<&Texture> {
        self.textures.get(&handle)
    }

    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<AllocationId> {
        self.index_of(address).map(|at| self.allocations[at].id)
    }

    /// The allocation `id`, unless it was freed.
    pub fn allocation(&self, id: AllocationId) -> Option<&Allocation> {
        self.allocations
            .iter()
            .find(|allocation| allocation.id == id)
    }

    /// All live allocations, ascending by address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        let at = self
            .allocations
            .partition_point(|allocation| allocation.address <= address)
            .checked_sub(1)?;
        self.allocations[at].offset_of(address, 1).map(|_| at)
    }

    fn locate(&self, address: u64, bytes: u64) -> Result<(usize, usize), MemoryError> {
        let unmapped = || MemoryError::Unmapped {
            address,
            bytes,
            near: self.nearest(address),
        };
        let at = self
            .allocations
            .partition_point(|allocation| allocation.address <= address)
            .checked_sub(1)
            .ok_or_else(unmapped)?;
        let offset = self.allocations[at]
            .offset_of(address, bytes)
            .ok_or_else(unmapped)?;
        Ok((at, offset))
    }

    /// Index of the allocation that holds `address`, trying `hint` first and remembering the answer there.
    #[inline(always)]
    pub(crate) fn index_with_hint(&self, address: u64, hint: &mut u32) -> Option<usize> {
        let guess = *hint as usize;
        if let Some(allocation) = self.allocations.get(guess)
            && allocation.offset_of(address, 1).is_some()
        {
            return Some(guess);
        }
        let at = self.index_of(address)?;
        *hint = at as u32;
        Some(at)
    }

    /// Which memory this is, among all there have been.
    pub(crate) fn identity(&self) -> u64 {
        self.identity.0
    }

    /// Equal as long as no allocation has come or gone.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    #[inline(always)]
    pub(crate) fn data(&self, at: usize) -> (u64, &[u8]) {
        let allocation = &self.allocations[at];
        (allocation.address, allocation.data.get())
    }

    #[inline(always)]
    pub(crate) fn data_mut(&mut self, at: usize) -> (u64, &mut [u8]) {
        let allocation = &mut self.allocations[at];
        (allocation.address, allocation.data.get_mut())
    }

    /// Notes that a kernel has changed memory, this or that of a block.
    #[inline(always)]
    pub(crate) fn note_write(&mut self) {
        self.activity.writes += 1;
        self.activity.quiet = 0;
    }

    /// The same for `count` changes; in the memory of a part, of words.
    pub(crate) fn note_writes(&mut self, count: u64) {
        if count != 0 {
            self.activity.writes += count;
            self.activity.quiet = 0;
        }
        if let Some(part) = &mut self.part {
            part.stored_words += count;
        }
    }

    /// What kernels have changed.
    pub(crate) fn activity(&mut self) -> &mut Activity {
        &mut self.activity
    }

    #[inline(always)]
    pub(crate) fn is_read_only(&self, at: usize) -> bool {
        self.allocations[at].read_only
    }
}

#[cfg(test)]
mod tests;
