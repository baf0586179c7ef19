//! Kernels as machine code of the host: 32 lanes a warp in vector registers.
//!
//! A [`Routine`] stands in for the interpreter's loop over lane operations. It works on the interpreter's register file
//! and returns before every instruction that it does not execute itself, so that the interpreter goes on from there.
//! What it executes gives the same bits. See `docs/adr/0022-compiled-kernels.md`.
//!
//! Data flows one way: `flow` -> `emit` (of which `paths`, `lanes` and `access` are the core) -> `assembler` -> [`Routine`] ->
//! [`Native::run`].

mod assembler;
mod emit;
mod flow;
mod run;

pub use run::compiled::Compiled;
pub use run::context::{Reach, Windows};
pub use run::purpose::Purpose;
pub use run::routine::{Announcement, End, Native, Routine, Standing, Stay, Unavailable};

#[cfg(test)]
mod tests;
