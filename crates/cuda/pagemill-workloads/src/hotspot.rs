//! Heat in a chip: two arrays that take turns and one that is only read, swept in tiles.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "hotspot";
const CELL_BYTES: u64 = 4;
const TILE: u32 = 16;
const STEPS: u32 = 2;
const AMBIENT: f32 = 80.0;
const GAIN: f32 = 0.02;
const ALONG: f32 = 0.5;
const UP: f32 = 0.25;
/// Sums in another order of rounding.
const TOLERANCE: f64 = 1e-5;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "steps of heat in a square chip, two in each launch, in tiles of 16 x 16",
    source: include_str!("../../../../workloads/hotspot/hotspot.cu"),
    ptx: include_str!("../../../../workloads/hotspot/hotspot.ptx"),
    parameters: &[
        Parameter::count("size", 1024, 1, 1 << 14, "rows and columns of the grid"),
        Parameter::count("launches", 4, 1, 1 << 16, "launches, two steps each"),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(Hotspot {
        size: values.get("size"),
        launches: values.get_u32("launches"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Hotspot {
    size: u64,
    launches: u32,
    seed: u64,
    read_results: bool,
}

impl Hotspot {
    fn cells(&self, array: u64, from: f32, to: f32) -> Vec<f32> {
        let random = Random::new(self.seed, array);
        let share = |index| random.below(index, 1 << 10) as f32 / 1024.0;
        let count = self.size * self.size;
        (0..count)
            .map(|index| from + share(index) * (to - from))
            .collect()
    }

    /// A step of the CPU.
    fn step(&self, power: &[f32], from: &[f32]) -> Vec<f32> {
        let size = self.size as usize;
        let cell = |at: usize| {
            let (row, column, own) = (at / size, at % size, from[at]);
            let near = |there: bool, near: usize| if there { from[near] } else { own };
            let rows = near(row > 0, at.wrapping_sub(size)) + near(row + 1 < size, at + size);
            let columns = near(column > 0, at.wrapping_sub(1)) + near(column + 1 < size, at + 1);
            let flow = (rows - 2.0 * own) * ALONG + (columns - 2.0 * own) * ALONG;
            own + GAIN * (power[at] + flow + (AMBIENT - own) * UP)
        };
        (0..size * size).map(cell).collect()
    }
}

impl Workload for Hotspot {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("hotspot.ptx", INFO.ptx)?;
        let bytes = CELL_BYTES * self.size * self.size;
        let mut heat = self.cells(0, 300.0, 340.0);
        let power = self.cells(1, 0.0, 1.0);
        let mut from = input(host, "heat", bytes, |bytes| {
            fill(bytes, |at| heat[at as usize])
        })?;
        let mut to = host.alloc("next", bytes)?;
        let of_power = input(host, "power", bytes, |bytes| {
            fill(bytes, |at| power[at as usize])
        })?;
        let blocks = (self.size as u32).div_ceil(TILE - 2 * STEPS);
        let (grid, block) = ([blocks, blocks, 1], [TILE, TILE, 1]);
        for _ in 0..self.launches {
            let args = [
                Arg::Buffer(of_power),
                Arg::Buffer(from),
                Arg::Buffer(to),
                Arg::I32(self.size as i32),
                Arg::F32(GAIN),
                Arg::F32(ALONG),
                Arg::F32(UP),
            ];
            host.launch(module, "hotspot", grid, block, 0, &args)?;
            std::mem::swap(&mut from, &mut to);
        }
        download_results(host, self.read_results, &[from])?;
        for _ in 0..self.launches * STEPS {
            heat = self.step(&power, &heat);
        }
        let mut check = Check::within(NAME, TOLERANCE);
        for ((index, &expected), found) in (0..)
            .zip(&heat)
            .zip(words::<f32>(host.gpu.host_bytes(from)))
        {
            let scale = f64::from(expected.abs().max(1.0));
            check.close("heat", index, expected.into(), found, scale)?;
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        3 * CELL_BYTES * self.size * self.size
    }
}
