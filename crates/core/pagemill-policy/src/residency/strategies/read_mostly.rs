use super::{Action, Call, Placement, Strategy, StrategyEntry};

/// Copies pages on faults and keeps those of the CPU: eviction has nothing to copy back.
#[derive(Clone, Copy, Debug)]
pub struct ReadMostly;

impl ReadMostly {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "read-mostly",
        summary: "pages are copied when the GPU faults, and dropped when their room is needed",
        build: || Box::new(Self),
    };
}

impl Strategy for ReadMostly {
    fn calls(&self, placement: &Placement, emit: &mut dyn FnMut(Call)) {
        emit(Call {
            bytes: 0..placement.allocation_bytes,
            action: Action::ReadMostly,
        });
    }

    fn restarts_from_cpu(&self) -> bool {
        true
    }
}
