//! Finite differences in time of a field in two dimensions: three arrays, swept in order again and again.

use pagemill_sim::{Arg, Buffer, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "fdtd-2d";
const CELL_BYTES: u64 = 4;
const BLOCK: [u32; 3] = [32, 8, 1];
/// Sums in another order of rounding; values stay near 1.
const TOLERANCE: f64 = 1e-5;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "finite differences in time of a field in two dimensions, three kernels a step",
    source: include_str!("../../../../workloads/fdtd-2d/fdtd-2d.cu"),
    ptx: include_str!("../../../../workloads/fdtd-2d/fdtd-2d.ptx"),
    parameters: &[
        Parameter::count("size", 1200, 2, 1 << 14, "rows and columns of the grid"),
        Parameter::count("steps", 5, 1, 1 << 16, "steps in time"),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(Fdtd2d {
        size: values.get("size"),
        steps: values.get_u32("steps"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Fdtd2d {
    size: u64,
    steps: u32,
    seed: u64,
    read_results: bool,
}

/// The arrays, as the CPU computes them.
struct Field {
    size: usize,
    source: Vec<f32>,
    ex: Vec<f32>,
    ey: Vec<f32>,
    hz: Vec<f32>,
}

impl Field {
    fn step(&mut self, step: usize) {
        let size = self.size;
        let (ex, ey, hz) = (&mut self.ex, &mut self.ey, &mut self.hz);
        for at in 0..size * size {
            ey[at] = match at < size {
                true => self.source[step],
                false => (hz[at] - hz[at - size]).mul_add(-0.5, ey[at]),
            };
        }
        for at in (0..size * size).filter(|at| at % size > 0) {
            let wide = at + at / size;
            ex[wide] = (hz[at] - hz[at - 1]).mul_add(-0.5, ex[wide]);
        }
        for at in 0..size * size {
            let wide = at + at / size;
            let change = ex[wide + 1] - ex[wide] + ey[at + size] - ey[at];
            hz[at] = change.mul_add(-0.7, hz[at]);
        }
    }
}

impl Fdtd2d {
    /// Values from 0 to 1 of an array of `count` cells.
    fn cells(&self, array: u64, count: u64) -> Vec<f32> {
        let random = Random::new(self.seed, array);
        let cell = |index| random.below(index, 1 << 10) as f32 / 1024.0;
        (0..count).map(cell).collect()
    }

    fn field(&self) -> Field {
        let size = self.size;
        Field {
            size: size as usize,
            source: self.cells(0, self.steps.into()),
            ex: self.cells(1, size * (size + 1)),
            ey: self.cells(2, size * (size + 1)),
            hz: self.cells(3, size * size),
        }
    }

    fn launch(&self, host: &mut Host, buffers: [Buffer; 4]) -> Result<(), WorkloadError> {
        let module = host.gpu.load_module("fdtd-2d.ptx", INFO.ptx)?;
        let [source, ex, ey, hz] = buffers.map(Arg::Buffer);
        let size = Arg::U32(self.size as u32);
        let blocks = |threads: u32| (self.size as u32).div_ceil(threads);
        let grid = [blocks(BLOCK[0]), blocks(BLOCK[1]), 1];
        for step in 0..self.steps {
            let of_ey = [source, ey, hz, size, Arg::U32(step)];
            host.launch(module, "fdtd_ey", grid, BLOCK, 0, &of_ey)?;
            host.launch(module, "fdtd_ex", grid, BLOCK, 0, &[ex, hz, size])?;
            host.launch(module, "fdtd_hz", grid, BLOCK, 0, &[ex, ey, hz, size])?;
        }
        Ok(())
    }
}

impl Workload for Fdtd2d {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let mut field = self.field();
        let mut array = |name, cells: &[f32]| {
            input(host, name, CELL_BYTES * cells.len() as u64, |bytes| {
                fill(bytes, |index| cells[index as usize])
            })
        };
        let source = array("source", &field.source)?;
        let ex = array("ex", &field.ex)?;
        let ey = array("ey", &field.ey)?;
        let hz = array("hz", &field.hz)?;
        self.launch(host, [source, ex, ey, hz])?;
        download_results(host, self.read_results, &[hz])?;
        (0..self.steps as usize).for_each(|step| field.step(step));
        let mut check = Check::within(NAME, TOLERANCE);
        for (name, buffer, cells) in [
            ("ex", ex, &field.ex),
            ("ey", ey, &field.ey),
            ("hz", hz, &field.hz),
        ] {
            for ((index, &expected), found) in (0..)
                .zip(cells)
                .zip(words::<f32>(host.gpu.host_bytes(buffer)))
            {
                let scale = f64::from(expected.abs().max(1.0));
                check.close(name, index, expected.into(), found, scale)?;
            }
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        let (size, steps) = (self.size, u64::from(self.steps));
        CELL_BYTES * (2 * size * (size + 1) + size * size + steps)
    }
}
