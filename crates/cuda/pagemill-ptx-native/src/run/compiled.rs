//! What a kernel has of machine code.

use crate::run::purpose::Purpose;
use crate::run::routine::{Routine, Unavailable};
use pagemill_ptx_ir::code::Code;
use std::sync::OnceLock;

/// Machine code for each [`Purpose`], made at its first use.
#[derive(Debug, Default)]
pub struct Compiled {
    routines: [OnceLock<Result<Routine, Unavailable>>; Purpose::COUNT],
}

impl Compiled {
    /// The machine code of `code` for `purpose`. The first call compiles it.
    pub fn routine(&self, code: &Code, purpose: Purpose) -> Result<&Routine, &Unavailable> {
        let stream = code.stream(purpose == Purpose::Timed);
        let compile = || Routine::new(code, stream, purpose);
        self.routines[purpose as usize]
            .get_or_init(compile)
            .as_ref()
    }

    /// Whether there is an answer to that already.
    pub fn is_compiled(&self, purpose: Purpose) -> bool {
        self.routines[purpose as usize].get().is_some()
    }
}
