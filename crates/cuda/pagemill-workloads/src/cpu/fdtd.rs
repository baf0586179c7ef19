//! Maxwell's equations on a staggered grid (Yee 1966), as in GemsFDTD: magnetic and electric fields in turn, each from the
//! differences of the other.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "fdtd",
    summary: "electromagnetic fields on a staggered grid (like GemsFDTD)",
    parameters: &[
        Parameter::count(
            "side",
            52,
            2,
            1024,
            "cells along each side of a periodic cube, 48 bytes each",
        ),
        Parameter::count("steps", 3, 1, 100_000, "time steps"),
        SEED,
    ],
    start: |values| {
        let side = values.get_u32("side") as usize;
        Box::new(ProgramStream::new(Fdtd::new(
            side,
            values.get("steps"),
            values.get("seed"),
        )))
    },
};

/// Half of what is stable, in units of a cell over the speed of light.
const TIME_STEP: f64 = 0.28;

#[derive(Debug)]
struct Fdtd {
    side: usize,
    /// Half steps that are left: even before magnetic fields change.
    half_steps_left: u64,
    electric: [Array<f64>; 3],
    magnetic: [Array<f64>; 3],
}

impl Fdtd {
    fn new(side: usize, steps: u64, seed: u64) -> Self {
        let mut layout = Layout::new();
        let cells = side * side * side;
        let random = Random::new(seed, 0);
        let mut field = |axis: u64, scale: f32| {
            let value =
                |cell: usize| f64::from(scale * random.f32_in(3 * cell as u64 + axis, -1.0, 1.0));
            layout.array((0..cells).map(value).collect())
        };
        Self {
            side,
            half_steps_left: 2 * steps,
            electric: [0, 1, 2].map(|axis| field(axis, 1.0)),
            magnetic: [0, 1, 2].map(|axis| field(axis, 0.0)),
        }
    }

    /// The next cell after `cell` along `axis`, or the one before it; around the ends.
    fn neighbor(&self, cell: usize, axis: usize, is_next: bool) -> usize {
        let side = self.side;
        let stride = side.pow(axis as u32);
        let place = cell / stride % side;
        match (is_next, place) {
            (true, place) if place + 1 == side => cell - place * stride,
            (true, _) => cell + stride,
            (false, 0) => cell + (side - 1) * stride,
            (false, _) => cell - stride,
        }
    }

    /// The curl of one field at `cell`, along `axis`.
    fn curl(&self, of_electric: bool, cell: usize, axis: usize, memory: &mut Recorder) -> f64 {
        let field = if of_electric {
            &self.electric
        } else {
            &self.magnetic
        };
        let (second, third) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut difference = |component: usize, along: usize| {
            let here = field[component].get(cell, memory);
            let there = field[component].get(self.neighbor(cell, along, of_electric), memory);
            if of_electric {
                there - here
            } else {
                here - there
            }
        };
        difference(third, second) - difference(second, third)
    }
}

impl CpuProgram for Fdtd {
    fn items(&self) -> usize {
        if self.half_steps_left == 0 {
            0
        } else {
            self.side.pow(3)
        }
    }

    fn item(&mut self, cell: usize, memory: &mut Recorder) {
        let is_magnetic = self.half_steps_left.is_multiple_of(2);
        for axis in 0..3 {
            let curl = self.curl(is_magnetic, cell, axis, memory);
            let (field, sign) = if is_magnetic {
                (&mut self.magnetic, -1.0)
            } else {
                (&mut self.electric, 1.0)
            };
            field[axis].update(cell, memory, |value| *value += sign * TIME_STEP * curl);
        }
    }

    fn end_pass(&mut self) {
        self.half_steps_left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn energy_stays_bounded_and_magnetic_charge_stays_zero() {
        let energy = |program: &Fdtd| {
            let fields = program.electric.iter().chain(&program.magnetic);
            fields
                .flat_map(|field| field.values())
                .map(|value| value * value)
                .sum::<f64>()
        };
        let mut program = Fdtd::new(6, 400, 5);
        let before = energy(&program);
        run_to_end(&mut program);
        assert!((0.2..2.0).contains(&(energy(&program) / before)));
        for cell in 0..216 {
            let out: f64 = (0..3)
                .map(|axis| {
                    let field = program.magnetic[axis].values();
                    field[program.neighbor(cell, axis, true)] - field[cell]
                })
                .sum();
            assert!(out.abs() < 1e-9, "{out} at {cell}");
        }
    }
}
