use pagemill_pages::shared_cache::ReferenceStream;
use pagemill_types::{Registry, named};

use super::{
    acoustic_score, block_sort, conjugate_gradient, fdtd, game_tree, gas_dynamics,
    lattice_boltzmann, molecular_dynamics, motion_search, network_simplex, patch_dynamics,
    quantum_register,
};
use crate::{Parameter, ParameterError, Values};

/// One entry of the registry of CPU programs.
pub struct CpuProgramInfo {
    /// The name scenarios use.
    pub name: &'static str,
    /// What it computes, and what it is like, in one line.
    pub summary: &'static str,
    /// What can be chosen, in the order of display.
    pub parameters: &'static [Parameter],
    pub(super) start: fn(&Values) -> Box<dyn ReferenceStream>,
}

named!(CpuProgramInfo);

impl CpuProgramInfo {
    /// The default of every parameter.
    pub fn defaults(&'static self) -> Values {
        Values::defaults(self.name, self.parameters)
    }

    /// The references of the program with `values`, from its start.
    pub fn start(&self, values: &Values) -> Box<dyn ReferenceStream> {
        (self.start)(values)
    }

    /// `values` with each of `changes` in the place of what was there.
    ///
    /// # Errors
    /// The program has no such parameter, or does not allow the value.
    pub fn with(&'static self, changes: &[(&str, u64)]) -> Result<Values, ParameterError> {
        let mut values = self.defaults();
        for (name, value) in changes {
            values.set(name, *value)?;
        }
        Ok(values)
    }
}

/// Every built-in CPU program, in the order of listings. A new program is one file and one line here.
#[rustfmt::skip]
pub static CPU_PROGRAMS: Registry<CpuProgramInfo> = Registry::new("CPU program", &[
    acoustic_score::INFO,
    block_sort::INFO,
    conjugate_gradient::INFO,
    fdtd::INFO,
    game_tree::INFO,
    gas_dynamics::INFO,
    lattice_boltzmann::INFO,
    molecular_dynamics::INFO,
    motion_search::INFO,
    network_simplex::INFO,
    patch_dynamics::INFO,
    quantum_register::INFO,
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_references() {
        for info in &CPU_PROGRAMS {
            let head = |seed| {
                let mut stream = info.start(
                    &info
                        .with(&[("seed", seed)])
                        .expect("every program has a seed"),
                );
                let mut block = Vec::new();
                let mut head = Vec::new();
                while head.len() < 50_000 {
                    stream.next_block(&mut block).expect("programs do not fail");
                    assert!(
                        !block.is_empty(),
                        "{} has fewer than 50000 references",
                        info.name
                    );
                    head.extend(block.iter().copied());
                }
                head
            };
            assert!(head(1) == head(1), "{}", info.name);
        }
    }
}
