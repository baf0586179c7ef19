//! Who makes the reads: thread blocks in lock-step, or warps that run free.

use pagemill_policy::residency::{PatternSpec, Variant, WarpRead, WarpReader};

use super::piece::{Joined, Piece};

/// One thread block in lock-step, or one warp that runs free.
#[derive(Clone, Copy, Debug)]
struct Actor {
    /// The first-level TLB of its SM.
    utlb: u32,
    /// Whether it still has the block's result to write.
    writes_result: bool,
}

/// All actors of a grid. What their warps read next lies in one piece, as steps of different actors follow each other.
#[derive(Clone, Debug)]
pub(super) struct ReaderGrid {
    actors: Vec<Actor>,
    readers: Vec<WarpReader>,
    /// Readers of each actor.
    warps: usize,
    /// Reads of each reader in a step.
    depth: usize,
    result_write: WarpRead,
}

impl ReaderGrid {
    /// The actors of a grid. Blocks are dealt to SMs in turn, as all are resident at once.
    pub(super) fn new(
        pattern: &PatternSpec,
        variant: Variant,
        unrolled_reads: u32,
        utlb_of_block: impl Fn(u32) -> u32,
    ) -> Self {
        let (warps, depth) = match variant {
            // A barrier in each iteration makes a block go as its slowest warp. Without one each warp goes by itself,
            // and has as many reads outstanding as the compiler unrolled.
            Variant::LockStep => (pattern.warps_per_block, 1),
            Variant::FreeRunning => (1, unrolled_reads),
        };
        let warps_of_grid = || {
            let warps = 0..pattern.warps_per_block;
            (0..pattern.blocks).flat_map(move |block| warps.clone().map(move |warp| (block, warp)))
        };
        let first_warps = warps_of_grid().filter(|(_, warp)| warp.is_multiple_of(warps));
        Self {
            actors: first_warps
                .map(|(block, warp)| Actor {
                    utlb: utlb_of_block(block),
                    writes_result: warp == 0,
                })
                .collect(),
            readers: warps_of_grid()
                .map(|(block, warp)| pattern.reader(block, warp))
                .collect(),
            warps: warps as usize,
            depth: depth as usize,
            result_write: pattern.result_write(),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.actors.len() as u32
    }

    /// The first-level TLB of the SM of `actor`.
    #[inline]
    pub(super) fn utlb(&self, actor: u32) -> u32 {
        self.actors[actor as usize].utlb
    }

    /// Makes `access` of each piece of the next step of `actor`, in order, and answers how many reads they are of: none when
    /// it has ended.
    #[inline]
    pub(super) fn next_step(&mut self, actor: u32, access: impl FnMut(Piece)) -> u64 {
        let first = actor as usize * self.warps;
        let mut joined = Joined::new(access);
        let mut reads = 0;
        for reader in &mut self.readers[first..first + self.warps] {
            for _ in 0..self.depth {
                let Some(read) = reader.next() else {
                    break;
                };
                joined.add(read);
                reads += 1;
            }
        }
        let actor = &mut self.actors[actor as usize];
        // As in the published kernel: at the end, thread 0 of each block writes element 0 (ADR 0006).
        if reads == 0 && actor.writes_result {
            actor.writes_result = false;
            joined.add(self.result_write);
            reads = 1;
        }
        joined.end();
        reads
    }
}
