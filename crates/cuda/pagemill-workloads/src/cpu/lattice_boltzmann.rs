//! Lattice Boltzmann in three dimensions with 19 velocities (D3Q19, one relaxation time), as in lbm: every cell collides and
//! pushes its distributions to its neighbors, from one grid to another.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "lattice-boltzmann",
    summary: "lattice Boltzmann, 19 velocities: streams through two grids (like lbm)",
    parameters: &[
        Parameter::count(
            "side",
            20,
            2,
            512,
            "cells along each side of a periodic channel, 320 bytes each",
        ),
        Parameter::count("length", 96, 2, 4096, "cells along the channel"),
        Parameter::count("steps", 5, 1, 100_000, "time steps"),
        SEED,
    ],
    start: |values| {
        let size = ["side", "length"].map(|name| values.get_u32(name) as usize);
        let (steps, seed) = (values.get("steps"), values.get("seed"));
        Box::new(ProgramStream::new(LatticeBoltzmann::new(size, steps, seed)))
    },
};

const VELOCITIES: usize = 19;

/// Doubles of a cell: its distributions and room for its flags.
const CELL: usize = 20;

/// The velocities: rest, six along axes, twelve along diagonals of faces.
const DIRECTIONS: [[i8; 3]; VELOCITIES] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

const RELAXATION: f64 = 1.0 / 0.6;

fn weight(velocity: usize) -> f64 {
    match velocity {
        0 => 1.0 / 3.0,
        1..=6 => 1.0 / 18.0,
        _ => 1.0 / 36.0,
    }
}

#[derive(Debug)]
struct LatticeBoltzmann {
    side: usize,
    length: usize,
    steps_left: u64,
    from: Array<f64>,
    to: Array<f64>,
}

impl LatticeBoltzmann {
    fn new([side, length]: [usize; 2], steps: u64, seed: u64) -> Self {
        let mut layout = Layout::new();
        let cells = side * side * length;
        let random = Random::new(seed, 0);
        let start = |place: usize| match place % CELL {
            velocity @ 0..VELOCITIES => {
                weight(velocity) * f64::from(random.f32_in(place as u64, 0.9, 1.1))
            }
            _ => 0.0,
        };
        Self {
            side,
            length,
            steps_left: steps,
            from: layout.array((0..cells * CELL).map(start).collect()),
            to: layout.array(vec![0.0; cells * CELL]),
        }
    }

    /// The neighbor of `cell` in the direction of `velocity`, around the ends.
    fn neighbor(&self, cell: usize, velocity: usize) -> usize {
        let side = self.side;
        let place = [cell % side, cell / side % side, cell / side / side];
        let ends = [side, side, self.length];
        let moved = |axis: usize| {
            let to = place[axis] as isize + DIRECTIONS[velocity][axis] as isize;
            to.rem_euclid(ends[axis] as isize) as usize
        };
        moved(0) + side * (moved(1) + side * moved(2))
    }
}

/// What distributions become when they meet: all but their density and momentum relaxes.
fn collide(distributions: &mut [f64; VELOCITIES]) {
    let density: f64 = distributions.iter().sum();
    let flow: [f64; 3] = std::array::from_fn(|axis| {
        let parts = distributions.iter().zip(DIRECTIONS);
        parts
            .map(|(part, direction)| part * f64::from(direction[axis]))
            .sum::<f64>()
            / density
    });
    let speed2: f64 = flow.iter().map(|part| part * part).sum();
    for (velocity, part) in distributions.iter_mut().enumerate() {
        let along: f64 = (0..3)
            .map(|axis| f64::from(DIRECTIONS[velocity][axis]) * flow[axis])
            .sum();
        let even =
            weight(velocity) * density * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * speed2);
        *part += RELAXATION * (even - *part);
    }
}

impl CpuProgram for LatticeBoltzmann {
    fn items(&self) -> usize {
        if self.steps_left == 0 {
            0
        } else {
            self.side * self.side * self.length
        }
    }

    fn item(&mut self, cell: usize, memory: &mut Recorder) {
        let mut distributions =
            std::array::from_fn(|velocity| self.from.get(cell * CELL + velocity, memory));
        collide(&mut distributions);
        for (velocity, part) in distributions.into_iter().enumerate() {
            let neighbor = self.neighbor(cell, velocity);
            self.to.set(neighbor * CELL + velocity, part, memory);
        }
    }

    fn end_pass(&mut self) {
        std::mem::swap(&mut self.from, &mut self.to);
        self.steps_left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn mass_stays_and_differences_even_out() {
        let mass = |program: &LatticeBoltzmann| program.from.values().iter().sum::<f64>();
        let spread = |program: &LatticeBoltzmann| {
            let cells = program
                .from
                .values()
                .chunks(CELL)
                .map(|cell| cell.iter().sum::<f64>());
            cells
                .map(|density| (density - 1.0).abs())
                .fold(0.0, f64::max)
        };
        let mut program = LatticeBoltzmann::new([5, 5], 300, 3);
        let (mass_before, spread_before) = (mass(&program), spread(&program));
        let references = run_to_end(&mut program);
        assert!((mass(&program) - mass_before).abs() < 1e-9);
        assert!(spread(&program) < 0.5 * spread_before);
        assert_eq!(references.len(), 300 * 125 * 38);
    }
}
