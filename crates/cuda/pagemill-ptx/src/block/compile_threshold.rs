//! Whether a timed launch gains from machine code: each entry has a price, and so has the compilation.

/// PTX instructions between two stops of a warp from which on machine code is faster than the interpreter.
const INSTRUCTIONS_A_STEP: u64 = 6;
/// Times that a block executes its kernel's length before the kernel is compiled.
const LENGTHS_BEFORE: u64 = 16;

/// What a block has executed in timed steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    steps: u64,
    instructions: u64,
}

impl Pace {
    /// A step of some PTX instructions was made.
    #[inline(always)]
    pub(crate) fn note(&mut self, instructions: u64) {
        self.steps += 1;
        self.instructions += instructions;
    }

    /// Whether the next steps should be machine code, of a kernel of `length` instructions that may be compiled already.
    #[inline(always)]
    pub(crate) fn pays(&self, length: usize, is_compiled: bool) -> bool {
        let is_long = self.instructions >= INSTRUCTIONS_A_STEP * self.steps.max(1);
        is_long && (is_compiled || self.instructions >= LENGTHS_BEFORE * length as u64)
    }
}

#[cfg(test)]
mod tests;
