//! Hints for a program that does not give them itself, and where in the program allocations and launches are.
//!
//! `pagemill advise program` writes a plan beside the scenario; a program that finds one notes the call stack of each managed allocation
//! and of each launch, and the hints of the plan are given as if the program had called `cudaMemAdvise` right after the
//! allocation, or `cudaMemPrefetchAsync` right before the launch. A placement of all memory, which the transfer mode asks for, is
//! made of the same calls, for each allocation without hints of its own.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The file in the folder of [`ENVIRONMENT`](crate::ENVIRONMENT).
const FILE: &str = "plan.json";

/// What to tell the page manager about the memory of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Hints by site; sites that are not named get none.
    pub hints: Vec<SiteHint>,
}

/// A hint for every allocation that a site makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteHint {
    /// [`Stack::key`] of the site.
    pub site: u64,
    /// What is said of its allocations.
    pub hint: Hint,
}

/// What a program may say of an allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hint {
    /// It is mostly read: both memories may have a copy.
    ReadMostly,
    /// It stays in CPU memory, and the GPU uses it there.
    StayOnCpu,
    /// It stays on the GPU once it is there.
    PreferGpu,
    /// It is copied to the GPU before a launch: for each allocation of the site in their order, which launch of the program,
    /// counted from 0.
    Prefetch(Vec<Option<u32>>),
    /// Nothing is said of it. As with every other hint, a placement of all memory leaves it out.
    LeaveAlone,
}

impl Plan {
    /// Reads the plan in `folder`; `None` where there is none.
    ///
    /// # Errors
    /// The file cannot be read, or is no plan.
    pub fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let told = |error: String| format!("{}: {error}", path.display());
        let text = std::fs::read(&path).map_err(|error| told(error.to_string()))?;
        let plan = serde_json::from_slice(&text).map_err(|error| told(error.to_string()))?;
        Ok(Some(plan))
    }

    /// Writes the plan to `folder`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec(self)?;
        std::fs::write(folder.join(FILE), text)
    }

    /// The hints for allocations of `site`.
    pub fn of(&self, site: u64) -> impl Iterator<Item = &Hint> {
        let own = self.hints.iter().filter(move |hint| hint.site == site);
        own.map(|hint| &hint.hint)
    }
}

/// A place of the program's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The file of the executable or library.
    pub module: String,
    /// Where the file is loaded.
    pub base: u64,
    /// Where the call returns to.
    pub address: u64,
}

/// Where something was called from, the innermost call first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The calls.
    pub frames: Vec<Frame>,
    /// The name of a managed variable, which no call allocates.
    pub variable: Option<String>,
}

impl Stack {
    /// Identifies a site, and is the same in every run of the program: it does not depend on where files are loaded.
    pub fn key(&self) -> u64 {
        let offsets = self.frames.iter().flat_map(|frame| {
            let offset = frame.address.wrapping_sub(frame.base).to_le_bytes();
            frame.module.bytes().chain(offset)
        });
        let name = self.variable.iter().flat_map(|name| name.bytes());
        // FNV-1a.
        offsets
            .chain(name)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

/// Where the allocations and launches of a program are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sites {
    /// Every stack that was seen, once.
    pub stacks: Vec<Stack>,
    /// For each managed allocation in its order, its stack.
    pub allocations: Vec<u32>,
    /// For each launch in its order, its stack; `None` where it was not seen.
    pub launches: Vec<Option<u32>>,
}

impl Sites {
    /// The number of a stack, the same for the same stack.
    pub fn number(&mut self, stack: Stack) -> u32 {
        let known = self.stacks.iter().position(|known| *known == stack);
        let place = known.unwrap_or_else(|| {
            self.stacks.push(stack);
            self.stacks.len() - 1
        });
        place as u32
    }
}

#[cfg(test)]
mod tests;
