//! Charged atoms in patches, as in namd: lists of pairs that are near, made once for several steps, and forces from these lists on both
//! atoms of a pair.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "patch-dynamics",
    summary: "charged atoms in patches, with lists of near pairs (like namd)",
    parameters: &[
        Parameter::count(
            "patches",
            3,
            3,
            64,
            "patches along each side of a periodic cube, 64 atoms of 80 bytes in each",
        ),
        Parameter::count("steps", 8, 1, 1_000_000, "time steps; lists serve for 4"),
        SEED,
    ],
    start: |values| {
        let patches = values.get_u32("patches") as usize;
        Box::new(ProgramStream::new(PatchDynamics::new(
            patches,
            values.get("steps"),
            values.get("seed"),
        )))
    },
};

/// Atoms along each side of a patch.
const IN_SIDE: usize = 4;

const IN_PATCH: usize = IN_SIDE * IN_SIDE * IN_SIDE;

/// A patch and those that it meets first: itself and half of its neighbors.
const MEETINGS: usize = 14;

/// In units of the space between atoms. Atoms do not move further between lists than these reach beyond forces.
const FORCE_REACH: f64 = 3.6;
const LIST_REACH: f64 = IN_SIDE as f64;

/// Atoms of a patch that an atom can have in its list, on average: more than a ball of that reach holds of the cube around it.
const NEAR_MAX: usize = IN_PATCH / 4;

const TIME_STEP: f64 = 0.001;

const STEPS_OF_A_LIST: u64 = 4;

type Vector = [f64; 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Lists,
    Forces,
    Move,
}

#[derive(Debug)]
struct PatchDynamics {
    patches: usize,
    steps_left: u64,
    pass: Pass,
    /// Where an atom is, and its charge.
    atoms: Array<[f64; 4]>,
    velocities: Array<Vector>,
    forces: Array<Vector>,
    /// For each meeting of patches, for each atom of the first, how many of the second are near; then which.
    near: Array<u16>,
    /// Where the list of each meeting starts.
    starts: Vec<usize>,
    /// Where the last list ends.
    end: usize,
}

impl PatchDynamics {
    fn new(patches: usize, steps: u64, seed: u64) -> Self {
        let mut layout = Layout::new();
        let random = Random::new(seed, 0);
        let atom = |number: usize| {
            let (patch, inside) = (number / IN_PATCH, number % IN_PATCH);
            let of_patch = coordinates(patch, patches);
            let of_atom = coordinates(inside, IN_SIDE);
            let place: Vector = std::array::from_fn(|axis| {
                let jitter = random.f32_in((3 * number + axis) as u64, -0.05, 0.05);
                (of_patch[axis] * IN_SIDE + of_atom[axis]) as f64 + 0.5 + f64::from(jitter)
            });
            let is_positive = of_atom.iter().sum::<usize>().is_multiple_of(2);
            let charge = if is_positive { 0.5 } else { -0.5 };
            [place[0], place[1], place[2], charge]
        };
        let count = patches.pow(3) * IN_PATCH;
        Self {
            patches,
            steps_left: steps,
            pass: Pass::Lists,
            atoms: layout.array((0..count).map(atom).collect()),
            velocities: layout.array(vec![[0.0; 3]; count]),
            forces: layout.array(vec![[0.0; 3]; count]),
            near: layout.array(vec![0; count * MEETINGS * (1 + NEAR_MAX)]),
            starts: vec![0; patches.pow(3) * MEETINGS],
            end: 0,
        }
    }

    /// Which patches meet: the first, and what is near it.
    fn meeting(&self, number: usize) -> (usize, usize) {
        let (first, which) = (number / MEETINGS, number % MEETINGS);
        // Of the 27 patches around, the one in the middle and those after it.
        let step = coordinates(13 + which, 3);
        let place = coordinates(first, self.patches);
        let wrap = |axis: usize| (place[axis] + self.patches + step[axis] - 1) % self.patches;
        (
            first,
            wrap(0) + self.patches * (wrap(1) + self.patches * wrap(2)),
        )
    }

    /// From one atom to the nearest image of another.
    fn between(&self, from: &[f64; 4], to: &[f64; 4]) -> Vector {
        let width = (self.patches * IN_SIDE) as f64;
        std::array::from_fn(|axis| {
            let far = to[axis] - from[axis];
            far - width * (far / width).round()
        })
    }

    /// Writes the list of a meeting, after that of the one before.
    fn list(&mut self, number: usize, memory: &mut Recorder) {
        if number == 0 {
            self.end = 0;
        }
        self.starts[number] = self.end;
        let (first, second) = self.meeting(number);
        for from in 0..IN_PATCH {
            let atom = first * IN_PATCH + from;
            let here = self.atoms.get(atom, memory);
            let start = self.end;
            for to in if first == second { from + 1 } else { 0 }..IN_PATCH {
                let there = self.atoms.get(second * IN_PATCH + to, memory);
                let is_near = square(self.between(&here, &there)) < LIST_REACH * LIST_REACH;
                if is_near && self.end + 1 < self.near.len() {
                    self.end += 1;
                    self.near.set(self.end, to as u16, memory);
                }
            }
            self.near.set(start, (self.end - start) as u16, memory);
            self.end += 1;
        }
    }

    fn forces(&mut self, number: usize, memory: &mut Recorder) {
        let (first, second) = self.meeting(number);
        let mut at = self.starts[number];
        for from in first * IN_PATCH..(first + 1) * IN_PATCH {
            let count = usize::from(self.near.get(at, memory));
            let here = self.atoms.get(from, memory);
            let mut sum = [0.0; 3];
            for place in at + 1..=at + count {
                let to = second * IN_PATCH + usize::from(self.near.get(place, memory));
                let there = self.atoms.get(to, memory);
                let far = self.between(&here, &there);
                let strength = strength(square(far), here[3] * there[3]);
                let pull = far.map(|part| part * strength);
                add(&mut sum, pull);
                self.forces
                    .update(to, memory, |force| add(force, pull.map(|part| -part)));
            }
            self.forces.update(from, memory, |force| add(force, sum));
            at += 1 + count;
        }
    }

    fn advance(&mut self, atom: usize, memory: &mut Recorder) {
        let force = self.forces.get(atom, memory);
        self.forces.set(atom, [0.0; 3], memory);
        let mut velocity = self.velocities.get(atom, memory);
        add(&mut velocity, force.map(|part| TIME_STEP * part));
        self.velocities.set(atom, velocity, memory);
        self.atoms.update(atom, memory, |atom| {
            for (part, speed) in atom.iter_mut().zip(velocity) {
                *part += TIME_STEP * speed;
            }
        });
    }
}

/// The place of cell `number` in a cube of `side` cells along each side.
fn coordinates(number: usize, side: usize) -> [usize; 3] {
    [number % side, number / side % side, number / side / side]
}

fn square(far: Vector) -> f64 {
    far.iter().map(|part| part * part).sum()
}

fn add(sum: &mut Vector, part: Vector) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}

/// Force over distance, towards the other: Lennard-Jones and Coulomb, nothing beyond their reach.
fn strength(distance2: f64, charges: f64) -> f64 {
    if distance2 > FORCE_REACH * FORCE_REACH {
        return 0.0;
    }
    let inverse6 = 0.5 * distance2.powi(-3);
    let shells = 24.0 * inverse6 * (1.0 - 2.0 * inverse6) / distance2;
    shells - charges / (distance2 * distance2.sqrt())
}

impl CpuProgram for PatchDynamics {
    fn items(&self) -> usize {
        match self.pass {
            _ if self.steps_left == 0 => 0,
            Pass::Lists | Pass::Forces => self.starts.len(),
            Pass::Move => self.atoms.len(),
        }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        match self.pass {
            Pass::Lists => self.list(index, memory),
            Pass::Forces => self.forces(index, memory),
            Pass::Move => self.advance(index, memory),
        }
    }

    fn end_pass(&mut self) {
        self.pass = match self.pass {
            Pass::Lists => Pass::Forces,
            Pass::Forces => Pass::Move,
            Pass::Move => {
                self.steps_left -= 1;
                if self.steps_left.is_multiple_of(STEPS_OF_A_LIST) {
                    Pass::Lists
                } else {
                    Pass::Forces
                }
            }
        };
    }
}

#[cfg(test)]
mod tests;
