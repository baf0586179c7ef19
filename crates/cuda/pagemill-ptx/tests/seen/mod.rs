//! What can be seen of a step, to compare executions.

use pagemill_ptx::{LanePlaces, MemoryAccess, Step, StepEnd, StepTotals};

/// What a step says, and the access that it announces: its addresses where lanes take part.
pub type Seen = (StepTotals, StepEnd, u64, Option<(MemoryAccess, Vec<u64>)>);

/// What `step` shows.
pub fn see(step: &Step) -> Seen {
    let announced = (step.end == StepEnd::Memory).then(|| {
        let lanes = (0..32).filter(|lane| step.access.mask >> lane & 1 != 0);
        let addresses = lanes.map(|lane| step.access.address(lane)).collect();
        let access = MemoryAccess {
            listed: [0; 32],
            places: LanePlaces::Listed,
            ..step.access
        };
        (access, addresses)
    });
    (step.totals, step.end, step.released_warps, announced)
}
