//! What machine code is made for.

/// The runs that a routine serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Functional runs.
    Functional,
    /// Runs that look for mistakes: accesses, and what orders them, are left to the interpreter.
    Watched,
    /// Timed runs: the stream with waits; accesses that time decides about are announced, and what instructions cost is
    /// summed up.
    Timed,
}
