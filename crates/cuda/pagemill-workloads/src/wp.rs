//! Cloud microphysics of a weather model: many 3-D arrays, read and written densely, level by level.

mod atmosphere;
mod cell;
mod column;

use pagemill_sim::{Arg, Buffer, Host};

use crate::check::Check;
use crate::host::{download, download_results, input, upload};
use crate::parameter::{READ_RESULTS, SEED};
use crate::words::{get, set};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};
use atmosphere::Atmosphere;
use column::{Column, FIELDS, GROUND_FIELDS, STATE_FIELDS};

const NAME: &str = "wp";
const TILE: [u32; 3] = [8, 8, 1];
const STEP_SECONDS: f32 = 20.0;
const MAXIMUM_CELLS: u64 = 1 << 32;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "WP: cloud microphysics of a weather model, one thread a column, ten 3-D arrays",
    source: include_str!("../../../../workloads/wp/wp.cu"),
    ptx: include_str!("../../../../workloads/wp/wp.ptx"),
    parameters: &[
        Parameter::count(
            "west_east",
            72,
            1,
            1 << 16,
            "columns from west to east, the contiguous direction",
        ),
        Parameter::count("south_north", 64, 1, 1 << 16, "columns from south to north"),
        Parameter::count("levels", 20, 1, 1024, "levels of a column, ground to 15 km"),
        Parameter::count(
            "steps",
            10,
            1,
            10_000,
            "time steps of 20 s, one launch each",
        ),
        Parameter::flag(
            "host_dynamics",
            "1: the state goes to the host and back between steps, as in a model whose dynamics run on the CPU",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let [west_east, south_north, levels] =
        ["west_east", "south_north", "levels"].map(|name| values.get_u32(name));
    let columns = u64::from(west_east) * u64::from(south_north);
    let most = MAXIMUM_CELLS / u64::from(levels) / u64::from(west_east);
    values.require(
        columns * u64::from(levels) <= MAXIMUM_CELLS,
        "south_north",
        || format!("1 to {most} with rows of {west_east} columns of {levels} levels"),
    )?;
    Ok(Box::new(Wp {
        atmosphere: Atmosphere {
            west_east,
            south_north,
            levels,
            seed: values.get("seed"),
        },
        steps: values.get_u32("steps"),
        host_dynamics: values.flag("host_dynamics"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Wp {
    atmosphere: Atmosphere,
    steps: u32,
    host_dynamics: bool,
    read_results: bool,
}

struct Buffers {
    fields: [Buffer; FIELDS.len()],
    ground: [Buffer; GROUND_FIELDS.len()],
}

impl Buffers {
    /// The fields that a step changes.
    fn state(&self) -> &[Buffer] {
        &self.fields[FIELDS.len() - STATE_FIELDS..]
    }
}

impl Wp {
    fn allocate(&self, host: &mut Host) -> Result<Buffers, WorkloadError> {
        let atmosphere = &self.atmosphere;
        let mut fields = Vec::new();
        for name in FIELDS {
            fields.push(host.alloc(name, atmosphere.cells() * 4)?);
        }
        let fields = fields.try_into().expect("one buffer was pushed a field");
        write_fields(host, atmosphere, &fields);
        for field in fields {
            upload(host, field)?;
        }
        let mut zeroed = |name| input(host, name, atmosphere.columns() * 4, |bytes| bytes.fill(0));
        let ground = [zeroed(GROUND_FIELDS[0])?, zeroed(GROUND_FIELDS[1])?];
        Ok(Buffers { fields, ground })
    }

    fn run_steps(&self, host: &mut Host, buffers: &Buffers) -> Result<(), WorkloadError> {
        let module = host.gpu.load_module("wp.ptx", INFO.ptx)?;
        let Atmosphere {
            west_east,
            south_north,
            levels,
            ..
        } = self.atmosphere;
        let args: Vec<Arg> = buffers
            .fields
            .iter()
            .chain(&buffers.ground)
            .map(|&buffer| Arg::Buffer(buffer))
            .chain([west_east, south_north, levels].map(Arg::U32))
            .chain([Arg::F32(STEP_SECONDS)])
            .collect();
        let blocks = [
            west_east.div_ceil(TILE[0]),
            south_north.div_ceil(TILE[1]),
            1,
        ];
        for step in 0..self.steps {
            if self.host_dynamics && step > 0 {
                for &field in buffers.state() {
                    download(host, field)?;
                    upload(host, field)?;
                }
            }
            host.launch(module, "wp_step", blocks, TILE, 0, &args)?;
        }
        Ok(())
    }

    fn check(&self, host: &Host, buffers: &Buffers) -> Result<Checked, WorkloadError> {
        let mut check = Check::bit_exact(NAME);
        let atmosphere = &self.atmosphere;
        for j in 0..atmosphere.south_north {
            for i in 0..atmosphere.west_east {
                let mut column = atmosphere.column(i, j);
                for _ in 0..self.steps {
                    column.step(STEP_SECONDS);
                }
                check_column(&mut check, host, atmosphere, buffers, (i, j), &column)?;
            }
        }
        Ok(check.finish())
    }
}

/// Writes every field of every column as the CPU would.
fn write_fields(host: &mut Host, atmosphere: &Atmosphere, buffers: &[Buffer; FIELDS.len()]) {
    for j in 0..atmosphere.south_north {
        for i in 0..atmosphere.west_east {
            let column = atmosphere.column(i, j);
            for (&buffer, values) in buffers.iter().zip(column.fields()) {
                let bytes = host.gpu.host_bytes_mut(buffer);
                for (level, &value) in (0..).zip(values) {
                    set(bytes, atmosphere.cell(i, j, level) as usize, value);
                }
            }
        }
    }
}

/// Compares one column of the results.
fn check_column(
    check: &mut Check,
    host: &Host,
    atmosphere: &Atmosphere,
    buffers: &Buffers,
    (i, j): (u32, u32),
    expected: &Column,
) -> Result<(), WorkloadError> {
    let fields = FIELDS
        .into_iter()
        .zip(&buffers.fields)
        .zip(expected.fields());
    for ((name, &buffer), values) in fields {
        let bytes = host.gpu.host_bytes(buffer);
        for (level, &value) in (0..).zip(values) {
            let index = atmosphere.cell(i, j, level);
            check.same_bits(name, index, value, get(bytes, index as usize))?;
        }
    }
    let index = u64::from(j) * u64::from(atmosphere.west_east) + u64::from(i);
    let ground = GROUND_FIELDS.into_iter().zip(&buffers.ground);
    for ((name, &buffer), value) in ground.zip(expected.on_ground()) {
        check.same_bits(
            name,
            index,
            value,
            get(host.gpu.host_bytes(buffer), index as usize),
        )?;
    }
    Ok(())
}

impl Workload for Wp {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let buffers = self.allocate(host)?;
        self.run_steps(host, &buffers)?;
        download_results(host, self.read_results, buffers.state())?;
        download_results(host, self.read_results, &buffers.ground)?;
        self.check(host, &buffers)
    }

    fn footprint_bytes(&self) -> u64 {
        let fields = self.atmosphere.cells() * FIELDS.len() as u64;
        let ground = self.atmosphere.columns() * GROUND_FIELDS.len() as u64;
        4 * (fields + ground)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_size_of_the_literature() {
        let workload = INFO
            .build(&Values::defaults(NAME, INFO.parameters))
            .expect("defaults are allowed");
        assert_eq!(workload.footprint_bytes(), 4 * 72 * 64 * (10 * 20 + 2));
    }

    #[test]
    fn too_many_cells_are_refused() {
        let mut values = Values::defaults(NAME, INFO.parameters);
        for (name, value) in [
            ("west_east", 1 << 16),
            ("south_north", 4096),
            ("levels", 1024),
        ] {
            values.set(name, value).expect("alone allowed");
        }
        let error = INFO.build(&values).expect_err("2^38 cells");
        assert_eq!(
            error.to_string(),
            "wp: south_north = 4096 is not allowed, 1 to 64 with rows of 65536 columns of 1024 levels is"
        );
    }
}
