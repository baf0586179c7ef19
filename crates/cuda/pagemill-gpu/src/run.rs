use pagemill_policy::residency::{AccessPattern, ELEMENT_BYTES, PatternSpec};

use crate::gpu::{Buffer, Launch};
use crate::{GpuError, Kernel, Skip, show_bytes};

/// Share of a random run that is timed alone first, where the whole could take hours.
const PARTS: u64 = 1024;

/// A kernel over an allocation, in rounds that can be launched apart if the pattern is random.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    kernel: Kernel,
    spec: PatternSpec,
    rounds: u64,
}

impl Run {
    /// `kernel` with the sizes of `spec`.
    pub fn new(kernel: Kernel, spec: PatternSpec) -> Result<Self, GpuError> {
        spec.check()
            .map_err(|error| GpuError::BadPoint(error.to_string()))?;
        let rounds = match spec.pattern {
            AccessPattern::GridStride | AccessPattern::BlockStride => 1,
            AccessPattern::RandomWarp => spec.elements() / spec.threads(),
        };
        if rounds == 0 {
            return Err(GpuError::BadPoint(format!(
                "{} are less than the grid reads in one round ({}): use a larger factor or more GPU memory",
                show_bytes(spec.bytes),
                show_bytes(spec.threads() * ELEMENT_BYTES)
            )));
        }
        Ok(Self {
            kernel,
            spec,
            rounds,
        })
    }

    /// Its sizes.
    pub fn spec(&self) -> &PatternSpec {
        &self.spec
    }

    /// Rounds in all: reads per warp of a random run, one for the others.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Rounds to launch first: all of them, unless the run `may_thrash`.
    pub fn first_part(&self, may_thrash: bool) -> u64 {
        if may_thrash {
            (self.rounds / PARTS).max(1)
        } else {
            self.rounds
        }
    }

    /// Bytes that `rounds` of them ask for.
    pub fn bytes_read(&self, rounds: u64) -> u64 {
        match self.spec.pattern {
            AccessPattern::GridStride | AccessPattern::BlockStride => self.spec.bytes,
            AccessPattern::RandomWarp => rounds * self.spec.threads() * ELEMENT_BYTES,
        }
    }

    /// Rounds `done` to `done + rounds` over `buffer`.
    pub fn launch(&self, buffer: Buffer, done: u64, rounds: u64) -> Launch {
        let scalars = match self.spec.pattern {
            AccessPattern::GridStride | AccessPattern::BlockStride => vec![self.spec.elements()],
            AccessPattern::RandomWarp => {
                let skip = Skip::of(done);
                vec![
                    self.spec.bytes / self.spec.page_bytes,
                    self.spec.page_bytes / ELEMENT_BYTES,
                    rounds,
                    self.spec.seed,
                    skip.multiplier,
                    skip.increment,
                ]
            }
        };
        Launch {
            kernel: self.kernel,
            blocks: self.spec.blocks,
            buffer,
            scalars,
        }
    }
}

#[cfg(test)]
mod tests;
