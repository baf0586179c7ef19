//! Every engine: those of the pool, and the one that needs NVIDIA's driver.

mod cuda;

use pagemill_types::Registry;
use pagemill_zero::engines::{ENTRIES, Engine, EngineEntry, EngineError};

const ALL: [EngineEntry; 8] = {
    let [a, b, c, d, e, f, g] = ENTRIES;
    [a, b, c, d, e, f, g, cuda::ENTRY]
};

/// Every engine, the one to take first.
pub static ENGINES: Registry<EngineEntry> = Registry::new("engine", &ALL);

/// Opens the engine called `name`.
///
/// # Errors
/// There is none of that name, or it cannot run here.
pub fn by_name(name: &str) -> Result<Box<dyn Engine>, EngineError> {
    (ENGINES.find(name)?.open)()
}
