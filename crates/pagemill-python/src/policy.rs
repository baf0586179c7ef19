//! A migration policy that is written in Python: the same contract, asked through the interpreter.

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_policy::migration::{MigrationPolicy, MigrationSpec, PolicyEntry};
use pagemill_policy::surroundings::Surroundings;
use pagemill_scenario::Transfer;
use pagemill_types::{PageRange, RangeSet};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::interrupt;
use crate::loaded::locked;

/// A policy object, and what it raised.
#[derive(Clone)]
pub struct PythonPolicy {
    entry: &'static PolicyEntry,
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    policy: Py<PyAny>,
    stop: Arc<AtomicBool>,
    exception: Mutex<Option<PyErr>>,
}

impl Shared {
    /// Keeps the first exception and stops the run.
    fn fail(&self, exception: PyErr) {
        locked(&self.exception).get_or_insert(exception);
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl PythonPolicy {
    /// Takes an object with `name`, `build(spec)`, `plan(page_bytes, valid, request)` and `range_limit`.
    pub fn new(policy: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name: String = policy
            .getattr("name")
            .and_then(|name| name.extract())
            .map_err(|_| {
                PyTypeError::new_err(
                    "a policy is an object of a subclass of pagemill.MigrationPolicy with a `name`",
                )
            })?;
        // The registry's entries live forever, and so do these few bytes for each policy object.
        let name: &'static str = name.leak();
        let shared = Arc::new(Shared {
            name,
            policy: policy.clone().unbind(),
            stop: interrupt::new_stop(),
            exception: Mutex::new(None),
        });
        let built = Arc::clone(&shared);
        let build = move |spec: &MigrationSpec| -> Box<dyn MigrationPolicy> {
            Box::new(Asked::build(&built, spec))
        };
        let entry = Box::leak(Box::new(PolicyEntry {
            name,
            summary: "written in Python",
            parameters: &["unit", "gap_threshold", "range_slots", "when_full"],
            build: Box::leak(Box::new(build)),
        }));
        Ok(Self { entry, shared })
    }

    /// Lets this policy decide instead of the one that `transfer` names.
    pub fn decide_for(&self, transfer: &mut Transfer) {
        if let Some(migration) = &mut transfer.migration {
            migration.policy = self.entry;
            transfer.mode = self.entry.name;
        }
    }

    /// Set when the policy has raised.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.stop)
    }

    /// What the policy raised, once.
    pub fn take_exception(&self) -> Option<PyErr> {
        locked(&self.shared.exception).take()
    }
}

/// A policy object for pages of one size.
struct Asked {
    shared: Arc<Shared>,
    /// `None` where it could not be built; the run is then stopped.
    policy: Option<Py<PyAny>>,
    range_limit: Option<u32>,
    unit_bytes: u32,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Python policy {}", self.shared.name)
    }
}

impl Asked {
    fn build(shared: &Arc<Shared>, spec: &MigrationSpec) -> Self {
        let built = Python::attach(|py| {
            let keys = PyDict::new(py);
            keys.set_item("page_bytes", spec.page.bytes())?;
            keys.set_item("unit_bytes", spec.unit_bytes)?;
            keys.set_item("gap_threshold_bytes", spec.gap_threshold_bytes)?;
            keys.set_item("range_slots", spec.range_slots)?;
            let policy = shared.policy.bind(py).call_method1("build", (keys,))?;
            let limit = policy.getattr("range_limit")?.extract::<Option<u32>>()?;
            Ok((policy.unbind(), limit))
        });
        let (policy, range_limit) = match built {
            Ok((policy, limit)) => (Some(policy), limit),
            Err(exception) => {
                shared.fail(exception);
                (None, None)
            }
        };
        Self {
            shared: Arc::clone(shared),
            policy,
            range_limit,
            unit_bytes: spec.unit_bytes,
        }
    }

    fn ask(
        &self,
        policy: &Py<PyAny>,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
    ) -> PyResult<Vec<PageRange>> {
        Python::attach(|py| {
            let known: Vec<(u32, u32)> =
                valid.iter().map(|range| (range.start, range.end)).collect();
            let answer = policy
                .bind(py)
                .call_method1("plan", (page_bytes, known, (request.start, request.end)))?;
            let ranges: Vec<(u32, u32)> = answer.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "policy {} answered {answer}: a list of pairs (start, end) of bytes in the page is needed",
                    self.shared.name
                ))
            })?;
            self.check(page_bytes, valid, request, &ranges)
        })
    }

    /// Holds the answer against the contract.
    fn check(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        ranges: &[(u32, u32)],
    ) -> PyResult<Vec<PageRange>> {
        let breach = |what: String| {
            let name = self.shared.name;
            Err(PyValueError::new_err(format!(
                "policy {name} answered {ranges:?} for request {request} of a page of {page_bytes} B: {what}"
            )))
        };
        let mut last_end = 0;
        let mut planned = Vec::with_capacity(ranges.len());
        for &(start, end) in ranges {
            let range = PageRange { start, end };
            if start >= end || end > page_bytes {
                return breach(format!("({start}, {end}) is no range within the page"));
            }
            if start < last_end {
                return breach("ranges must be ascending and disjoint".to_owned());
            }
            if !start.is_multiple_of(self.unit_bytes) || !end.is_multiple_of(self.unit_bytes) {
                return breach(format!(
                    "ranges must be whole units of {} B",
                    self.unit_bytes
                ));
            }
            if valid.overlaps(range) {
                return breach(format!(
                    "({start}, {end}) holds bytes that are valid already"
                ));
            }
            last_end = end;
            planned.push(range);
        }
        let moves = |missing: PageRange| {
            let mut reached = missing.start;
            for range in &planned {
                if range.start <= reached && reached < range.end {
                    reached = range.end;
                }
            }
            reached >= missing.end
        };
        if !valid.missing(request).all(moves) {
            return breach("part of the request would stay in CPU memory".to_owned());
        }
        Ok(planned)
    }
}

impl MigrationPolicy for Asked {
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        if !self.shared.stop.load(Ordering::Relaxed)
            && let Some(policy) = &self.policy
        {
            match self.ask(policy, page_bytes, valid, request) {
                Ok(planned) => return fetch.extend(planned),
                Err(exception) => self.shared.fail(exception),
            }
        }
        // Whatever keeps the run sound until it stops.
        fetch.extend(valid.missing(request));
    }

    fn range_limit(&self) -> Option<u32> {
        self.range_limit
    }
}
