//! A launch stops where it waits for something outside of it: accesses on the way end, and no warp makes a step.

use pagemill_pages::parts::event_heap::EventHeap;
use pagemill_ptx::Patience;
use pagemill_types::Picos;

/// Thread instructions between two looks at the stop flag.
const STOP_INTERVAL: u64 = 1 << 18;
/// Thread instructions between two looks at whether the launch waits.
const WAIT_INTERVAL: u64 = 1 << 13;

/// Whether a launch may stop, and the warps that it holds.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) patience: Patience,
    /// Whether no warp makes a step any more.
    pub(super) stops: bool,
    held: Vec<u32>,
    /// When the last of them would have made its step.
    held_at: Picos,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            patience: Patience::ToTheEnd,
            stops: false,
            held: Vec::new(),
            held_at: Picos::ZERO,
        }
    }
}

impl Waiting {
    /// A launch begins at `at`.
    pub(super) fn restart(&mut self, at: Picos) {
        *self = Self {
            held_at: at,
            ..Self::default()
        };
    }

    pub(super) fn holds_some(&self) -> bool {
        !self.held.is_empty()
    }

    /// Since when the launch waits.
    pub(super) fn since(&self) -> Picos {
        self.held_at
    }

    /// A warp makes no step until the launch goes on.
    #[cold]
    pub(super) fn hold(&mut self, now: Picos, warp: u32, heap: &mut EventHeap) {
        self.held.push(warp);
        // Events come in the order of time, so the last warp that is held says since when.
        self.held_at = now;
        heap.pop();
    }

    /// Lets the warps that were held go on at `at`, or when the last of them was held.
    pub(super) fn release(&mut self, at: Picos, heap: &mut EventHeap) {
        self.stops = false;
        for warp in std::mem::take(&mut self.held) {
            heap.push(at.max(self.held_at), warp);
        }
    }

    /// Thread instructions until the launch is looked at; `None` if only their limit is.
    pub(super) fn look_interval(&self, may_be_stopped: bool) -> Option<u64> {
        match (self.patience, may_be_stopped) {
            (Patience::ForOthers, _) => Some(WAIT_INTERVAL),
            (Patience::ToTheEnd, true) => Some(STOP_INTERVAL),
            (Patience::ToTheEnd, false) => None,
        }
    }
}
