//! The folder of a sweep, as Python fills it.

use std::path::PathBuf;

use pagemill_report::Row;
use pyo3::prelude::*;

use crate::error;
use crate::loaded::{self, Loaded};
use crate::result_set::ResultSet;

/// A folder with a file for each point that was run.
#[pyclass(frozen, module = "pagemill._native")]
pub struct Store {
    store: pagemill_run::Store,
    loaded: Py<Loaded>,
}

impl Store {
    /// The rows of all points, in their order.
    pub fn rows(&self) -> PyResult<Vec<Row>> {
        let points = &self.loaded.get().scenario.points;
        self.store.rows(points).map_err(error::run)
    }
}

#[pymethods]
impl Store {
    /// Opens the folder, or makes it.
    #[new]
    fn new(folder: PathBuf, loaded: Py<Loaded>) -> PyResult<Self> {
        if !loaded.get().policies.is_empty() {
            return Err(error::InputError::new_err(
                "no results are kept under the name of a policy that is written in Python, whose code may change: use pagemill.run",
            ));
        }
        let store = pagemill_run::Store::open(&folder).map_err(error::run)?;
        Ok(Self { store, loaded })
    }

    /// Indexes of the points that were not run yet. A damaged file counts as none.
    fn missing(&self, py: Python<'_>) -> Vec<usize> {
        let scenario = &self.loaded.get().scenario;
        py.detach(|| self.store.missing(&scenario.points))
    }

    /// Keeps the rows of point `index`, a Parquet file of `Loaded.run_parts`.
    fn put(&self, index: usize, part: &[u8]) -> PyResult<()> {
        let points = &self.loaded.get().scenario.points;
        let point = points.get(index).ok_or_else(|| {
            pyo3::exceptions::PyIndexError::new_err(format!("there is no point {index}"))
        })?;
        self.store.put(point, part).map_err(error::run)
    }

    /// Reads every point back, and writes the results beside them.
    fn finish(&self, py: Python<'_>) -> PyResult<ResultSet> {
        let scenario = &self.loaded.get().scenario;
        let rows = py
            .detach(|| self.store.rows(&scenario.points))
            .map_err(error::run)?;
        let results = loaded::results_of_rows(scenario, rows);
        py.detach(|| self.store.write_results(&results.set))
            .map_err(error::run)?;
        Ok(results)
    }
}
