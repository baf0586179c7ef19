//! Where lanes of a warp stand, and where they go.

/// Where lanes that left the current path wait. Compiled code knows its layout.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Path {
    pub pc: u32,
    pub mask: u32,
    /// Where this path ends and the one below it on the stack goes on.
    pub reconverge: u32,
}

/// Lanes that stand at one place, while other lanes of the warp run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fragment {
    pub path: Path,
    pub stack: Vec<Path>,
    /// What they wait for; `None` when they can run.
    pub waits: Option<Meeting>,
}

/// Where lanes wait for other lanes of their warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// At entry `index` of the warp-operation table, for the lanes of `members` that have not ended.
    Exchange { index: u32, members: u32 },
    /// At entry `index` of the barrier table, for all lanes that have not ended.
    Barrier { index: u32 },
}
