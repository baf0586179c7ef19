//! What a rank does: the seam between the simulator and the patterns, traces and tests that drive it.

use pagemill_types::Picos;

use super::packet::{Completion, Receive, Request, Rma, Send};

/// What a rank does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message; the program goes on once the processor is free.
    Send(Send),
    /// Offer a buffer for a message.
    Receive(Receive),
    /// Write memory of another rank.
    Write(Rma),
    /// Read memory of another rank.
    Read(Rma),
    /// Compute.
    Compute(Picos),
    /// Wait until the next operation is over or another rank's RMA write is here. With none to come the rank is stuck.
    Wait,
    /// Nothing more.
    Exit,
}

/// The program of one rank. It runs in simulated time, which it can read but not change.
pub trait Program {
    /// What it does at `now`. [`Program::started`] follows where that begins an operation.
    fn next(&mut self, now: Picos) -> Action;

    /// The action that was just returned is operation `request`.
    fn started(&mut self, _request: Request) {}

    /// An operation is over, and the program has taken notice of it at `now`.
    fn completed(&mut self, _request: Request, _completion: &Completion, _now: Picos) {}

    /// An RMA write of another rank put `bytes` bytes at `address`, and the program has taken notice of it at `now`.
    fn stored(&mut self, _source: u32, _address: u64, _bytes: u64, _now: Picos) {}
}
