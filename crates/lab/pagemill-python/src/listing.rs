//! What can be named, and the texts behind the names.

use pagemill_scenario::{BuiltIn, MACHINES, SCENARIOS, transfer_modes};
use pagemill_workloads::WORKLOADS;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(machines, module)?)?;
    module.add_function(wrap_pyfunction!(scenarios, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(policies, module)?)?;
    module.add_function(wrap_pyfunction!(machine_text, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_text, module)?)?;
    module.add_function(wrap_pyfunction!(ptx, module)?)
}

fn titles(files: &[BuiltIn]) -> PyResult<Vec<(&'static str, String)>> {
    let title = |file: &BuiltIn| {
        let head = file.head().map_err(|errors| crate::error::input(&errors))?;
        Ok((file.name, format!("{}: {}", head.kind, head.title)))
    };
    files.iter().map(title).collect()
}

fn text(files: &[BuiltIn], what: &str, name: &str) -> PyResult<&'static str> {
    let found = files.iter().find(|file| file.name == name);
    found.map(|file| file.text).ok_or_else(|| {
        let names: Vec<&str> = files.iter().map(|file| file.name).collect();
        PyKeyError::new_err(format!(
            "there is no {what} {name:?}: use one of {}",
            names.join(", ")
        ))
    })
}

#[pyfunction]
fn machines() -> PyResult<Vec<(&'static str, String)>> {
    titles(MACHINES)
}

#[pyfunction]
fn scenarios() -> PyResult<Vec<(&'static str, String)>> {
    titles(SCENARIOS)
}

#[pyfunction]
fn workloads() -> Vec<(&'static str, &'static str)> {
    let all = WORKLOADS.iter();
    all.map(|info| (info.name, info.summary)).collect()
}

#[pyfunction]
fn policies() -> Vec<(&'static str, &'static str)> {
    transfer_modes().collect()
}

#[pyfunction]
fn machine_text(name: &str) -> PyResult<&'static str> {
    text(MACHINES, "machine", name)
}

#[pyfunction]
fn scenario_text(name: &str) -> PyResult<&'static str> {
    text(SCENARIOS, "scenario", name)
}

#[pyfunction]
fn ptx(name: &str) -> PyResult<&'static str> {
    let found = WORKLOADS.find(name);
    found
        .map(|info| info.ptx)
        .map_err(|error| PyKeyError::new_err(error.to_string()))
}
