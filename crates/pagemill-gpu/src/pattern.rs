/// What the threads of the grid read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// All threads of the grid side by side, then a step over them.
    GridStride,
    /// Each block a contiguous chunk of its own.
    BlockStride,
    /// Each warp 128 bytes of a random page, again and again.
    RandomWarp,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Self; 3] = [Self::GridStride, Self::BlockStride, Self::RandomWarp];

    /// Its name in rows and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::GridStride => "grid-stride",
            Self::BlockStride => "block-stride",
            Self::RandomWarp => "random-warp",
        }
    }
}

/// How the warps of a block keep together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// They meet at a barrier after every read.
    LockStep,
    /// They do not wait for each other.
    FreeRunning,
}

impl Variant {
    /// Both.
    pub const ALL: [Self; 2] = [Self::LockStep, Self::FreeRunning];

    /// Its name in rows and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::LockStep => "lock-step",
            Self::FreeRunning => "free-running",
        }
    }
}
