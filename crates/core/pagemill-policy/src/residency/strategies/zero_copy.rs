use super::{Action, Call, Placement, Side, Strategy, StrategyEntry};

/// Keeps everything in CPU memory, where the GPU reads it over the link.
#[derive(Clone, Copy, Debug)]
pub struct ZeroCopy;

impl ZeroCopy {
    /// How scenarios find this strategy.
    pub const ENTRY: StrategyEntry = StrategyEntry {
        name: "zero-copy",
        summary: "everything stays in CPU memory, mapped for the GPU",
        build: || Box::new(Self),
    };
}

impl Strategy for ZeroCopy {
    fn calls(&self, placement: &Placement, emit: &mut dyn FnMut(Call)) {
        for action in [Action::PreferredLocation(Side::Cpu), Action::AccessedByGpu] {
            emit(Call {
                bytes: 0..placement.allocation_bytes,
                action,
            });
        }
    }
}
