//! Kernels as machine code of the host: 32 lanes a warp in vector registers.
//!
//! A [`Routine`] stands in for the interpreter's loop over lane operations. It works on the interpreter's register file
//! and returns before every instruction that it does not execute itself, so that the interpreter goes on from there.
//! What it executes gives the same bits. See `docs/adr/0022-compiled-kernels.md`.
//!
//! Data flows one way: [`liveness`], [`regions`] -> [`emit`] (with [`control`], [`paths`], [`lanes`], [`convert`], [`special`], [`rounding`], [`exchange`], [`access`], [`announce`], [`rows`], [`scatter`], [`local`], [`cache`], [`table`]) -> [`encode`] ->
//! [`Routine`] -> [`Native::run`].

mod access;
mod announce;
mod cache;
mod compiled;
mod context;
mod control;
mod convert;
mod emit;
mod encode;
mod exchange;
mod lanes;
mod liveness;
mod local;
mod paths;
mod purpose;
mod regions;
mod rounding;
mod routine;
mod rows;
mod scatter;
mod special;
mod table;
mod vectors;

pub(crate) use compiled::Compiled;
pub(crate) use context::Windows;
pub(crate) use purpose::Purpose;
pub(crate) use routine::{End, Native, Routine, Standing, Stay, Unavailable};

#[cfg(test)]
mod tests;
