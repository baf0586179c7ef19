//! What instructions cost, as the timing model sees it. The executor only adds the numbers up.

use crate::program::kernel::Kernel;
use pagemill_ptx_ir::info::{InstructionInfo, Prefix};

/// Per-instruction costs of one kernel, as prefix sums, so that straight-line code costs nothing to account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionCosts {
    pub(crate) prefix: Vec<Prefix>,
}

impl InstructionCosts {
    /// Asks `cost` for (issue cycles, latency cycles) of each instruction of `kernel`, in order.
    pub fn new(
        kernel: &Kernel,
        mut cost: impl FnMut(usize, &InstructionInfo) -> (u32, u32),
    ) -> Self {
        let mut sum = Prefix::default();
        let mut prefix = vec![sum];
        for (index, info) in kernel.instructions().iter().enumerate() {
            let (issue, latency) = cost(index, info);
            sum = Prefix {
                issue: sum.issue + u64::from(issue),
                latency: sum.latency + u64::from(latency),
            };
            prefix.push(sum);
        }
        Self { prefix }
    }
}
