//! A kernel as its users see it: shape, parameters, instructions.

use crate::ir::code::Code;
use crate::ir::info::{ClusterNeeds, InstructionInfo, Param};
use crate::native::Compiled;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One `.entry`, ready to launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name as written (mangled).
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Size of the argument block in bytes.
    pub param_bytes: u32,
    /// 32-bit registers that a thread needs at once.
    pub registers_per_thread: u32,
    /// 32-bit registers that a compiler gives a thread: an estimate.
    pub allocated_registers: u32,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Local memory of a thread in bytes.
    pub local_bytes: u32,
    /// Most threads of a block that it was compiled for (`.maxntid`, `.reqntid`).
    pub max_threads: Option<u32>,
    /// What it says about clusters.
    pub cluster: ClusterNeeds,
    pub(crate) source_name: Arc<str>,
    pub(crate) files: Arc<Vec<(u32, String)>>,
    pub(crate) instructions: Arc<[InstructionInfo]>,
    pub(crate) code: Arc<Code>,
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) seen: Arc<Seen>,
    /// Which module it came from: a launch takes a link of the same one.
    pub(crate) module_id: u64,
}

/// What launches of a kernel have shown.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Whether blocks that ran apart have met.
    pub have_met: AtomicBool,
    /// Whether steps of a warp, or what remains of its stores, may depend on when it makes them.
    pub depends_on_order: AtomicBool,
}

impl Kernel {
    /// Its instructions, device functions inlined, in code order.
    pub fn instructions(&self) -> &[InstructionInfo] {
        &self.instructions
    }

    /// File and line of the CUDA source of an instruction, where the PTX has `.loc` (`nvcc -lineinfo`).
    pub fn source_of(&self, instruction: u32) -> Option<(&str, u32)> {
        let info = self.instructions.get(instruction as usize)?;
        self.file_and_line(info.source?)
    }

    /// The line that a user wrote: that of [`Kernel::source_of`], or the one that calls what was inlined.
    pub(crate) fn users_line(&self, instruction: u32) -> Option<(&str, u32)> {
        let info = self.instructions.get(instruction as usize)?;
        self.file_and_line(info.caller.or(info.source)?)
    }

    fn file_and_line(&self, (file, line): (u32, u32)) -> Option<(&str, u32)> {
        let (_, path) = self.files.iter().find(|(index, _)| *index == file)?;
        Some((path, line))
    }
}
