//! What compiled code reads and writes besides registers: one structure, and a table of memory it may reach directly.

use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::code::{Code, MemoryInst};
use pagemill_ptx_ir::info::Prefix;
use pagemill_ptx_ir::line::{LANES, Line};
use std::mem::{MaybeUninit, offset_of};

/// The state of one stay in compiled code. Its layout is known to the compiler, [`fields`].
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Context {
    pub narrow: *mut Line<u32>,
    pub wide: *mut Line<u64>,
    pub predicates: *mut u32,
    pub constants_narrow: *const Line<u32>,
    pub constants_wide: *const Line<u64>,
    pub windows: *const Window,
    /// Local memory: its first line, and the bytes of a lane.
    pub local: *mut Line<u32>,
    pub local_bytes: u64,
    /// PTX instructions left until the next pause.
    pub remaining: i64,
    /// Lanes whose guard did not hold, summed over instructions.
    pub idle: u64,
    /// Memory instructions, and how many of them are stores. Those of blocks that run apart count by words.
    pub accesses: u64,
    pub writes: u64,
    /// Active lanes, and their number.
    pub mask: u32,
    pub lanes: u32,
    /// Where the current path ends.
    pub reconverge: u32,
    /// Lanes that have not ended.
    pub alive: u32,
    /// Whether other lanes of the warp stand elsewhere than the stack says: then only the interpreter changes paths.
    pub is_split: u32,
    /// What to return when no path is left on the stack.
    pub fallback: u32,
    /// Thread instructions of the paths that were left, and `remaining` when the current one began.
    pub threads: i64,
    pub checkpoint: i64,
    /// Paths that wait: the next free place, the lowest that may be taken, and from where on there is no room for two.
    pub stack_top: *mut Path,
    pub stack_bottom: *mut Path,
    pub stack_limit: *mut Path,
    /// Where the code can be entered, by position, and the code.
    pub places: *const Place,
    pub code: *const u8,
    /// Costs of timed runs, summed up to each PTX instruction, and what the stay has cost.
    pub costs: *const Prefix,
    pub cost: Prefix,
    /// Scoreboard slots of loads that were not waited for yet, and those that the stay ended for.
    pub pending: u64,
    pub awaited: u64,
    /// The access that the stay ended before.
    pub announced: Announced,
    /// Six vectors of one instruction, lane by lane.
    pub scratch: MaybeUninit<[u64; 48]>,
}

/// An access of a timed run whose lanes lie in a row or at one place, in the bytes that its window bounds.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Announced {
    /// Address of lane 0 of a row, or the one place.
    pub first: u64,
    /// Lanes that take part.
    pub mask: u32,
    pub is_row: u32,
}

/// Where code can be entered before one instruction: offsets, zero where it cannot.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Place {
    pub whole: u32,
    pub partial: u32,
    /// PTX instructions of its region before it.
    pub ahead: u32,
    /// PTX instructions before its region.
    pub before: u32,
}

/// Offsets in [`Context`].
pub(crate) mod fields {
    use super::{Announced, Context, Path, Place, Prefix, Window, offset_of};

    pub const NARROW: i32 = offset_of!(Context, narrow) as i32;
    pub const WIDE: i32 = offset_of!(Context, wide) as i32;
    pub const PREDICATES: i32 = offset_of!(Context, predicates) as i32;
    pub const CONSTANTS_NARROW: i32 = offset_of!(Context, constants_narrow) as i32;
    pub const CONSTANTS_WIDE: i32 = offset_of!(Context, constants_wide) as i32;
    pub const WINDOWS: i32 = offset_of!(Context, windows) as i32;
    pub const LOCAL: i32 = offset_of!(Context, local) as i32;
    pub const LOCAL_BYTES: i32 = offset_of!(Context, local_bytes) as i32;
    pub const REMAINING: i32 = offset_of!(Context, remaining) as i32;
    pub const IDLE: i32 = offset_of!(Context, idle) as i32;
    pub const ACCESSES: i32 = offset_of!(Context, accesses) as i32;
    pub const WRITES: i32 = offset_of!(Context, writes) as i32;
    pub const MASK: i32 = offset_of!(Context, mask) as i32;
    pub const LANES: i32 = offset_of!(Context, lanes) as i32;
    pub const RECONVERGE: i32 = offset_of!(Context, reconverge) as i32;

    pub const ALIVE: i32 = offset_of!(Context, alive) as i32;
    pub const IS_SPLIT: i32 = offset_of!(Context, is_split) as i32;
    pub const FALLBACK: i32 = offset_of!(Context, fallback) as i32;
    pub const THREADS: i32 = offset_of!(Context, threads) as i32;
    pub const CHECKPOINT: i32 = offset_of!(Context, checkpoint) as i32;
    pub const STACK_TOP: i32 = offset_of!(Context, stack_top) as i32;
    pub const STACK_BOTTOM: i32 = offset_of!(Context, stack_bottom) as i32;
    pub const STACK_LIMIT: i32 = offset_of!(Context, stack_limit) as i32;
    pub const PLACES: i32 = offset_of!(Context, places) as i32;
    pub const CODE: i32 = offset_of!(Context, code) as i32;
    pub const COSTS: i32 = offset_of!(Context, costs) as i32;
    pub const COST: i32 = offset_of!(Context, cost) as i32;
    pub const PENDING: i32 = offset_of!(Context, pending) as i32;
    pub const AWAITED: i32 = offset_of!(Context, awaited) as i32;

    const ANNOUNCED: i32 = offset_of!(Context, announced) as i32;
    pub const ANNOUNCED_FIRST: i32 = ANNOUNCED + offset_of!(Announced, first) as i32;
    pub const ANNOUNCED_MASK: i32 = ANNOUNCED + offset_of!(Announced, mask) as i32;
    pub const ANNOUNCED_IS_ROW: i32 = ANNOUNCED + offset_of!(Announced, is_row) as i32;

    /// The two costs of a [`Prefix`].
    pub const EACH_COST: [i32; 2] = [
        offset_of!(Prefix, issue) as i32,
        offset_of!(Prefix, latency) as i32,
    ];
    /// Logarithm of the bytes of a prefix.
    pub const COST_SHIFT: u8 = size_of::<Prefix>().trailing_zeros() as u8;

    pub const SCRATCH: i32 = offset_of!(Context, scratch) as i32;

    pub const PATH_PC: i32 = offset_of!(Path, pc) as i32;
    pub const PATH_MASK: i32 = offset_of!(Path, mask) as i32;
    pub const PATH_RECONVERGE: i32 = offset_of!(Path, reconverge) as i32;
    pub const PATH_BYTES: i32 = size_of::<Path>() as i32;

    pub const PLACE_WHOLE: i32 = offset_of!(Place, whole) as i32;
    pub const PLACE_PARTIAL: i32 = offset_of!(Place, partial) as i32;
    pub const PLACE_AHEAD: i32 = offset_of!(Place, ahead) as i32;
    pub const PLACE_BEFORE: i32 = offset_of!(Place, before) as i32;
    /// Logarithm of the bytes of a place.
    pub const PLACE_SHIFT: u8 = size_of::<Place>().trailing_zeros() as u8;

    pub const WINDOW_BASE: i32 = offset_of!(Window, base) as i32;
    pub const WINDOW_HOST: i32 = offset_of!(Window, host) as i32;
    pub const WINDOW_BLOCK_END: i32 = offset_of!(Window, block_end) as i32;
    pub const WINDOW_LANE_END: i32 = offset_of!(Window, lane_end) as i32;
    pub const WINDOW_MARKS: i32 = offset_of!(Window, marks) as i32;
    pub const WINDOW_BYTES: i32 = size_of::<Window>() as i32;
}

/// Bytes that a gather reads for a lane at least.
const GATHERED_BYTES: u64 = 4;

/// The run of bytes that a memory instruction touched last. All zero where nothing is known: nothing is inside then.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Window {
    /// Its first simulated address.
    base: u64,
    /// Its first byte on the host.
    host: usize,
    /// Offsets below this leave room for all 32 lanes, one behind the other.
    block_end: u64,
    /// Offsets below this leave room for one lane, and for what a gather reads for it.
    lane_end: u64,
    /// Of a store of blocks that run apart: where the marks of its first word are.
    marks: usize,
    /// The allocation it is of.
    pub allocation: u32,
}

impl Window {
    fn new(base: u64, host: usize, bytes: u64, inst: &MemoryInst) -> Self {
        let lane_bytes = u64::from(inst.lane_bytes());
        // Compiled code looks at the alignment of offsets.
        if !base.is_multiple_of(lane_bytes) {
            return Self::default();
        }
        let end = |needed: u64| bytes.checked_sub(needed).map_or(0, |room| room + 1);
        Self {
            base,
            host,
            block_end: end(lane_bytes * LANES as u64),
            lane_end: end(lane_bytes.max(GATHERED_BYTES)),
            marks: 0,
            allocation: 0,
        }
    }
}

/// Bytes that code may reach without asking.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Their first simulated address.
    pub base: u64,
    /// How many they are.
    pub bytes: u64,
    /// The first of them on the host.
    pub host: usize,
    /// Of a store of blocks that run apart: where the marks of the first word are.
    pub marks: usize,
    /// The allocation that they are of.
    pub allocation: u32,
}

/// For each memory instruction the bytes it may reach without asking.
///
/// They are addresses of the host that are used as long as a block runs on the same memory and nothing is
/// allocated or freed in it: until then no allocation's bytes move. [`Windows::refresh`] forgets them otherwise.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// The memory they are of, and the generation of its allocations.
    memory: (u64, u32),
    shared: usize,
    pub(crate) table: Vec<Window>,
}

impl Windows {
    /// Makes the table true for memory `of` that identity and generation of allocations, and for the block's `shared` memory.
    #[inline]
    pub fn refresh(&mut self, code: &Code, of: (u64, u32), shared: &mut [u8]) {
        let host = shared.as_mut_ptr().expose_provenance();
        let sites = code.sites as usize;
        if self.memory == of && self.shared == host && self.table.len() == sites {
            return;
        }
        (self.memory, self.shared) = (of, host);
        self.table.clear();
        self.table.resize(sites, Window::default());
        for inst in &code.memory {
            if inst.space == Space::Shared {
                self.table[inst.site as usize] = Window::new(0, host, shared.len() as u64, inst);
            }
        }
    }

    /// Remembers where `inst`, which was just executed, found its bytes.
    #[inline]
    pub fn learn(&mut self, inst: &MemoryInst, found: &Reach) {
        if let Some(window) = self.table.get_mut(inst.site as usize) {
            *window = Window {
                allocation: found.allocation,
                marks: found.marks,
                ..Window::new(found.base, found.host, found.bytes, inst)
            };
        }
    }
}
