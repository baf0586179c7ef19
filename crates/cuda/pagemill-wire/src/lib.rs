//! What passes between a program that runs on the simulated GPU and the one who started it: plain data in a folder.
//!
//! The one who starts it writes a [`Plan`] beside the scenario; the program leaves [`Results`]. Nothing else is known of the
//! runtime by those who ask.
#![forbid(unsafe_code)]

mod plan;
mod results;

pub use pagemill_ptx::{readable_list, readable_name, readable_text};
pub use plan::{Frame, Hint, Plan, SiteHint, Sites, Stack};
pub use results::{DefectFound, FailedLaunches, Journal, Results, ResultsError};

/// The environment variable that names a folder: `scenario.toml` in it is read, results are written to it.
pub const ENVIRONMENT: &str = "PAGEMILL_CUDA";

/// The environment variable that says how many threads of the host run kernels without time; without it, as many as there
/// are cores.
pub const THREADS: &str = "PAGEMILL_THREADS";

/// The file in the folder of [`ENVIRONMENT`] that says that a program has a runtime of its own and no symbols. It holds the path of
/// the library that has it, if it is one.
pub const STRIPPED_NOTE: &str = "static-runtime-without-symbols";

/// The file in the same folder that says that a program has a runtime of its own, and got this crate's in its place.
pub const REPLACED_NOTE: &str = "static-runtime-replaced";

/// The machine of programs for which none was chosen.
pub const DEFAULT_MACHINE: &str = "h100-sxm";

/// A library as programs look for it: a shim without logic. `libpagemill_cudart.so` has to lie beside it.
#[derive(Clone, Copy, Debug)]
pub struct Shim {
    /// The name that programs were linked with, such as `libcudart.so.13`.
    pub file_name: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

/// The file name of the runtime's own library, which the shims need beside them.
pub const LIBRARY: &str = "libpagemill_cudart.so";

/// The library that is loaded before a program, so that one that carries NVIDIA's runtime within itself uses pagemill's.
pub const START_LIBRARY: &str = "libpagemill_start.so";
