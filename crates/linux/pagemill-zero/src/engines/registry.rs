use pagemill_types::Registry;

use super::{Engine, EngineEntry, EngineError};

/// Every engine that needs no maker's own interface, the one to take first.
#[rustfmt::skip]
pub const ENTRIES: [EngineEntry; 7] = [
    super::fastest::ENTRY,
    super::streaming::AVX512,
    super::streaming::AVX2,
    super::streaming::SSE2,
    super::clzero::ENTRY,
    super::memset::ENTRY,
    super::opencl::ENTRY,
];

/// [`ENTRIES`] by their names.
pub static ENGINES: Registry<EngineEntry> = Registry::new("engine", &ENTRIES);

/// Opens the engine called `name`.
///
/// # Errors
/// There is none of that name, or it cannot run here.
pub fn by_name(name: &str) -> Result<Box<dyn Engine>, EngineError> {
    (ENGINES.find(name)?.open)()
}
