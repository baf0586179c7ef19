//! An ideal gas on a grid, as in zeusmp (Stone and Norman 1992): pressure pushes, then what is conserved is carried along each axis
//! in turn, from the cell upstream (donor cells).

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "gas-dynamics",
    summary: "an ideal gas that is carried along each axis in turn (like zeusmp)",
    parameters: &[
        Parameter::count(
            "side",
            64,
            2,
            1024,
            "cells along each side of a periodic cube, 80 bytes each",
        ),
        Parameter::count("steps", 1, 1, 100_000, "time steps"),
        SEED,
    ],
    start: |values| {
        let side = values.get_u32("side") as usize;
        Box::new(ProgramStream::new(GasDynamics::new(
            side,
            values.get("steps"),
            values.get("seed"),
        )))
    },
};

/// A fifth of what sound needs for a cell.
const TIME_STEP: f64 = 0.2;

/// Pressure over internal energy, of a gas of single atoms.
const PRESSURE: f64 = 2.0 / 3.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Differences of pressure change momenta.
    Push,
    /// What flows through the lower faces of cells along an axis.
    Flow(usize),
    /// What flowed arrives.
    Carry(usize),
}

#[derive(Debug)]
struct GasDynamics {
    side: usize,
    steps_left: u64,
    pass: Pass,
    density: Array<f64>,
    energy: Array<f64>,
    /// Along each axis, at the lower face of each cell.
    momentum: [Array<f64>; 3],
    /// Of density, energy and momentum through the lower face of each cell.
    flows: [Array<f64>; 5],
}

impl GasDynamics {
    fn new(side: usize, steps: u64, seed: u64) -> Self {
        let mut layout = Layout::new();
        let cells = side * side * side;
        let random = Random::new(seed, 0);
        let mut field = |number: u64, mean: f32| {
            let value =
                |cell: usize| f64::from(mean + random.f32_in(5 * cell as u64 + number, -0.1, 0.1));
            layout.array((0..cells).map(value).collect())
        };
        Self {
            side,
            steps_left: steps,
            pass: Pass::Push,
            density: field(0, 1.0),
            energy: field(1, 1.0),
            momentum: [2, 3, 4].map(|number| field(number, 0.0)),
            flows: [(); 5].map(|()| layout.array(vec![0.0; cells])),
        }
    }

    /// The cell after `cell` along `axis`, around the end.
    fn next(&self, cell: usize, axis: usize) -> usize {
        let stride = self.side.pow(axis as u32);
        if cell / stride % self.side + 1 == self.side {
            cell + stride - self.side * stride
        } else {
            cell + stride
        }
    }

    /// The cell before `cell` along `axis`, around the end.
    fn before(&self, cell: usize, axis: usize) -> usize {
        let stride = self.side.pow(axis as u32);
        if (cell / stride).is_multiple_of(self.side) {
            cell + self.side * stride - stride
        } else {
            cell - stride
        }
    }

    fn push(&mut self, cell: usize, memory: &mut Recorder) {
        for axis in 0..3 {
            let above = self.energy.get(cell, memory);
            let below = self.energy.get(self.before(cell, axis), memory);
            let force = PRESSURE * (below - above);
            self.momentum[axis].update(cell, memory, |momentum| *momentum += TIME_STEP * force);
        }
    }

    fn flow(&mut self, cell: usize, axis: usize, memory: &mut Recorder) {
        let before = self.before(cell, axis);
        let momentum = self.momentum[axis].get(cell, memory);
        let density = self.density.get(before, memory) + self.density.get(cell, memory);
        let speed = 2.0 * momentum / density;
        let upstream = if speed > 0.0 { before } else { cell };
        let [x, y, z] = &self.momentum;
        let carried = [&self.density, &self.energy, x, y, z];
        for (flow, field) in self.flows.iter_mut().zip(carried) {
            let there = field.get(upstream, memory);
            flow.set(cell, TIME_STEP * speed * there, memory);
        }
    }

    fn carry(&mut self, cell: usize, axis: usize, memory: &mut Recorder) {
        let next = self.next(cell, axis);
        let [x, y, z] = &mut self.momentum;
        let carried = [&mut self.density, &mut self.energy, x, y, z];
        for (flow, field) in self.flows.iter().zip(carried) {
            let stays = flow.get(cell, memory) - flow.get(next, memory);
            field.update(cell, memory, |value| *value += stays);
        }
    }
}

impl CpuProgram for GasDynamics {
    fn items(&self) -> usize {
        if self.steps_left == 0 {
            0
        } else {
            self.side.pow(3)
        }
    }

    fn item(&mut self, cell: usize, memory: &mut Recorder) {
        match self.pass {
            Pass::Push => self.push(cell, memory),
            Pass::Flow(axis) => self.flow(cell, axis, memory),
            Pass::Carry(axis) => self.carry(cell, axis, memory),
        }
    }

    fn end_pass(&mut self) {
        self.pass = match self.pass {
            Pass::Push => Pass::Flow(0),
            Pass::Flow(axis) => Pass::Carry(axis),
            Pass::Carry(2) => {
                self.steps_left -= 1;
                Pass::Push
            }
            Pass::Carry(axis) => Pass::Flow(axis + 1),
        };
    }
}

#[cfg(test)]
mod tests;
