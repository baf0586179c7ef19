//! What lies around a page, as Python sees it: a copy of a few numbers, because nothing of the run may be borrowed by an object that
//! Python could keep.

use std::collections::BTreeMap;

use pagemill_policy::surroundings::Surroundings;
use pyo3::prelude::*;

use super::Instance;

/// A page and what lies around it.
#[pyclass(frozen, module = "pagemill._native")]
pub struct Around {
    /// The page, counted from the start of managed memory.
    #[pyo3(get)]
    page: u32,
    /// First page and end of its allocation.
    #[pyo3(get)]
    allocation: (u32, u32),
    /// The page and its neighbors within the allocation, and the bytes of each in GPU memory.
    neighbors: Vec<(u32, u64)>,
    /// Pages that GPU memory holds; None without a limit.
    #[pyo3(get)]
    frames: Option<u64>,
    /// Those that hold no page.
    #[pyo3(get)]
    free_frames: Option<u64>,
    /// Faults so far on all pages: time as a policy counts it.
    #[pyo3(get)]
    fault_count: u64,
    /// Those on this page.
    #[pyo3(get)]
    page_fault_count: u32,
    /// Pages of the newest faults, the newest first.
    #[pyo3(get)]
    recent_faults: Vec<u32>,
}

#[pymethods]
impl Around {
    /// Bytes in GPU memory of the page and of its neighbors within the allocation.
    #[getter]
    fn valid_bytes(&self) -> BTreeMap<u32, u64> {
        self.neighbors.iter().copied().collect()
    }

    fn __repr__(&self) -> String {
        let (start, end) = self.allocation;
        format!("<Around page {} of {start} to {end}>", self.page)
    }
}

/// What a policy asked to see.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct View {
    neighbors: u32,
    pub(super) tracks_faults: bool,
}

impl View {
    pub(super) fn of(policy: &Instance) -> Self {
        Self {
            neighbors: policy.attribute("neighbors", "a number of pages"),
            tracks_faults: policy.attribute("tracks_faults", "True or False"),
        }
    }

    pub(super) fn see(self, around: &dyn Surroundings) -> Around {
        let (page, allocation) = (around.page(), around.allocation());
        let first = page.saturating_sub(self.neighbors).max(allocation.start);
        let end = page.saturating_add(self.neighbors + 1).min(allocation.end);
        let faults = around.faults();
        Around {
            page,
            allocation: (allocation.start, allocation.end),
            neighbors: (first..end)
                .map(|page| (page, around.valid_bytes(page)))
                .collect(),
            frames: around.frames(),
            free_frames: around.free_frames(),
            fault_count: faults.total(),
            page_fault_count: faults.of(page).count,
            recent_faults: faults.recent().collect(),
        }
    }
}
