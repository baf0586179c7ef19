//! The pager as a source of memory.

use std::ffi::c_int;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pagemill_mapping::call::{PAGE_BYTES, has};
use pagemill_mapping::kernel;
use pagemill_mapping::own::Own;
use pagemill_mapping::{BlockId, Call, Kind, LentMemory, Source};
use pagemill_pager::Pager;

/// The pager of this process; none where nothing is to be paged.
static PAGER: OnceLock<Pager> = OnceLock::new();

/// Smallest allocation that is paged. None is before the pager runs.
static LEAST_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Whether memory of this computer keeps all bytes.
static IN_MEMORY: AtomicBool = AtomicBool::new(false);

/// What a limit of the process leaves for the records of an allocation.
const ROOM_BYTES: usize = 4 << 20;

/// Paged memory of this process.
pub static LENT: LentMemory<Paged> = LentMemory::new(Paged::default);

/// From now on, allocations of `least_bytes` bytes and more are `pager`'s, which keeps them in memory of this computer or elsewhere.
pub fn begin(pager: Pager, least_bytes: u64, in_memory: bool) {
    IN_MEMORY.store(in_memory, Ordering::Relaxed);
    if PAGER.set(pager).is_ok() {
        LEAST_BYTES.store(least_bytes.max(1) as usize, Ordering::Relaxed);
    }
}

/// The pager, once it runs.
pub fn pager() -> Option<&'static Pager> {
    PAGER.get()
}

/// Smallest allocation that is paged, in bytes.
pub fn least_bytes() -> usize {
    LEAST_BYTES.load(Ordering::Relaxed)
}

/// Ends paging: all memory is in frames, and the threads of the pager end.
///
/// # Errors
/// There is no memory for it, or for another mapping.
pub fn become_plain(cause: &str) -> Result<(), i32> {
    let Some(pager) = pager().filter(|pager| !pager.is_retired()) else {
        return Ok(());
    };
    let _own = Own::calls();
    pager.refuse_memory();
    LENT.make_all_plain()?;
    pager.retire();
    eprintln!(
        "pagemill pager: {cause} cannot have paged memory here; all memory of this process is in frames from now on, beyond the budget"
    );
    Ok(())
}

/// Whether the kernel would map so many bytes: the program's limits hold for paged memory, too. Where a store beyond memory keeps them, they
/// may be more than the computer has.
pub fn admits(bytes: usize, flags: usize) -> bool {
    let is_more = !IN_MEMORY.load(Ordering::Relaxed);
    let more = if is_more { libc::MAP_NORESERVE } else { 0 };
    let all = bytes.checked_add(ROOM_BYTES);
    all.is_some_and(|bytes| kernel::would_map(bytes, flags as c_int | more))
}

/// Memory of the pager, which knows by itself what was unmapped.
#[derive(Default)]
pub struct Paged {
    /// What is lent: each is a mapping of its own.
    blocks: usize,
}

impl Paged {
    /// Whether the kernel has room for one more mapping, beside those of the program and of the pager's own.
    fn has_room(&self) -> bool {
        static MOST: OnceLock<usize> = OnceLock::new();
        static IS_SAID: AtomicBool = AtomicBool::new(false);
        let most = *MOST.get_or_init(|| {
            let text = std::fs::read_to_string("/proc/sys/vm/max_map_count");
            text.ok()
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(65_530)
                / 4
                * 3
        });
        let has_room = self.blocks < most;
        if !has_room && !IS_SAID.swap(true, Ordering::Relaxed) {
            eprintln!(
                "pagemill pager: {most} allocations of this process are paged, and the kernel has few more mappings for it (vm.max_map_count); while there are so many, further ones are ordinary memory, beyond the budget"
            );
        }
        has_room
    }
}

impl Source for Paged {
    const GRANULE: usize = 4096;
    const PLAIN_IN_PARTS: bool = true;

    fn lend(&mut self, _block: BlockId, bytes: usize) -> Option<Range<usize>> {
        let bytes = bytes.checked_next_multiple_of(Self::GRANULE);
        let bytes = bytes.filter(|_| self.has_room())?;
        let start = pager()?.map_raw(bytes as u64).ok()?;
        self.blocks += 1;
        Some(start as usize..start as usize + bytes)
    }

    fn lend_at(&mut self, _block: BlockId, place: Range<usize>) -> bool {
        let place = place.start as u64..place.end as u64;
        let is_paged = pager().is_some_and(|pager| pager.map_raw_at(place).is_ok());
        self.blocks += usize::from(is_paged);
        is_paged
    }

    fn unmapped(&mut self, part: Range<usize>) {
        if let Some(pager) = pager() {
            pager.forget(part.start as u64..part.end as u64);
        }
    }

    fn release_block(&mut self, _block: BlockId) {
        self.blocks -= 1;
    }

    /// Private anonymous mappings that are readable and writable.
    fn serves(call: &Call) -> bool {
        let [_, bytes, access, flags, _, offset] = call.arguments;
        const OTHERS: c_int = libc::MAP_FIXED_NOREPLACE
            | libc::MAP_GROWSDOWN
            | libc::MAP_STACK
            | libc::MAP_HUGETLB
            | libc::MAP_LOCKED
            | libc::MAP_POPULATE
            | libc::MAP_32BIT;
        let is_private = has(flags, libc::MAP_ANONYMOUS) && has(flags, libc::MAP_PRIVATE);
        is_private
            && !has(flags, libc::MAP_SHARED)
            && flags as c_int & OTHERS == 0
            && offset.is_multiple_of(PAGE_BYTES)
            && access == (libc::PROT_READ | libc::PROT_WRITE) as usize
            && bytes >= least_bytes()
            && admits(bytes, flags)
    }

    fn is_native(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Advise | Kind::Fork)
    }

    fn discard(&mut self, part: Range<usize>) -> Result<(), i32> {
        if let Some(pager) = pager() {
            pager.discard(part.start as u64..part.end as u64);
        }
        Ok(())
    }

    fn set_inherited(&mut self, part: Range<usize>, is_inherited: bool) -> bool {
        let part = part.start as u64..part.end as u64;
        pager().is_some_and(|pager| pager.set_inherited(&part, is_inherited))
    }

    fn make_plain(&mut self, extent: Range<usize>) -> Result<(), i32> {
        let Some(pager) = pager() else {
            return Ok(());
        };
        let range = extent.start as u64..extent.end as u64;
        if let Some(place) = pager.place_to_join(&range) {
            // Parts of memory that was never touched would stay apart in the kernel.
            let place: *const u8 = ptr::with_exposed_provenance(place as usize);
            // SAFETY: the byte is of lent memory, which is mapped and readable.
            unsafe { place.read_volatile() };
        }
        pager.make_plain(range).map_err(|_| libc::ENOMEM)
    }

    /// The child's pager has the memory: see `calls.rs`.
    fn reset_in_child(&mut self) {}
}
