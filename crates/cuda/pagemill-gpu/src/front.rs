//! What a front of the driver decides and reports: which hints are due at an allocation or a launch, and what became of each.
//!
//! No call is made here: [`Front`] answers with [`Deed`]s, and hears how they ended.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::hints::{HintAction, HintCall, Hints};
use crate::left;

/// The folder that a front finds its hints in, and leaves its reports in.
pub const FRONT_FOLDER: &str = "PAGEMILL_GPU_FRONT";
/// The variable by which a program gets managed memory where it asks for memory of the GPU: `1`.
pub const FRONT_MANAGED: &str = "PAGEMILL_GPU_MANAGED";
/// The file of hints in it.
pub const HINTS_FILE: &str = "hints.toml";
/// How the files of reports begin.
const FILES: &str = "front";
/// The layout of a report.
const VERSION: u32 = 1;

/// A program's managed memory and launches, and the calls that are to be made for them.
#[derive(Debug)]
pub struct Front {
    hints: Hints,
    /// Managed allocations that were made: address and bytes of each.
    made: Vec<[u64; 2]>,
    /// Those that hints are for and that are alive: number by address.
    alive: BTreeMap<u64, u32>,
    /// Where allocations with hints are: address by number.
    places: BTreeMap<u32, u64>,
    /// What became of each call.
    outcomes: Vec<Outcome>,
    /// Calls before launches that are still to be made, the next one last.
    waiting: Vec<(u32, usize)>,
}

/// A call to make now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// Which call of the hints it is.
    pub call: usize,
    /// What to ask of the driver.
    pub action: HintAction,
    /// For which addresses.
    pub ranges: Vec<Range<u64>>,
}

/// What became of a call of the hints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its allocation or launch was not reached.
    #[default]
    NotReached,
    /// The driver did it.
    Made,
    /// It was not made, for this reason.
    LeftOut(String),
}

/// What a front leaves when its process ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontReport {
    version: u32,
    /// The process.
    pub process: u32,
    /// Managed allocations that it made, in their order: address and bytes of each.
    pub allocations: Vec<[u64; 2]>,
    /// Launches of kernels.
    pub launches: u64,
    /// From its first launch, and what was copied for it, to the end of its last call that a front sees: waits included.
    pub gpu_ns: u64,
    /// What became of each call of the hints.
    pub outcomes: Vec<Outcome>,
    /// What the front could not do, in words.
    pub failed: Vec<String>,
}

impl Front {
    /// Of a program that has not called the driver yet.
    pub fn new(hints: Hints) -> Self {
        let calls = hints.calls.iter().enumerate();
        let mut waiting: Vec<(u32, usize)> = calls
            .filter_map(|(call, hint)| hint.before_launch.map(|launch| (launch, call)))
            .collect();
        waiting.sort_unstable_by_key(|&place| std::cmp::Reverse(place));
        Self {
            outcomes: vec![Outcome::NotReached; hints.calls.len()],
            hints,
            made: Vec::new(),
            alive: BTreeMap::new(),
            places: BTreeMap::new(),
            waiting,
        }
    }

    /// The program has allocated managed memory.
    pub fn allocated(&mut self, address: u64, bytes: u64) -> Vec<Deed> {
        self.made.push([address, bytes]);
        let number = self.made.len() as u32;
        let mut known = self.hints.allocations.iter();
        let Some(hinted) = known.find(|allocation| allocation.number == number) else {
            return Vec::new();
        };
        if hinted.bytes != bytes {
            let reason = format!(
                "allocation {number} has {bytes} bytes, and the hints are for one of {}: they are for another build or other arguments",
                hinted.bytes
            );
            self.leave_out(&reason, |call| call.allocation == number);
            return Vec::new();
        }
        self.alive.insert(address, number);
        self.places.insert(number, address);
        let calls = 0..self.hints.calls.len();
        let now = calls.filter(|&call| {
            let call = &self.hints.calls[call];
            call.allocation == number && call.before_launch.is_none()
        });
        now.map(|call| self.deed(call, address)).collect()
    }

    /// The program has freed the memory at `address`.
    pub fn freed(&mut self, address: u64) {
        if let Some(number) = self.alive.remove(&address) {
            self.places.remove(&number);
        }
    }

    /// The next launch, counted from 1, before which something is to be done; none after the last.
    pub fn next_due(&self) -> Option<u32> {
        self.waiting.last().map(|&(launch, _)| launch)
    }

    /// Launch `number` is about to be made, counted from 1.
    pub fn before_launch(&mut self, number: u32) -> Vec<Deed> {
        let mut deeds = Vec::new();
        while let Some((_, call)) = self.waiting.pop_if(|(launch, _)| *launch <= number) {
            let allocation = self.hints.calls[call].allocation;
            match self.places.get(&allocation) {
                Some(&address) => deeds.push(self.deed(call, address)),
                None if self.outcomes[call] == Outcome::NotReached => {
                    let reason =
                        format!("allocation {allocation} is not alive before launch {number}");
                    self.outcomes[call] = Outcome::LeftOut(reason);
                }
                // Its allocation had another size.
                None => {}
            }
        }
        deeds
    }

    /// Launches cannot be counted from here on, for `reason`: what was to be done before them is left out.
    pub fn stop_counting(&mut self, reason: &str) {
        for (_, call) in std::mem::take(&mut self.waiting) {
            self.outcomes[call] = Outcome::LeftOut(reason.to_owned());
        }
    }

    /// How a deed ended.
    pub fn ended(&mut self, deed: &Deed, result: Result<(), String>) {
        self.outcomes[deed.call] = match result {
            Ok(()) => Outcome::Made,
            Err(reason) => Outcome::LeftOut(reason),
        };
    }

    /// What there is to say at the end of `process`.
    pub fn report(
        &self,
        process: u32,
        launches: u64,
        gpu_ns: u64,
        failed: Vec<String>,
    ) -> FrontReport {
        FrontReport {
            version: VERSION,
            process,
            allocations: self.made.clone(),
            launches,
            gpu_ns,
            outcomes: self.outcomes.clone(),
            failed,
        }
    }

    fn deed(&self, call: usize, address: u64) -> Deed {
        let hint = &self.hints.calls[call];
        let whole = || {
            let mut known = self.hints.allocations.iter();
            let found = known.find(|allocation| allocation.number == hint.allocation);
            [0, found.map_or(0, |allocation| allocation.bytes)]
        };
        let ranges = match hint.ranges.as_slice() {
            [] => vec![whole()],
            ranges => ranges.to_vec(),
        };
        let at = |[start, end]: [u64; 2]| address + start..address + end;
        Deed {
            call,
            action: hint.action,
            ranges: ranges.into_iter().map(at).collect(),
        }
    }

    fn leave_out(&mut self, reason: &str, is_meant: impl Fn(&HintCall) -> bool) {
        for (call, outcome) in self.hints.calls.iter().zip(&mut self.outcomes) {
            if is_meant(call) && *outcome == Outcome::NotReached {
                *outcome = Outcome::LeftOut(reason.to_owned());
            }
        }
    }
}

impl FrontReport {
    /// Writes it into `folder`, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        left::write(folder, FILES, self.process, self)
    }

    /// The reports in `folder`, those of the earliest processes first.
    ///
    /// # Errors
    /// One cannot be read, or is of another version of pagemill.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, String> {
        let all = left::read_all(folder, FILES, |report: &Self| (report.version, VERSION))?;
        Ok(all.into_iter().map(|(_, report)| report).collect())
    }
}

#[cfg(test)]
mod tests;
