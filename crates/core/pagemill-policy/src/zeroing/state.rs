/// Number of a page in its [`super::Ledger`], from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageId(pub usize);

/// To whom pages are lent: a user, in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(pub u32);

/// One order to an engine. Numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageState {
    /// May hold anything; no process can reach it.
    Dirty,
    /// An engine is writing zeroes to it; nothing else can reach it.
    Zeroing(JobId),
    /// The faulting CPU is writing zeroes to it.
    Clearing(Owner),
    /// A fault waits for an engine to clear it.
    Waiting {
        /// The engine's order.
        job: JobId,
        /// Whose fault it is.
        owner: Owner,
    },
    /// The fault waits no longer; the engine may still write until it is fenced off.
    Expired {
        /// The engine's order.
        job: JobId,
        /// Whose fault it is.
        owner: Owner,
    },
    /// All zeroes; no process can reach it.
    Clean,
    /// Mapped by its owner.
    Lent(Owner),
    /// Given back, but the former holder may still have a mapping or a descriptor.
    Returned,
    /// An engine failed to answer and may still write.
    Quarantined(JobId),
}

/// Pages by what can be done with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting to be cleared.
    pub dirty: usize,
    /// Being cleared, by an engine or a CPU.
    pub zeroing: usize,
    /// Ready to be lent.
    pub clean: usize,
    /// Lent.
    pub lent: usize,
    /// Returned, not yet proven unreachable.
    pub returned: usize,
    /// Out of use until an engine is fenced off.
    pub quarantined: usize,
}

impl Counts {
    pub(super) fn add(&mut self, state: PageState) {
        let count = match state {
            PageState::Dirty => &mut self.dirty,
            PageState::Zeroing(_) | PageState::Clearing(_) | PageState::Waiting { .. } => {
                &mut self.zeroing
            }
            PageState::Clean => &mut self.clean,
            PageState::Lent(_) => &mut self.lent,
            PageState::Returned => &mut self.returned,
            PageState::Expired { .. } | PageState::Quarantined(_) => &mut self.quarantined,
        };
        *count += 1;
    }
}
