use pagemill_types::Registry;

use super::{Engine, EngineEntry, EngineError};

/// Every engine, the one to take first.
#[rustfmt::skip]
pub static ENGINES: Registry<EngineEntry> = Registry::new("engine", &[
    super::fastest::ENTRY,
    super::streaming::AVX512,
    super::streaming::AVX2,
    super::streaming::SSE2,
    super::clzero::ENTRY,
    super::memset::ENTRY,
    super::opencl::ENTRY,
    super::cuda::ENTRY,
]);

/// Opens the engine called `name`.
///
/// # Errors
/// There is none of that name, or it cannot run here.
pub fn by_name(name: &str) -> Result<Box<dyn Engine>, EngineError> {
    (ENGINES.find(name)?.open)()
}
