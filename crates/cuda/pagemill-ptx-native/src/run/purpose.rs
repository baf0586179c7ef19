//! What machine code is made for.

/// The runs that a routine serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Functional runs.
    Functional,
    /// Runs that look for mistakes: accesses, and what orders them, are left to the interpreter.
    Watched,
    /// Functional runs on several threads of the host: what is stored is marked.
    Apart,
    /// Timed runs: the stream with waits; accesses that time decides about are announced, and what instructions cost is
    /// summed up.
    Timed,
}

impl Purpose {
    /// How many there are.
    pub const COUNT: usize = Self::Timed as usize + 1;

    /// That of a run without time.
    pub fn without_time(looks_for_mistakes: bool, is_apart: bool) -> Self {
        match (looks_for_mistakes, is_apart) {
            (true, _) => Self::Watched,
            (_, true) => Self::Apart,
            _ => Self::Functional,
        }
    }
}
