//! Machine code in memory, and the one place where it is called.

use super::context::{Context, Windows};
use super::emit::{self, Entries, PAUSE};
use crate::code::{Code, Stream};
use crate::exec::line::{FULL, Frame};
use crate::exec::path::Path;
use memmap2::{Mmap, MmapMut};

/// Longest stream that is compiled. Longer ones would take more than some hundredths of a second.
const INSTRUCTIONS_MAX: usize = 20_000;

/// Why a kernel is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error("this processor does not have AVX-512 (F, BW, CD, DQ and VL)")]
    Processor,
    #[error("it is too long, or needs too many registers at once")]
    Size,
    #[error("this machine does not allow executable memory: {0}")]
    Memory(String),
}

/// The machine code of one stream of a kernel. Its memory is never writable and executable at once.
#[derive(Debug)]
pub(crate) struct Routine {
    code: Mmap,
    entries: Entries,
}

/// One stay in compiled code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    /// Before which instruction it ended.
    pub pc: u32,
    /// The first instruction of its region: those up to `pc` are not in `instructions`.
    pub region: u32,
    /// PTX instructions executed, negative for those of the region before the place of entry.
    pub instructions: i64,
    /// Lanes whose guard did not hold.
    pub idle: u64,
    pub accesses: u64,
    pub writes: u64,
    /// Whether it ended because the allowance is used up.
    pub is_paused: bool,
}

/// A routine at work for one warp.
pub(crate) struct Native<'a> {
    pub routine: &'a Routine,
    pub windows: &'a mut Windows,
}

impl Routine {
    /// Compiles `stream` of `code`.
    pub(crate) fn new(code: &Code, stream: &Stream) -> Result<Self, Unavailable> {
        if !is_supported() {
            return Err(Unavailable::Processor);
        }
        if stream.insts.len() > INSTRUCTIONS_MAX {
            return Err(Unavailable::Size);
        }
        let emitted = emit::emit(code, stream).ok_or(Unavailable::Size)?;
        let refused = |error: std::io::Error| Unavailable::Memory(error.to_string());
        let mut memory = MmapMut::map_anon(emitted.code.len()).map_err(refused)?;
        memory.copy_from_slice(&emitted.code);
        Ok(Self {
            code: memory.make_exec().map_err(refused)?,
            entries: emitted.entries,
        })
    }

    /// Positions at which warps with the active lanes `mask` can enter: where it is not zero.
    pub(crate) fn entries(&self, mask: u32) -> &[u32] {
        if mask == FULL {
            &self.entries.whole
        } else {
            &self.entries.partial
        }
    }

    /// The first instruction of the region of `pc`.
    pub(crate) fn region(&self, pc: u32) -> u32 {
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

impl Native<'_> {
    /// Runs the lanes of `path` from its position on, if the code can be entered there. `before` counts PTX instructions,
    /// and `remaining` is how many may be executed until a pause.
    pub(crate) fn run(
        &mut self,
        frame: &mut Frame<'_>,
        path: &Path,
        before: &[u32],
        remaining: u64,
    ) -> Option<Stay> {
        let entry = *self.routine.entries(path.mask).get(path.pc as usize)?;
        if entry == 0 {
            return None;
        }
        let region = self.routine.region(path.pc);
        let ahead = i64::from(before[path.pc as usize]) - i64::from(before[region as usize]);
        // The code counts from the beginning of the region.
        let allowed = i64::try_from(remaining).unwrap_or(i64::MAX / 2) + ahead;
        let mut context = Context {
            narrow: frame.narrow.as_mut_ptr(),
            wide: frame.wide.as_mut_ptr(),
            predicates: frame.predicates.as_mut_ptr(),
            constants_narrow: frame.constants_narrow.as_ptr(),
            constants_wide: frame.constants_wide.as_ptr(),
            windows: self.windows.table.as_ptr(),
            remaining: allowed,
            idle: 0,
            accesses: 0,
            writes: 0,
            mask: path.mask,
            lanes: path.mask.count_ones(),
            reconverge: path.reconverge,
        };
        let end = call(&self.routine.code, entry, &mut context);
        let pc = end & !PAUSE;
        Some(Stay {
            pc,
            region: self.routine.region(pc),
            instructions: allowed - context.remaining - ahead,
            idle: context.idle,
            accesses: context.accesses,
            writes: context.writes,
            is_paused: end & PAUSE != 0,
        })
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
    // and predicates of the register file that its kernel's `Code` numbers, whose arenas `Code` sized, and bytes inside
    // the windows: those are of allocations that exist as long as `Windows::refresh` found them unchanged, in a memory
    // that the caller has borrowed for writing.
    unsafe { trampoline(context, start.wrapping_add(entry as usize)) }
}

#[cfg(not(target_arch = "x86_64"))]
fn call(_: &Mmap, _: u32, _: &mut Context) -> u32 {
    unreachable!("no routine is made for this processor")
}
