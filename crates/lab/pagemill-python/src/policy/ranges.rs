//! The valid ranges of a page as a sequence of Python: what a policy does not look at is not converted.

use pagemill_types::{PageRange, RangeSet};
use pyo3::prelude::*;
use pyo3::types::PyList;

type Pair = (u32, u32);

/// Ranges of bytes in a page, ascending and disjoint: a sequence of pairs (start, end).
#[pyclass(frozen, module = "pagemill._native")]
pub struct Ranges(pub(super) RangeSet);

impl Ranges {
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.iter().map(pair))
    }
}

#[pymethods]
impl Ranges {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ranges = self.0.as_slice();
        let place = index.extract::<isize>().ok();
        let place = place.map(|at| at.checked_add_unsigned(if at < 0 { ranges.len() } else { 0 }));
        let range = place
            .flatten()
            .and_then(|at| ranges.get(usize::try_from(at).ok()?));
        match range {
            Some(range) => Ok(pair(range).into_pyobject(py)?.into_any()),
            // A slice, or what a list refuses.
            None => self.list(py)?.as_any().get_item(index),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.list(py)?.as_any().try_iter()?.into_any())
    }

    fn __contains__(&self, range: Pair) -> bool {
        self.0.iter().any(|known| pair(known) == range)
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => Ok(self.0 == other.get().0),
            Err(_) => self.list(py)?.as_any().eq(other),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.list(py)?.repr()?.to_string())
    }

    /// The parts of `wanted` that are in none of them.
    fn missing(&self, wanted: Pair) -> Vec<Pair> {
        let (start, end) = wanted;
        let wanted = PageRange { start, end };
        self.0.missing(wanted).map(|part| pair(&part)).collect()
    }
}

fn pair(range: &PageRange) -> Pair {
    (range.start, range.end)
}
