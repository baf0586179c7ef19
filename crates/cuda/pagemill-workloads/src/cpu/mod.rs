//! The built-in CPU programs: small computations whose accesses to memory are recorded.
//!
//! Each computes something that a test can check, with the loops in which a larger program of its kind spends its time. A
//! program is a row of passes over items; its references come out as a stream, and no trace is kept. Inputs come from the
//! seed, so that the same program gives the same references.

mod acoustic_score;
mod block_sort;
mod conjugate_gradient;
mod fdtd;
mod game_tree;
mod gas_dynamics;
mod lattice_boltzmann;
mod memory;
mod molecular_dynamics;
mod motion_search;
mod network_simplex;
mod patch_dynamics;
mod quantum_register;
mod registry;
mod stream;

pub use registry::{CPU_PROGRAMS, CpuProgramInfo};

use memory::{Array, Layout, Recorder};

/// A computation, as a row of passes over items.
trait CpuProgram {
    /// How many items the current pass has; 0 when all is done.
    fn items(&self) -> usize;

    /// Does the item number `index` of the current pass. Items are done in order, each once.
    fn item(&mut self, index: usize, memory: &mut Recorder);

    /// The current pass is done: on to the next.
    fn end_pass(&mut self);
}

#[cfg(test)]
fn run_to_end(program: &mut impl CpuProgram) -> Vec<pagemill_pages::shared_cache::Reference> {
    let mut memory = Recorder::default();
    while program.items() > 0 {
        (0..program.items()).for_each(|index| program.item(index, &mut memory));
        program.end_pass();
    }
    memory.references
}
