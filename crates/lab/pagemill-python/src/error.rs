//! What Python raises.

use std::fmt::Display;

use pagemill_scenario::InputErrors;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    pagemill,
    InputError,
    PyValueError,
    "A scenario, a machine or an override is wrong; nothing was run. The message shows each place and a remedy."
);
create_exception!(
    pagemill,
    RunError,
    PyRuntimeError,
    "A run began and did not end well: a trap, a wrong result, a limit, or a file that cannot be written."
);

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())
}

/// Everything that is wrong with the input, with its places.
pub fn input(errors: &InputErrors) -> PyErr {
    InputError::new_err(errors.render(false).trim_end().to_owned())
}

/// What stopped a run.
pub fn run(error: impl Display) -> PyErr {
    RunError::new_err(error.to_string())
}
