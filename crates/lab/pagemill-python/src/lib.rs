//! The compiled part of the Python package `pagemill`; `python/pagemill` is what its users see.
#![forbid(unsafe_code)]

mod error;
mod gpu;
mod interrupt;
mod listing;
mod loaded;
mod mrc;
mod policy;
mod profile;
mod result_set;
mod store;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD", pagemill_run::BUILD)?;
    error::add_to(module)?;
    module.add_class::<loaded::Loaded>()?;
    module.add_class::<result_set::ResultSet>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<gpu::Gpu>()?;
    module.add_class::<policy::Around>()?;
    module.add_class::<policy::Ranges>()?;
    module.add_function(wrap_pyfunction!(mrc::mrc, module)?)?;
    module.add_function(wrap_pyfunction!(profile::profiled, module)?)?;
    module.add_function(wrap_pyfunction!(result_set::results, module)?)?;
    listing::add_to(module)
}
