use super::{Action, Call, Placement, Side, Strategy, StrategyEntry};

/// One prefetch of everything with a mapping hint: what was prefetched first is evicted again if not all fits.
#[derive(Clone, Copy, Debug)]
pub struct BulkPrefetch;

impl BulkPrefetch {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "bulk-prefetch",
        summary: "mapped for the GPU, then prefetched as a whole; what does not fit is evicted again",
        build: || Box::new(Self),
    };
}

impl Strategy for BulkPrefetch {
    fn calls(&self, placement: &Placement, emit: &mut dyn FnMut(Call)) {
        for action in [Action::AccessedByGpu, Action::Prefetch(Side::Gpu)] {
            emit(Call {
                bytes: 0..placement.allocation_bytes,
                action,
            });
        }
    }
}
