/// When pages are cleared, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The faulting CPU clears the page. What an unchanged kernel does.
    Inline,
    /// Pages are cleared ahead of faults, between two watermarks.
    Pool,
    /// Pages are cleared as soon as no process can reach them any more, whatever the watermarks.
    OnFree,
    /// The engine clears while the fault waits; past a deadline the engine is fenced off and the CPU clears.
    OffloadWait,
    /// The page is mapped at once and cleared later, as in the published system. Leaks old bytes and wipes new ones.
    OffloadAsync,
}

impl Mode {
    /// Every mode, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Inline,
        Self::Pool,
        Self::OnFree,
        Self::OffloadWait,
        Self::OffloadAsync,
    ];

    /// How scenarios, command lines and the kernel module name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Pool => "pool",
            Self::OnFree => "on-free",
            Self::OffloadWait => "offload-wait",
            Self::OffloadAsync => "offload-async",
        }
    }

    /// The mode called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether a user always finds a page of zeroes, and keeps what it writes.
    pub fn is_safe(self) -> bool {
        self != Self::OffloadAsync
    }

    /// Whether pages are cleared ahead of faults.
    pub fn clears_ahead(self) -> bool {
        matches!(self, Self::Pool | Self::OnFree)
    }
}
