//! Conjugate gradients for a Laplacian that is never stored, as in bwaves: the operator is a stencil, the rest are sweeps over
//! vectors.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "conjugate-gradient",
    summary: "matrix-free conjugate gradients: sweeps over long vectors (like bwaves)",
    parameters: &[
        Parameter::count(
            "side",
            88,
            2,
            1024,
            "points along each side of a cube, 32 bytes each",
        ),
        Parameter::count("iterations", 2, 1, 100_000, "steps of the solver"),
        SEED,
    ],
    start: |values| {
        let side = values.get_u32("side") as usize;
        Box::new(ProgramStream::new(ConjugateGradient::new(
            side,
            values.get("iterations"),
            values.get("seed"),
        )))
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// The operator on the direction, and their product.
    Apply,
    /// The step along the direction, and what remains.
    Advance,
    /// The next direction.
    Turn,
}

#[derive(Debug)]
struct ConjugateGradient {
    side: usize,
    iterations_left: u64,
    solution: Array<f64>,
    remainder: Array<f64>,
    direction: Array<f64>,
    applied: Array<f64>,
    pass: Pass,
    /// Sums of the pass: direction x applied, and remainder x remainder before and after.
    product: f64,
    squares: f64,
    next_squares: f64,
}

impl ConjugateGradient {
    fn new(side: usize, iterations: u64, seed: u64) -> Self {
        let mut layout = Layout::new();
        let points = side * side * side;
        let random = Random::new(seed, 0);
        let wanted: Vec<f64> = (0..points)
            .map(|point| f64::from(random.f32_in(point as u64, -1.0, 1.0)))
            .collect();
        Self {
            side,
            iterations_left: iterations,
            squares: wanted.iter().map(|value| value * value).sum(),
            solution: layout.array(vec![0.0; points]),
            remainder: layout.array(wanted.clone()),
            direction: layout.array(wanted),
            applied: layout.array(vec![0.0; points]),
            pass: Pass::Apply,
            product: 0.0,
            next_squares: 0.0,
        }
    }

    /// Six times the point less its neighbors; outside is 0.
    fn apply(&mut self, point: usize, memory: &mut Recorder) {
        let here = self.direction.get(point, memory);
        let mut sum = 6.0 * here;
        for axis in 0..3 {
            let stride = self.side.pow(axis);
            let place = point / stride % self.side;
            if place > 0 {
                sum -= self.direction.get(point - stride, memory);
            }
            if place + 1 < self.side {
                sum -= self.direction.get(point + stride, memory);
            }
        }
        self.applied.set(point, sum, memory);
        self.product += here * sum;
    }

    fn advance(&mut self, point: usize, memory: &mut Recorder) {
        let length = self.squares / self.product;
        let along = self.direction.get(point, memory);
        self.solution
            .update(point, memory, |value| *value += length * along);
        let remainder =
            self.remainder.get(point, memory) - length * self.applied.get(point, memory);
        self.remainder.set(point, remainder, memory);
        self.next_squares += remainder * remainder;
    }

    fn turn(&mut self, point: usize, memory: &mut Recorder) {
        let remainder = self.remainder.get(point, memory);
        let share = self.next_squares / self.squares;
        self.direction
            .update(point, memory, |value| *value = remainder + share * *value);
    }
}

impl CpuProgram for ConjugateGradient {
    fn items(&self) -> usize {
        if self.iterations_left == 0 {
            0
        } else {
            self.side.pow(3)
        }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        match self.pass {
            Pass::Apply => self.apply(index, memory),
            Pass::Advance => self.advance(index, memory),
            Pass::Turn => self.turn(index, memory),
        }
    }

    fn end_pass(&mut self) {
        self.pass = match self.pass {
            Pass::Apply => Pass::Advance,
            Pass::Advance => Pass::Turn,
            Pass::Turn => {
                self.squares = self.next_squares;
                (self.product, self.next_squares) = (0.0, 0.0);
                // Solved: what remains is nothing, and no direction is left.
                self.iterations_left = if self.squares == 0.0 {
                    0
                } else {
                    self.iterations_left - 1
                };
                Pass::Apply
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn the_solution_solves() {
        let mut program = ConjugateGradient::new(7, 80, 2);
        let wanted = program.remainder.values().to_vec();
        run_to_end(&mut program);
        // The operator on the solution, by hand.
        let solution = program.solution.values().to_vec();
        let mut check = ConjugateGradient::new(7, 1, 2);
        let mut layout = Layout::new();
        check.direction = layout.array(solution);
        (0..343).for_each(|point| check.apply(point, &mut Recorder::default()));
        for (found, wanted) in check.applied.values().iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
        }
    }
}
