//! Hints for a program that is not built again: a file that names its managed allocations and the calls to make for them.
//!
//! Allocations and launches have no names that are the same in every run, so they are counted: the third `cudaMallocManaged` of the
//! process, the launch before which something is copied. The size of each allocation stands beside its number, so that a program that has
//! changed is noticed and its memory left alone.

use std::collections::BTreeMap;
use std::fmt;

use pagemill_policy::residency::{Action, Side};
use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// The command that they were found for.
    pub program: String,
    /// The machine that they were found on.
    pub machine: String,
    /// Allocations that calls are about.
    #[serde(default, rename = "allocation")]
    pub allocations: Vec<HintedAllocation>,
    /// The calls, those for one moment in the order in which they are made.
    #[serde(default, rename = "call")]
    pub calls: Vec<HintCall>,
}

/// A managed allocation of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintedAllocation {
    /// Which one of the process, from 1.
    pub number: u32,
    /// Its size.
    pub bytes: u64,
    /// What the program calls it, for people.
    pub name: String,
}

/// A call of the driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintCall {
    /// Number of the allocation.
    pub allocation: u32,
    /// What is asked of the driver.
    pub action: HintAction,
    /// The launch of the process before which it is made, from 1; right after the allocation if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_launch: Option<u32>,
    /// First byte of each range and the one after its last; the whole allocation if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<[u64; 2]>,
}

/// Which call it is, in CUDA's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HintAction {
    /// `cudaMemAdviseSetReadMostly`.
    ReadMostly,
    /// `cudaMemAdviseSetPreferredLocation` with the GPU.
    PreferGpu,
    /// `cudaMemAdviseSetPreferredLocation` with the CPU.
    PreferCpu,
    /// `cudaMemAdviseSetAccessedBy` with the GPU.
    AccessedByGpu,
    /// `cudaMemPrefetchAsync` to the GPU.
    PrefetchGpu,
    /// `cudaMemPrefetchAsync` to the CPU.
    PrefetchCpu,
}

impl HintAction {
    /// The hint that is this call; `None` for calls that take a hint back or give contents up, which files do not hold.
    pub fn of(action: Action) -> Option<Self> {
        Some(match action {
            Action::ReadMostly => Self::ReadMostly,
            Action::PreferredLocation(Side::Gpu) => Self::PreferGpu,
            Action::PreferredLocation(Side::Cpu) => Self::PreferCpu,
            Action::AccessedByGpu => Self::AccessedByGpu,
            Action::Prefetch(Side::Gpu) => Self::PrefetchGpu,
            Action::Prefetch(Side::Cpu) => Self::PrefetchCpu,
            Action::NoPreferredLocation
            | Action::NotAccessedByGpu
            | Action::NotReadMostly
            | Action::Discard => return None,
        })
    }
}

impl fmt::Display for HintAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadMostly => "read-mostly",
            Self::PreferGpu => "prefer-gpu",
            Self::PreferCpu => "prefer-cpu",
            Self::AccessedByGpu => "accessed-by-gpu",
            Self::PrefetchGpu => "prefetch-gpu",
            Self::PrefetchCpu => "prefetch-cpu",
        })
    }
}

impl Hints {
    /// Reads a file's text.
    ///
    /// # Errors
    /// It is no file of hints, or contradicts itself; the text says where and what to do.
    pub fn parse(text: &str) -> Result<Self, String> {
        let hints: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        hints.check()?;
        Ok(hints)
    }

    /// The file's text, below a line that says what it is for.
    ///
    /// # Errors
    /// A number is larger than TOML has.
    pub fn text(&self) -> Result<String, String> {
        let values = toml::to_string(self).map_err(|error| error.to_string())?;
        Ok(format!(
            "# Memory hints for a program as it is: pagemill gpu run --hints THIS-FILE -- PROGRAM\n{values}"
        ))
    }

    fn check(&self) -> Result<(), String> {
        let mut sizes = BTreeMap::new();
        for allocation in &self.allocations {
            let number = allocation.number;
            if number == 0 {
                return Err("allocation.number is 0; allocations are counted from 1".to_owned());
            }
            if sizes.insert(number, allocation.bytes).is_some() {
                return Err(format!(
                    "allocation {number} is there twice; keep one of them"
                ));
            }
        }
        for call in &self.calls {
            let number = call.allocation;
            let Some(&bytes) = sizes.get(&number) else {
                return Err(format!(
                    "a call is for allocation {number}, which no [[allocation]] describes; add its number and bytes"
                ));
            };
            if call.before_launch == Some(0) {
                return Err(format!(
                    "a call for allocation {number} has before_launch = 0; launches are counted from 1"
                ));
            }
            let bad = |range: &&[u64; 2]| range[0] >= range[1] || range[1] > bytes;
            if let Some([start, end]) = call.ranges.iter().find(bad) {
                return Err(format!(
                    "a call for allocation {number} has the range [{start}, {end}], and the allocation has {bytes} bytes: a range is \
                     its first byte and the one after its last"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
