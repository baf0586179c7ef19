//! Direct Coulomb summation on a grid slice: nearly all arithmetic, each output byte touched once.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "cp";
const BLOCK: [u32; 3] = [16, 8, 1];
const POINTS_PER_THREAD: u32 = 2;
const POINTS_PER_BLOCK_X: u64 = (BLOCK[0] * POINTS_PER_THREAD) as u64;
/// Distance of two grid points. A power of two, so that coordinates are exact in `f32`.
const SPACING: f32 = 0.125;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "Coulomb potential of point charges on a grid slice: arithmetic over a small atom list",
    source: include_str!("../../../../workloads/cp/cp.cu"),
    ptx: include_str!("../../../../workloads/cp/cp.ptx"),
    parameters: &[
        Parameter::count("atoms", 200, 1, 1 << 24, "point charges"),
        Parameter::count("width", 256, 32, 1 << 17, "grid points in x")
            .in_multiples_of(POINTS_PER_BLOCK_X),
        Parameter::count("height", 256, 8, 1 << 17, "grid points in y")
            .in_multiples_of(BLOCK[1] as u64),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let [atoms, width, height] = ["atoms", "width", "height"].map(|name| values.get_u32(name));
    let (seed, read_results) = (values.get("seed"), values.flag("read_results"));
    Ok(Box::new(CoulombPotential {
        atoms,
        width,
        height,
        seed,
        read_results,
    }))
}

#[derive(Debug)]
struct CoulombPotential {
    atoms: u32,
    width: u32,
    height: u32,
    seed: u64,
    read_results: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Atom {
    x: f32,
    y: f32,
    /// Square of the distance from the slice.
    dz2: f32,
    charge: f32,
}

/// The potential of all atoms at a point, and the sum of its terms' magnitudes, which bounds what rounding can do to it.
fn potential(atoms: &[Atom], x: f64, y: f64) -> (f64, f64) {
    atoms.iter().fold((0.0, 0.0), |(sum, magnitude), atom| {
        let (dx, dy) = (x - f64::from(atom.x), y - f64::from(atom.y));
        let term = f64::from(atom.charge) / (dx * dx + dy * dy + f64::from(atom.dz2)).sqrt();
        (sum + term, magnitude + term.abs())
    })
}

impl CoulombPotential {
    fn energy_bytes(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height) * 4
    }

    fn atom(&self, index: u64) -> Atom {
        let random = |stream| Random::new(self.seed, stream);
        let distance = random(2).f32_in(index, 0.5, 4.0);
        Atom {
            x: random(0).f32_in(index, 0.0, self.width as f32 * SPACING),
            y: random(1).f32_in(index, 0.0, self.height as f32 * SPACING),
            dz2: distance * distance,
            charge: random(3).f32_in(index, -1.0, 1.0),
        }
    }

    /// Rounding of a running sum, of each term's operations, and of `rsqrt`, in units of the terms' magnitude.
    fn tolerance(&self) -> f64 {
        f64::from(self.atoms + 16) * f64::from(f32::EPSILON)
    }
}

impl Workload for CoulombPotential {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("cp.ptx", INFO.ptx)?;
        let atoms: Vec<Atom> = (0..u64::from(self.atoms))
            .map(|index| self.atom(index))
            .collect();
        let atom_buffer = input(host, "atoms", u64::from(self.atoms) * 16, |bytes| {
            fill(bytes, |word| {
                let atom = atoms[word as usize / 4];
                [atom.x, atom.y, atom.dz2, atom.charge][word as usize % 4]
            });
        })?;
        let energy = host.alloc("energy", self.energy_bytes())?;

        let grid = [
            self.width / (BLOCK[0] * POINTS_PER_THREAD),
            self.height / BLOCK[1],
            1,
        ];
        let args = [
            Arg::Buffer(atom_buffer),
            Arg::U32(self.atoms),
            Arg::F32(SPACING),
            Arg::Buffer(energy),
            Arg::U32(self.width),
        ];
        host.launch(module, "coulomb_potential", grid, BLOCK, 0, &args)?;
        download_results(host, self.read_results, &[energy])?;

        let mut check = Check::within(NAME, self.tolerance());
        for (index, found) in (0..).zip(words::<f32>(host.gpu.host_bytes(energy))) {
            let (row, column) = (index / u64::from(self.width), index % u64::from(self.width));
            let spacing = f64::from(SPACING);
            let (expected, magnitude) =
                potential(&atoms, column as f64 * spacing, row as f64 * spacing);
            check.close("energy", index, expected, found, magnitude)?;
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        u64::from(self.atoms) * 16 + self.energy_bytes()
    }
}

#[cfg(test)]
mod tests;
