use super::{Call, Placement, Strategy, StrategyEntry};

/// Leaves everything to page faults.
#[derive(Clone, Copy, Debug)]
pub struct OnDemand;

impl OnDemand {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "on-demand",
        summary: "no calls: pages move when the GPU faults",
        build: || Box::new(Self),
    };
}

impl Strategy for OnDemand {
    fn calls(&self, _: &Placement, _: &mut dyn FnMut(Call)) {}

    fn restarts_from_cpu(&self) -> bool {
        true
    }
}
