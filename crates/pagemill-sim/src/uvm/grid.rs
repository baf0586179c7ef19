//! Who makes the reads: thread blocks in lock-step, or warps that run free.

use pagemill_policy::residency::{PatternSpec, Variant, WarpRead, WarpReader};

/// One thread block in lock-step, or one warp that runs free.
#[derive(Clone, Debug)]
pub(super) struct Actor {
    readers: Vec<WarpReader>,
    /// Reads of each reader in a step.
    depth: u32,
    result_write: Option<WarpRead>,
    /// The first-level TLB of its SM.
    pub utlb: u32,
}

impl Actor {
    /// Appends the reads of the next step to `reads`; none is appended when the actor has ended.
    #[inline]
    pub(super) fn next_step(&mut self, reads: &mut Vec<WarpRead>) {
        for reader in &mut self.readers {
            reads.extend(reader.by_ref().take(self.depth as usize));
        }
        if reads.is_empty() {
            reads.extend(self.result_write.take());
        }
    }
}

/// The actors of a grid. Blocks are dealt to SMs in turn, as all are resident at once.
pub(super) fn actors(
    pattern: &PatternSpec,
    variant: Variant,
    unrolled_reads: u32,
    utlb_of_block: impl Fn(u32) -> u32,
) -> Vec<Actor> {
    let actor = |block, warps: std::ops::Range<u32>, depth| Actor {
        result_write: (warps.start == 0).then(|| pattern.result_write()),
        readers: warps.map(|warp| pattern.reader(block, warp)).collect(),
        depth,
        utlb: utlb_of_block(block),
    };
    let of_block = |block| match variant {
        Variant::LockStep => vec![actor(block, 0..pattern.warps_per_block, 1)],
        Variant::FreeRunning => (0..pattern.warps_per_block)
            .map(|warp| actor(block, warp..warp + 1, unrolled_reads))
            .collect(),
    };
    (0..pattern.blocks).flat_map(of_block).collect()
}
