use pagemill_sim::{GpuError, Host};
use pagemill_types::named;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::{Parameter, ParameterError, Values};

/// A program with its parameters fixed, ready to run on any simulated GPU.
pub trait Workload: Send + Sync + std::fmt::Debug {
    /// Allocates, writes the inputs, copies, launches, and compares every result with the CPU reference.
    ///
    /// # Errors
    /// What the GPU refused or trapped on, or the first result that differs from the reference.
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError>;

    /// Bytes of all device allocations together.
    fn footprint_bytes(&self) -> u64;
}

/// What a program's check found: every compared value was within the tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checked {
    /// How many values were compared.
    pub values: u64,
    /// The largest difference from the reference, as a share of the magnitude that the program's README states. 0 when bit-exact.
    pub largest_error: f64,
    /// The largest share that would have been accepted. 0 when results must be bit-exact.
    pub tolerance: f64,
    /// Accesses of the last launch, each of which needed the one before. 0 where a program does not say.
    pub accesses: u64,
    /// Bytes that the last launch read and wrote, as the program counts them. 0 where it does not say.
    pub streamed_bytes: u64,
}

/// A result that is not what the CPU reference says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{workload}: {array}[{index}] is {found}, the CPU reference says {expected} ({bound})")]
pub struct Mismatch {
    /// Name of the program.
    pub workload: &'static str,
    /// Name of the array the value stands in.
    pub array: &'static str,
    /// Index of the value in its array.
    pub index: u64,
    /// What the CPU reference computed.
    pub expected: String,
    /// What the GPU program computed.
    pub found: String,
    /// How close they had to be.
    pub bound: String,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The simulated GPU refused or trapped.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The program ran and computed something else than the CPU reference.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
}

/// One entry of the registry: everything that can be said of a program before its parameters are chosen.
pub struct WorkloadInfo {
    /// The name scenarios use.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// The CUDA C++ source of its kernels.
    pub source: &'static str,
    /// The PTX made from `source`, which is what runs.
    pub ptx: &'static str,
    /// What can be chosen, in the order of display.
    pub parameters: &'static [Parameter],
    pub(crate) build: fn(&Values) -> Result<Box<dyn Workload>, ParameterError>,
}

named!(WorkloadInfo);

impl WorkloadInfo {
    /// The default of every parameter.
    pub fn defaults(&'static self) -> Values {
        Values::defaults(self.name, self.parameters)
    }

    /// The program with these parameters: the same while one with equal ones is in use, so that what all its runs need is
    /// computed once.
    ///
    /// # Errors
    /// Values that are each allowed but not together, as a grid of more points than the kernel can index.
    pub fn build(&self, values: &Values) -> Result<Arc<dyn Workload>, ParameterError> {
        static IN_USE: Mutex<Vec<(Values, Weak<dyn Workload>)>> = Mutex::new(Vec::new());
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|(_, program)| program.strong_count() > 0);
        let found = in_use.iter().find(|(held, _)| held == values);
        if let Some(program) = found.and_then(|(_, program)| program.upgrade()) {
            return Ok(program);
        }
        let program: Arc<dyn Workload> = (self.build)(values)?.into();
        in_use.push((values.clone(), Arc::downgrade(&program)));
        Ok(program)
    }
}
