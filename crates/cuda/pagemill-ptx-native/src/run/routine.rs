//! Machine code in memory, and the one place where it is called.

use crate::emit::emitter::{self, Entries};
use crate::emit::paths::{ANNOUNCE, BARRIER, ENDED, PAUSE, WAIT};
use crate::run::context::{Announced, Context, Windows};
use crate::run::purpose::Purpose;
use memmap2::{Mmap, MmapMut};
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::code::{Code, MemoryInst, Stream};
use pagemill_ptx_ir::info::Prefix;
use pagemill_ptx_ir::line::{FULL, Frame, Line};
use std::mem::MaybeUninit;

/// Longest stream that is compiled. Longer ones would take more than some hundredths of a second.
const INSTRUCTIONS_MAX: usize = 20_000;

/// Why a kernel is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// It lacks instructions.
    #[error("this processor does not have AVX-512 (F, BW, CD, DQ and VL)")]
    Processor,
    /// The kernel is too large.
    #[error("it is too long, or needs too many registers at once")]
    Size,
    /// Memory cannot be made executable.
    #[error("this machine does not allow executable memory: {0}")]
    Memory(String),
}

/// The machine code of one stream of a kernel. Its memory is never writable and executable at once.
#[derive(Debug)]
pub struct Routine {
    code: Mmap,
    entries: Entries,
}

/// One stay in compiled code.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// Where it ended, and for which lanes.
    pub path: Path,
    /// The first instruction of its region: those up to the end are not in `instructions`.
    pub region: u32,
    /// PTX instructions executed, negative for those of the region before the place of entry.
    pub instructions: i64,
    /// The same times active lanes.
    pub threads: i64,
    /// Lanes whose guard did not hold.
    pub idle: u64,
    /// Memory instructions executed.
    pub accesses: u64,
    /// How many of them were stores.
    pub writes: u64,
    /// What the instructions cost in a timed run, with wrapping.
    pub cost: Prefix,
    /// Why it ended.
    pub end: End,
}

impl Stay {
    /// The same with everything up to its end counted.
    fn closed(self, before: &[u32], costs: &[Prefix]) -> Self {
        let (from, to) = (before[self.region as usize], before[self.path.pc as usize]);
        let count = i64::from(to - from);
        let open = cost_of(costs, from, to);
        Self {
            region: self.path.pc,
            instructions: self.instructions + count,
            threads: self.threads + count * i64::from(self.path.mask.count_ones()),
            cost: Prefix {
                issue: self.cost.issue.wrapping_add(open.issue),
                latency: self.cost.latency.wrapping_add(open.latency),
            },
            ..self
        }
    }
}

/// Why a stay in compiled code ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The interpreter must go on.
    Handover,
    /// The allowance is used up.
    Pause,
    /// The instruction before is a barrier.
    Barrier,
    /// The instruction before waits for these slots, which are no longer pending.
    Wait(u64),
    /// The access at the position is announced.
    Memory,
    /// All lanes have ended.
    Exit,
}

/// The lanes of a warp, as compiled code finds and leaves them.
pub struct Standing<'a> {
    /// Where the active ones are.
    pub path: Path,
    /// Lanes that have not ended.
    pub alive: &'a mut u32,
    /// Paths that wait.
    pub stack: &'a mut Vec<Path>,
    /// Whether some lanes stand elsewhere than the stack says.
    pub is_split: bool,
    /// Scoreboard slots of loads that were not waited for.
    pub pending: &'a mut u64,
}

/// An access that code has announced: its lanes lie in a row, or at one place.
#[derive(Clone, Copy, Debug)]
pub struct Announcement {
    /// Address of lane 0 of a row, or the one place.
    pub first: u64,
    /// Lanes that take part.
    pub mask: u32,
    /// Whether the lanes lie in a row.
    pub is_row: bool,
    /// The allocation that it goes to.
    pub allocation: u32,
}

/// Room on the stack of paths that compiled code finds when it begins.
const STACK_ROOM: usize = 32;

/// A routine at work for one warp.
pub struct Native<'a> {
    /// Which one.
    pub routine: &'a Routine,
    /// What it may reach without asking.
    pub windows: &'a mut Windows,
    /// Of timed runs, costs summed up to each PTX instruction of the kernel.
    pub costs: &'a [Prefix],
    /// The access that the last stay has announced.
    announced: Announced,
}

impl Routine {
    /// Compiles `stream` of `code` for the runs of `purpose`.
    pub fn new(code: &Code, stream: &Stream, purpose: Purpose) -> Result<Self, Unavailable> {
        if !is_supported() {
            return Err(Unavailable::Processor);
        }
        if stream.insts.len() > INSTRUCTIONS_MAX {
            return Err(Unavailable::Size);
        }
        let emitted = emitter::emit(code, stream, purpose).ok_or(Unavailable::Size)?;
        let refused = |error: std::io::Error| Unavailable::Memory(error.to_string());
        let mut memory = MmapMut::map_anon(emitted.code.len()).map_err(refused)?;
        memory.copy_from_slice(&emitted.code);
        Ok(Self {
            code: memory.make_exec().map_err(refused)?,
            entries: emitted.entries,
        })
    }

    /// Positions at which warps with the active lanes `mask` can enter: where it is not zero.
    pub fn entries(&self, mask: u32) -> &[u32] {
        if mask == FULL {
            &self.entries.whole
        } else {
            &self.entries.partial
        }
    }

    /// Where the announced access at `pc` is performed; zero if the interpreter does it.
    fn due_entry(&self, path: &Path) -> u32 {
        let due = &self.entries.due[usize::from(path.mask != FULL)];
        due.get(path.pc as usize).copied().unwrap_or(0)
    }

    /// The first instruction of the region of `pc`.
    pub fn region(&self, pc: u32) -> u32 {
        self.entries.region[pc as usize]
    }
}

#[cfg(target_arch = "x86_64")]
fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_supported() -> bool {
    false
}

impl<'a> Native<'a> {
    /// `costs` are empty, or those of all instructions of the kernel that `routine` was made of.
    ///
    /// # Safety
    /// Registers and local memory that [`Native::run`] gets are of a block of that kernel, sized as its [`Code`] says. The
    /// shared memory that `windows` were refreshed for, and all bytes that they learn of, exist as long as this runs, and
    /// no one else reads or writes them.
    pub unsafe fn new(routine: &'a Routine, windows: &'a mut Windows, costs: &'a [Prefix]) -> Self {
        Self {
            routine,
            windows,
            costs,
            announced: Announced::default(),
        }
    }

    /// Runs lanes from their position on, if the code can be entered there. `before` counts PTX instructions, and
    /// `remaining` is how many may be executed until a pause.
    pub fn run(
        &mut self,
        frame: &mut Frame<'_>,
        standing: Standing<'_>,
        local: &mut [Line<u32>],
        before: &[u32],
        remaining: u64,
    ) -> Option<Stay> {
        let path = standing.path;
        let entry = *self.routine.entries(path.mask).get(path.pc as usize)?;
        self.enter((entry, path.pc), frame, standing, local, before, remaining)
    }

    /// The same from the access on that was announced, which is performed first: `first` is the address of lane 0 of a row,
    /// or of all lanes. `None` if the interpreter must perform it; nothing has happened then.
    pub fn run_due(
        &mut self,
        (first, is_row): (u64, bool),
        frame: &mut Frame<'_>,
        standing: Standing<'_>,
        local: &mut [Line<u32>],
        before: &[u32],
        remaining: u64,
    ) -> Option<Stay> {
        let path = standing.path;
        self.announced = Announced {
            first,
            mask: 0,
            is_row: is_row.into(),
        };
        let entry = self.routine.due_entry(&path);
        // The access itself was counted when it was announced.
        let counted = (entry, path.pc + 1);
        let stay = self.enter(counted, frame, standing, local, before, remaining)?;
        let is_refused = stay.end == End::Handover && stay.path.pc == path.pc && stay.accesses == 0;
        (!is_refused).then_some(stay)
    }

    /// What the code works with, before anything is counted and without paths that wait.
    #[inline(always)]
    fn context(&self, frame: &mut Frame<'_>, path: &Path, local: &mut [Line<u32>]) -> Context {
        Context {
            narrow: frame.narrow.as_mut_ptr(),
            wide: frame.wide.as_mut_ptr(),
            predicates: frame.predicates.as_mut_ptr(),
            constants_narrow: frame.constants_narrow.as_ptr(),
            constants_wide: frame.constants_wide.as_ptr(),
            windows: self.windows.table.as_ptr(),
            local: local.as_mut_ptr(),
            local_bytes: 4 * local.len() as u64,
            remaining: 0,
            idle: 0,
            accesses: 0,
            writes: 0,
            mask: path.mask,
            lanes: path.mask.count_ones(),
            reconverge: path.reconverge,
            alive: 0,
            is_split: 0,
            fallback: 0,
            threads: 0,
            checkpoint: 0,
            stack_top: std::ptr::null_mut(),
            stack_bottom: std::ptr::null_mut(),
            stack_limit: std::ptr::null_mut(),
            places: self.routine.entries.places.as_ptr(),
            code: self.routine.code.as_ptr(),
            costs: self.costs.as_ptr(),
            cost: Prefix::default(),
            pending: 0,
            awaited: 0,
            announced: self.announced,
            scratch: MaybeUninit::uninit(),
        }
    }

    /// Enters at `entry`, whose region is counted up to `counted`.
    fn enter(
        &mut self,
        (entry, counted): (u32, u32),
        frame: &mut Frame<'_>,
        standing: Standing<'_>,
        local: &mut [Line<u32>],
        before: &[u32],
        remaining: u64,
    ) -> Option<Stay> {
        let Standing {
            path,
            alive,
            stack,
            is_split,
            pending,
        } = standing;
        if entry == 0 {
            return None;
        }
        let region = self.routine.region(path.pc);
        let (counted, begin) = (before[counted as usize], before[region as usize]);
        let ahead = i64::from(counted) - i64::from(begin);
        let cost = cost_of(self.costs, counted, begin);
        let remaining = i64::try_from(remaining).unwrap_or(i64::MAX / 2);
        stack.reserve(STACK_ROOM);
        let bottom = stack.as_mut_ptr();
        let top = bottom.wrapping_add(stack.len());
        let end = bottom.wrapping_add(stack.capacity() - 1);
        let mut context = Context {
            // The code counts from the beginning of the region.
            remaining: remaining + ahead,
            checkpoint: remaining,
            cost,
            alive: *alive,
            is_split: is_split.into(),
            stack_top: top,
            stack_bottom: if is_split { top } else { bottom },
            stack_limit: if is_split { bottom } else { end },
            pending: *pending,
            scratch: MaybeUninit::uninit(),
            ..self.context(frame, &path, local)
        };
        let answer = call(&self.routine.code, entry, &mut context);
        // SAFETY: compiled code left the paths below `stack_top` initialized: it pushes whole ones, and not beyond the
        // stack's capacity.
        unsafe { stack.set_len((context.stack_top.addr() - bottom.addr()) / size_of::<Path>()) };
        *alive = context.alive;
        *pending = context.pending;
        self.announced = context.announced;
        let stay = context.stay(answer, remaining, self.routine);
        Some(match stay.end {
            // The next advance begins to count where this one ends.
            End::Pause => stay.closed(before, self.costs),
            _ => stay,
        })
    }
}

/// What the instructions before number `to` cost less those before `from`, with wrapping; nothing without costs.
fn cost_of(costs: &[Prefix], from: u32, to: u32) -> Prefix {
    match (costs.get(from as usize), costs.get(to as usize)) {
        (Some(from), Some(to)) => Prefix {
            issue: to.issue.wrapping_sub(from.issue),
            latency: to.latency.wrapping_sub(from.latency),
        },
        _ => Prefix::default(),
    }
}

impl Native<'_> {
    /// The access of `inst`, which the last stay ended before.
    pub fn announced(&self, inst: &MemoryInst) -> Announcement {
        Announcement {
            first: self.announced.first,
            mask: self.announced.mask,
            is_row: self.announced.is_row != 0,
            allocation: self.windows.table[inst.site as usize].allocation,
        }
    }
}

impl Context {
    /// What came of the stay that was allowed `remaining` instructions and returned `answer`.
    fn stay(&self, answer: u32, remaining: i64, routine: &Routine) -> Stay {
        let pc = answer & !(PAUSE | ENDED | BARRIER | WAIT | ANNOUNCE);
        let end = match answer ^ pc {
            0 => End::Handover,
            PAUSE => End::Pause,
            BARRIER => End::Barrier,
            WAIT => End::Wait(self.awaited),
            ANNOUNCE => End::Memory,
            _ => End::Exit,
        };
        Stay {
            path: Path {
                pc,
                mask: if end == End::Exit { 0 } else { self.mask },
                reconverge: self.reconverge,
            },
            region: match end {
                // All instructions are counted.
                End::Barrier | End::Wait(_) => pc,
                End::Memory => pc + 1,
                End::Handover | End::Pause | End::Exit => routine.region(pc),
            },
            instructions: remaining - self.remaining,
            threads: self.threads + (self.checkpoint - self.remaining) * i64::from(self.lanes),
            idle: self.idle,
            accesses: self.accesses,
            writes: self.writes,
            cost: self.cost,
            end,
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn call(code: &Mmap, entry: u32, context: &mut Context) -> u32 {
    type Trampoline = unsafe extern "sysv64" fn(*mut Context, *const u8) -> u32;
    let start = code.as_ptr();
    // SAFETY: `start` is the beginning of code that `emit` made for this processor, and the trampoline is its first
    // instruction; it has this signature and keeps the registers that the calling convention wants kept.
    let trampoline = unsafe { std::mem::transmute::<*const u8, Trampoline>(start) };
    // SAFETY: `entry` is a place in the code where it can be entered. The code reads and writes the context, the lines
    // and predicates of the register file that its kernel's `Code` numbers, whose arenas `Code` sized, lines of the local
    // memory that the context bounds, the paths between the context's bounds of the stack, and bytes inside
    // the windows: those are of allocations that exist as long as `Windows::refresh` found them unchanged, in a memory
    // that the caller has borrowed for writing. Of the costs it reads those of the kernel's instructions, which
    // `Native::new` demands, and only if it was made for timed runs.
    unsafe { trampoline(context, start.wrapping_add(entry as usize)) }
}

#[cfg(not(target_arch = "x86_64"))]
fn call(_: &Mmap, _: u32, _: &mut Context) -> u32 {
    unreachable!("no routine is made for this processor")
}
