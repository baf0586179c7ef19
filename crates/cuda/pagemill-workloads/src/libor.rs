//! LIBOR market model Monte Carlo: almost no global memory, a long history in local memory.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::download_results;
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::words;
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

mod model;

const NAME: &str = "lib";
const THREADS_PER_BLOCK: u32 = 64;
/// Share of the notional that a value, or a hundredth of a sensitivity, may be off: 40 steps of single precision and `exp`.
const TOLERANCE: f64 = 1e-4;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "LIB: LIBOR market model Monte Carlo with adjoint sensitivities: large arrays in local memory",
    source: include_str!("../../../../workloads/lib/lib.cu"),
    ptx: include_str!("../../../../workloads/lib/lib.ptx"),
    parameters: &[
        Parameter::count(
            "paths",
            4096,
            1,
            1 << 28,
            "Monte Carlo paths, one thread each",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(Libor {
        paths: values.get_u32("paths"),
        seed: Random::new(values.get("seed"), 0).bits(0) as u32,
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Libor {
    paths: u32,
    seed: u32,
    read_results: bool,
}

impl Workload for Libor {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("lib.ptx", INFO.ptx)?;
        let value = host.alloc("value", u64::from(self.paths) * 4)?;
        let delta = host.alloc("delta", u64::from(self.paths) * 4)?;

        let grid = [self.paths.div_ceil(THREADS_PER_BLOCK), 1, 1];
        let block = [THREADS_PER_BLOCK, 1, 1];
        let [paths, seed] = [self.paths, self.seed].map(Arg::U32);
        let with_delta = [Arg::Buffer(value), Arg::Buffer(delta), paths, seed];
        host.launch(module, "libor_value_and_delta", grid, block, 0, &with_delta)?;
        // The second launch writes the same values again.
        let values_with_delta = host.gpu.host_bytes(value).to_vec();
        host.launch(
            module,
            "libor_value",
            grid,
            block,
            0,
            &[Arg::Buffer(value), paths, seed],
        )?;
        download_results(host, self.read_results, &[value, delta])?;

        let mut check = Check::within(NAME, TOLERANCE);
        let values = words(&values_with_delta).zip(words(host.gpu.host_bytes(value)));
        for (path, ((with_delta, alone), delta)) in
            (0..).zip(values.zip(words(host.gpu.host_bytes(delta))))
        {
            let expected = model::valuation(self.seed, path);
            let index = u64::from(path);
            check.close("value", index, expected.value, with_delta, model::NOTIONAL)?;
            check.close("value", index, expected.value, alone, model::NOTIONAL)?;
            // The sensitivity jumps where an option changes between worth something and nothing; single and double
            // precision may sit on different sides of that.
            if expected.nearest_strike > TOLERANCE {
                check.close(
                    "delta",
                    index,
                    expected.delta,
                    delta,
                    100.0 * model::NOTIONAL,
                )?;
            }
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        2 * u64::from(self.paths) * 4
    }
}
