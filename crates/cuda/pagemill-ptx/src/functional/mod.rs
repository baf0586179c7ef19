//! Launches without time: each block to its end, or in turns with others where it waits for them.

mod residents;
pub(crate) mod speculation;

use crate::exec::service::Output;
use crate::exec::trap::Trap;
use crate::launch::{Executor, Launch};
use crate::memory::DeviceMemory;
use pagemill_ptx_native::{Purpose, Unavailable};

pub use residents::Patience;
use residents::Residents;

/// What a functional run executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionalTotals {
    /// Blocks run.
    pub blocks: u64,
    /// PTX instructions issued by warps.
    pub instructions: u64,
    /// PTX instructions times the lanes that were active and whose guard held.
    pub thread_instructions: u64,
}

/// Runs every block of `launch` to its end without time. Blocks run in their order, one after the other; while none of
/// them gets on, the next ones begin, until as many take turns as may be resident. `printf` text goes to `output`.
///
/// # Errors
/// What a thread did wrong. Memory then holds what was done until then.
pub fn run_functional(
    launch: &Launch,
    memory: &mut DeviceMemory,
    output: &mut Output,
) -> Result<FunctionalTotals, Box<Trap>> {
    let mut run = FunctionalRun::default();
    run.go_on(launch, Patience::ToTheEnd, memory, output)?;
    Ok(run.totals())
}

/// A launch that runs without time, and can stop where it waits for others.
#[derive(Clone, Debug, Default)]
pub struct FunctionalRun {
    has_begun: bool,
    residents: Residents,
    blocks: u64,
}

impl FunctionalRun {
    /// Runs `launch`, the same each time, until all of its blocks have ended; false if it waits for something outside of it.
    ///
    /// # Errors
    /// As [`run_functional`].
    pub fn go_on(
        &mut self,
        launch: &Launch,
        patience: Patience,
        memory: &mut DeviceMemory,
        output: &mut Output,
    ) -> Result<bool, Box<Trap>> {
        let kernel = &launch.kernel;
        if launch.executor == Executor::Compiled
            && let Err(reason @ Unavailable::Memory(_)) =
                kernel.compiled.routine(&kernel.code, Purpose::Functional)
        {
            let name = &kernel.name;
            output.note(format!("kernel {name} is interpreted: {reason}"));
        }
        memory.begin_launch(launch);
        memory.changed_by_others();
        self.blocks = launch.blocks();
        if !self.has_begun {
            self.has_begun = true;
            if let Some(totals) = speculation::run(launch, patience, memory) {
                self.residents.totals = totals;
                return Ok(true);
            }
            self.residents.clusters = 0..launch.blocks() / u64::from(launch.cluster_blocks());
        }
        let run = self.residents.run(launch, patience, memory, output);
        run.inspect_err(|trap| memory.note_trap(trap))
    }

    /// What was executed so far.
    pub fn totals(&self) -> FunctionalTotals {
        FunctionalTotals {
            blocks: self.blocks,
            instructions: self.residents.totals.instructions,
            thread_instructions: self.residents.totals.thread_instructions,
        }
    }
}

impl DeviceMemory {
    /// How often kernels and others have changed it.
    pub fn changes(&mut self) -> u64 {
        self.activity().writes
    }

    /// Something other than the launch at hand may have changed it.
    pub fn changed_by_others(&mut self) {
        self.note_write();
    }
}
