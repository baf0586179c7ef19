//! A kernel as data: shape, parameters, instructions.

use super::Code;
use crate::info::{ClusterNeeds, InstructionInfo, Param};
use std::sync::Arc;

/// One `.entry`, lowered.
#[derive(Clone, Debug)]
pub struct Entry {
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
    pub source_name: Arc<str>,
    pub files: Arc<Vec<(u32, String)>>,
    pub instructions: Arc<[InstructionInfo]>,
    pub code: Arc<Code>,
    /// Which module it came from: a launch takes a link of the same one.
    pub module_id: u64,
}

impl Entry {
    /// Its instructions, device functions inlined, in code order.
    pub fn instructions(&self) -> &[InstructionInfo] {
        &self.instructions
    }

    /// File and line of the CUDA source of an instruction, where the PTX has `.loc` (`nvcc -lineinfo`).
    pub fn source_of(&self, instruction: u32) -> Option<(&str, u32)> {
        let info = self.instructions.get(instruction as usize)?;
        self.file_and_line(info.source?)
    }

    /// The line that a user wrote: that of [`Entry::source_of`], or the one that calls what was inlined.
    pub fn users_line(&self, instruction: u32) -> Option<(&str, u32)> {
        let info = self.instructions.get(instruction as usize)?;
        self.file_and_line(info.caller.or(info.source)?)
    }

    fn file_and_line(&self, (file, line): (u32, u32)) -> Option<(&str, u32)> {
        let (_, path) = self.files.iter().find(|(index, _)| *index == file)?;
        Some((path, line))
    }
}
