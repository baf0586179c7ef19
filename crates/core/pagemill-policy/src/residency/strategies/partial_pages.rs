use super::{Call, Mechanism, Placement, Strategy, StrategyEntry};

/// Lets the GPU's memory management unit move parts of pages, without the driver.
#[derive(Clone, Copy, Debug)]
pub struct PartialPages;

impl PartialPages {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "partial-pages",
        summary: "many valid ranges in each page, migrated by the GPU itself (Zhang et al. 2019)",
        build: || Box::new(Self),
    };
}

impl Strategy for PartialPages {
    fn calls(&self, _: &Placement, _: &mut dyn FnMut(Call)) {}

    fn mechanism(&self) -> Mechanism {
        Mechanism::PartialPages
    }

    fn restarts_from_cpu(&self) -> bool {
        true
    }
}
