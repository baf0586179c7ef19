//! `c = a + b`: the densest pattern there is.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "vector-add";
const THREADS_PER_BLOCK: u32 = 256;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "sum of two vectors: dense, every byte touched once",
    source: include_str!("../../../../workloads/vector-add/vector-add.cu"),
    ptx: include_str!("../../../../workloads/vector-add/vector-add.ptx"),
    parameters: &[
        Parameter::count(
            "elements",
            1 << 20,
            1,
            1 << 31,
            "4-byte elements of each of the three vectors",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(VectorAdd {
        elements: values.get_u32("elements"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct VectorAdd {
    elements: u32,
    seed: u64,
    read_results: bool,
}

impl VectorAdd {
    fn vector_bytes(&self) -> u64 {
        u64::from(self.elements) * 4
    }

    /// Element `index` of input vector `vector`.
    fn element(&self, vector: u64, index: u64) -> f32 {
        Random::new(self.seed, vector).f32_in(index, -1.0, 1.0)
    }
}

impl Workload for VectorAdd {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("vector-add.ptx", INFO.ptx)?;
        let a = input(host, "a", self.vector_bytes(), |bytes| {
            fill(bytes, |i| self.element(0, i))
        })?;
        let b = input(host, "b", self.vector_bytes(), |bytes| {
            fill(bytes, |i| self.element(1, i))
        })?;
        let c = host.alloc("c", self.vector_bytes())?;

        let grid = [self.elements.div_ceil(THREADS_PER_BLOCK), 1, 1];
        let args = [
            Arg::Buffer(a),
            Arg::Buffer(b),
            Arg::Buffer(c),
            Arg::U32(self.elements),
        ];
        host.launch(
            module,
            "vector_add",
            grid,
            [THREADS_PER_BLOCK, 1, 1],
            0,
            &args,
        )?;
        download_results(host, self.read_results, &[c])?;

        let mut check = Check::bit_exact(NAME);
        for (i, found) in (0..).zip(words::<f32>(host.gpu.host_bytes(c))) {
            check.same_bits("c", i, self.element(0, i) + self.element(1, i), found)?;
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        3 * self.vector_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_depend_on_the_seed_alone() {
        let inputs = |seed| {
            let program = VectorAdd {
                elements: 64,
                seed,
                read_results: false,
            };
            [0, 1].map(|vector| {
                (0..64)
                    .map(|i| program.element(vector, i))
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        assert_ne!(inputs(1)[0], inputs(1)[1]);
    }
}
