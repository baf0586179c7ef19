//! Jacobi steps of the 3-D Laplace equation: regular, strided, a few large arrays.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "laplace3d";
const TILE: [u32; 3] = [32, 4, 1];
/// Rows start at multiples of this many bytes, as `cudaMallocPitch` would place them.
const ROW_ALIGNMENT_BYTES: u64 = 512;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "LPS: Jacobi steps of the 3-D Laplace equation, marching through z with a tile in shared memory",
    source: include_str!("../../../../workloads/laplace3d/laplace3d.cu"),
    ptx: include_str!("../../../../workloads/laplace3d/laplace3d.ptx"),
    parameters: &[
        Parameter::count(
            "nx",
            100,
            1,
            1 << 16,
            "grid points in x, the contiguous direction",
        ),
        Parameter::count("ny", 100, 1, 1 << 16, "grid points in y"),
        Parameter::count("nz", 100, 1, 1 << 16, "grid points in z"),
        Parameter::count("iterations", 1, 1, 1000, "Jacobi steps, one launch each"),
        SEED,
        READ_RESULTS,
    ],
    build,
};

/// Far beyond any machine; keeps products of sizes from overflowing.
const MAXIMUM_ARRAY_BYTES: u64 = 1 << 38;

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let [nx, ny, nz] = ["nx", "ny", "nz"].map(|name| values.get_u32(name));
    let grid = Grid {
        nx,
        ny,
        nz,
        seed: values.get("seed"),
    };
    values.require(grid.bytes() <= MAXIMUM_ARRAY_BYTES, "nz", || {
        let plane_bytes = grid.bytes() / u64::from(nz);
        format!(
            "1 to {} with planes of {plane_bytes} bytes",
            MAXIMUM_ARRAY_BYTES / plane_bytes
        )
    })?;
    Ok(Box::new(Laplace3d {
        grid,
        iterations: values.get_u32("iterations"),
        read_results: values.flag("read_results"),
    }))
}

/// The points and their values before the first step.
#[derive(Clone, Copy, Debug)]
struct Grid {
    nx: u32,
    ny: u32,
    nz: u32,
    seed: u64,
}

impl Grid {
    fn pitch(&self) -> u64 {
        (u64::from(self.nx) * 4).next_multiple_of(ROW_ALIGNMENT_BYTES) / 4
    }

    fn bytes(&self) -> u64 {
        self.pitch() * 4 * u64::from(self.ny) * u64::from(self.nz)
    }

    fn plane_points(&self) -> usize {
        self.nx as usize * self.ny as usize
    }

    /// Plane `z` before the first step, rows packed.
    fn initial_plane(&self, z: u32) -> Vec<f32> {
        let random = Random::new(self.seed, 0);
        let first = u64::from(z) * self.plane_points() as u64;
        (first..first + self.plane_points() as u64)
            .map(|index| random.unit_f32(index))
            .collect()
    }

    fn write_initial(&self, bytes: &mut [u8]) {
        let row_bytes = self.pitch() as usize * 4;
        for (z, plane_bytes) in
            (0..self.nz).zip(bytes.chunks_exact_mut(row_bytes * self.ny as usize))
        {
            let plane = self.initial_plane(z);
            for (row, values) in plane_bytes
                .chunks_exact_mut(row_bytes)
                .zip(plane.chunks_exact(self.nx as usize))
            {
                fill(&mut row[..values.len() * 4], |x| values[x as usize]);
            }
        }
    }

    /// One Jacobi step for plane `z`, from it and the planes beside it.
    fn step_plane(&self, z: u32, below: &[f32], here: &[f32], above: &[f32]) -> Vec<f32> {
        let (nx, ny) = (self.nx as usize, self.ny as usize);
        let mut next = here.to_vec();
        if z == 0 || z + 1 == self.nz {
            return next;
        }
        for y in 1..ny.saturating_sub(1) {
            for x in 1..nx.saturating_sub(1) {
                let p = y * nx + x;
                let sum =
                    here[p - 1] + here[p + 1] + here[p - nx] + here[p + nx] + below[p] + above[p];
                next[p] = sum * (1.0 / 6.0);
            }
        }
        next
    }
}

/// The planes of the grid after some steps, in order of z. Holds three planes a step instead of two whole grids.
struct Planes {
    grid: Grid,
    next_z: u32,
    before: Option<Box<StepInput>>,
}

/// The planes of the step before: `window` is the plane below the next one, that plane, and the one above.
struct StepInput {
    planes: Planes,
    window: [Vec<f32>; 3],
}

impl Planes {
    fn after(grid: Grid, steps: u32) -> Self {
        let initial = Self {
            grid,
            next_z: 0,
            before: None,
        };
        (0..steps).fold(initial, |mut planes, _| {
            let window = [Vec::new(), Vec::new(), planes.next().unwrap_or_default()];
            Self {
                grid,
                next_z: 0,
                before: Some(Box::new(StepInput { planes, window })),
            }
        })
    }
}

impl Iterator for Planes {
    type Item = Vec<f32>;

    fn next(&mut self) -> Option<Vec<f32>> {
        let z = self.next_z;
        if z == self.grid.nz {
            return None;
        }
        self.next_z += 1;
        let Some(before) = &mut self.before else {
            return Some(self.grid.initial_plane(z));
        };
        before.window.rotate_left(1);
        before.window[2] = before.planes.next().unwrap_or_default();
        let [below, here, above] = &before.window;
        Some(self.grid.step_plane(z, below, here, above))
    }
}

#[derive(Debug)]
struct Laplace3d {
    grid: Grid,
    iterations: u32,
    read_results: bool,
}

impl Workload for Laplace3d {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("laplace3d.ptx", INFO.ptx)?;
        let grid = &self.grid;
        let mut from = input(host, "u1", grid.bytes(), |bytes| grid.write_initial(bytes))?;
        let mut to = host.alloc("u2", grid.bytes())?;

        let blocks = [grid.nx.div_ceil(TILE[0]), grid.ny.div_ceil(TILE[1]), 1];
        let sizes = [grid.nx, grid.ny, grid.nz, grid.pitch() as u32].map(Arg::U32);
        for _ in 0..self.iterations {
            let args = [&[Arg::Buffer(from), Arg::Buffer(to)][..], &sizes].concat();
            host.launch(module, "laplace3d", blocks, TILE, 0, &args)?;
            std::mem::swap(&mut from, &mut to);
        }
        download_results(host, self.read_results, &[from])?;

        let mut check = Check::bit_exact(NAME);
        let rows = host
            .gpu
            .host_bytes(from)
            .chunks_exact(grid.pitch() as usize * 4);
        let expected_rows = Planes::after(*grid, self.iterations).flat_map(|plane| {
            plane
                .chunks_exact(grid.nx as usize)
                .map(<[f32]>::to_vec)
                .collect::<Vec<_>>()
        });
        for (row, (found, expected)) in (0u64..).zip(rows.zip(expected_rows)) {
            for (x, (found, expected)) in (0..).zip(words::<f32>(found).zip(expected)) {
                check.same_bits("u", row * grid.pitch() + x, expected, found)?;
            }
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        2 * self.grid.bytes()
    }
}

#[cfg(test)]
mod tests;
