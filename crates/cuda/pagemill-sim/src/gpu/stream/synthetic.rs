//! Access patterns without a program: a function says what each step of each warp does.

use crate::gpu::{GridShape, GridStream, Step};
use std::convert::Infallible;

/// Where in the grid a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpPlace {
    /// Block of the grid.
    pub block: u64,
    /// Warp of the block.
    pub warp: u32,
    /// Steps that this warp has made before.
    pub step: u64,
}

/// A grid whose steps are computed by `F`.
pub struct SyntheticGrid<F> {
    shape: GridShape,
    program: F,
    blocks: Vec<u64>,
    steps: Vec<u64>,
}

impl<F: FnMut(WarpPlace, &mut Step)> SyntheticGrid<F> {
    /// A grid of `shape`. `program` fills in the step at a place; it is given an empty one.
    pub fn new(shape: GridShape, program: F) -> Self {
        Self {
            shape,
            program,
            blocks: Vec::new(),
            steps: Vec::new(),
        }
    }
}

impl<F: FnMut(WarpPlace, &mut Step)> GridStream for SyntheticGrid<F> {
    type Error = Infallible;

    fn shape(&self) -> GridShape {
        self.shape
    }

    fn prepare(&mut self, slots: u32) {
        self.blocks = vec![0; slots as usize];
        self.steps = vec![0; slots as usize * self.shape.warps_per_block as usize];
    }

    fn start_block(&mut self, slot: u32, block: u64) {
        let warps = self.shape.warps_per_block as usize;
        self.blocks[slot as usize] = block;
        self.steps[slot as usize * warps..][..warps].fill(0);
    }

    fn advance(&mut self, slot: u32, warp: u32, step: &mut Step) -> Result<(), Infallible> {
        let index = slot as usize * self.shape.warps_per_block as usize + warp as usize;
        let place = WarpPlace {
            block: self.blocks[slot as usize],
            warp,
            step: self.steps[index],
        };
        self.steps[index] += 1;
        *step = Step::default();
        (self.program)(place, step);
        Ok(())
    }
}
