//! Particles that attract and repel each other (Lennard-Jones), in cells as wide as the force reaches, as in gromacs: few data
//! and much arithmetic.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "molecular-dynamics",
    summary: "particles with short forces: a small footprint (like gromacs)",
    parameters: &[
        Parameter::count(
            "cells",
            6,
            3,
            128,
            "cells along each side of a periodic cube, 4 particles of 72 bytes in each",
        ),
        Parameter::count("steps", 24, 1, 1_000_000, "time steps"),
        SEED,
    ],
    start: |values| {
        let cells = values.get_u32("cells") as usize;
        Box::new(ProgramStream::new(MolecularDynamics::new(
            cells,
            values.get("steps"),
            values.get("seed"),
        )))
    },
};

/// Particles of a cell at the start; they stay listed in it while they move around their places.
const IN_CELL: usize = 4;

const TIME_STEP: f64 = 0.0005;

type Vector = [f64; 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Forces,
    Move,
    Done,
}

#[derive(Debug)]
struct MolecularDynamics {
    cells: usize,
    /// Of a cube, in units of the force's length; a cell is 1.7 wide.
    width: f64,
    places: Array<Vector>,
    velocities: Array<Vector>,
    forces: Array<Vector>,
    pass: Pass,
    steps_left: u64,
}

impl MolecularDynamics {
    fn new(cells: usize, steps: u64, seed: u64) -> Self {
        const CELL: f64 = 1.7;
        let random = Random::new(seed, 0);
        let mut layout = Layout::new();
        let particles = cells.pow(3) * IN_CELL;
        // A face-centered lattice, slightly disturbed.
        let place = |number: usize| {
            let (cell, corner) = (number / IN_CELL, number % IN_CELL);
            let at = [cell % cells, cell / cells % cells, cell / cells / cells];
            std::array::from_fn(|axis| {
                let is_half = corner > 0 && corner - 1 != axis;
                let jitter = random.f32_in((3 * number + axis) as u64, -0.05, 0.05);
                (at[axis] as f64 + if is_half { 0.75 } else { 0.25 }) * CELL + f64::from(jitter)
            })
        };
        Self {
            cells,
            width: cells as f64 * CELL,
            places: layout.array((0..particles).map(place).collect()),
            velocities: layout.array(vec![[0.0; 3]; particles]),
            forces: layout.array(vec![[0.0; 3]; particles]),
            pass: Pass::Forces,
            steps_left: steps,
        }
    }

    /// From one place to the nearest image of another.
    fn between(&self, from: Vector, to: Vector) -> Vector {
        std::array::from_fn(|axis| {
            let far = to[axis] - from[axis];
            far - self.width * (far / self.width).round()
        })
    }

    /// The forces on the particles of `cell`, from its own and from those around it.
    fn forces(&mut self, cell: usize, memory: &mut Recorder) {
        for particle in cell * IN_CELL..(cell + 1) * IN_CELL {
            let here = self.places.get(particle, memory);
            let mut sum = [0.0; 3];
            for neighbor in 0..27 {
                let first = self.neighbor(cell, neighbor) * IN_CELL;
                for other in first..first + IN_CELL {
                    let there = self.places.get(other, memory);
                    if other != particle {
                        add_force(&mut sum, self.between(here, there));
                    }
                }
            }
            self.forces.set(particle, sum, memory);
        }
    }

    fn neighbor(&self, cell: usize, number: usize) -> usize {
        let cells = self.cells;
        let wrap = |place: usize, step: usize| (place + cells + step - 1) % cells;
        let x = wrap(cell % cells, number % 3);
        let y = wrap(cell / cells % cells, number / 3 % 3);
        let z = wrap(cell / cells / cells, number / 9);
        x + cells * (y + cells * z)
    }
}

/// Adds the force of a neighbor that is `far` away; beyond a cell it is nothing.
fn add_force(sum: &mut Vector, far: Vector) {
    let distance2: f64 = far.iter().map(|part| part * part).sum();
    if distance2 > 1.7 * 1.7 {
        return;
    }
    let inverse6 = distance2.powi(-3);
    let pull = 24.0 * inverse6 * (1.0 - 2.0 * inverse6) / distance2;
    for (sum, part) in sum.iter_mut().zip(far) {
        *sum += pull * part;
    }
}

impl CpuProgram for MolecularDynamics {
    fn items(&self) -> usize {
        match self.pass {
            Pass::Forces => self.cells.pow(3),
            Pass::Move => self.places.len(),
            Pass::Done => 0,
        }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        if self.pass == Pass::Forces {
            self.forces(index, memory);
            return;
        }
        let force = self.forces.get(index, memory);
        let mut velocity = self.velocities.get(index, memory);
        for (part, force) in velocity.iter_mut().zip(force) {
            *part += TIME_STEP * force;
        }
        self.velocities.set(index, velocity, memory);
        self.places.update(index, memory, |place| {
            for (part, speed) in place.iter_mut().zip(velocity) {
                *part += TIME_STEP * speed;
            }
        });
    }

    fn end_pass(&mut self) {
        self.pass = match self.pass {
            Pass::Forces => Pass::Move,
            Pass::Move => {
                self.steps_left -= 1;
                if self.steps_left == 0 {
                    Pass::Done
                } else {
                    Pass::Forces
                }
            }
            Pass::Done => Pass::Done,
        };
    }
}

#[cfg(test)]
mod tests;
