//! A scenario that was read and checked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pagemill_report::{Row, parquet};
use pagemill_run::rank::{self, RankError, Terms};
use pagemill_run::{Outcome, RECORDED_EVENTS_MAX, RunOptions, available_cores, run_all, run_point};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Parameter, PointSpec, Scenario, load, load_given};
use pagemill_types::with_lent;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::policy::{Decides, Policies};
use crate::result_set::ResultSet;
use crate::{error, interrupt};

/// A scenario with its machine and overrides: every point is known to be sound.
#[pyclass(frozen, module = "pagemill._native")]
pub struct Loaded {
    pub scenario: Arc<Scenario>,
    pub sets: Vec<String>,
    /// Objects that decide, whose names the scenario may use.
    pub policies: Vec<Py<PyAny>>,
}

/// Name, text, machines by the name they are asked by (with file name and text), overrides.
type Shipped = (String, String, Vec<(String, String, String)>, Vec<String>);

#[pymethods]
impl Loaded {
    /// A file, or a built-in scenario by name.
    #[staticmethod]
    #[pyo3(signature = (given, sets, policies=Vec::new()))]
    fn read(
        py: Python<'_>,
        given: &str,
        sets: Vec<String>,
        policies: Vec<Py<PyAny>>,
    ) -> PyResult<Self> {
        let known = Policies::new(py, &policies)?;
        let scenario = py
            .detach(|| with_lent(known.lent(), || load(given, &sets)))
            .map_err(|errors| error::input(&errors))?;
        Ok(Self {
            scenario: Arc::new(scenario),
            sets,
            policies,
        })
    }

    /// A text with the machines that come with it: asked-for name, file name, text.
    #[staticmethod]
    #[pyo3(signature = (name, text, machines, sets, policies=Vec::new()))]
    fn of_text(
        py: Python<'_>,
        name: &str,
        text: &str,
        machines: Vec<(String, String, String)>,
        sets: Vec<String>,
        policies: Vec<Py<PyAny>>,
    ) -> PyResult<Self> {
        let known = Policies::new(py, &policies)?;
        let source = SourceText::given(name, text);
        let machines: Vec<(String, Arc<SourceText>)> = machines
            .into_iter()
            .map(|(asked, name, text)| (asked, SourceText::given(&name, &text)))
            .collect();
        let scenario = py
            .detach(|| with_lent(known.lent(), || load_given(&source, &sets, &machines)))
            .map_err(|errors| error::input(&errors))?;
        Ok(Self {
            scenario: Arc::new(scenario),
            sets,
            policies,
        })
    }

    /// Everything that another process needs to load the same.
    fn shipped(&self) -> Shipped {
        let source = &self.scenario.source;
        let machines = self.scenario.machines.iter().map(|(asked, source)| {
            (
                asked.clone(),
                source.name().to_owned(),
                source.text().to_owned(),
            )
        });
        (
            source.name().to_owned(),
            source.text().to_owned(),
            machines.collect(),
            self.sets.clone(),
        )
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.scenario.title
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.scenario.points[0].spec.kind()
    }

    fn __len__(&self) -> usize {
        self.scenario.points.len()
    }

    /// The swept keys of each point as they were written.
    fn points(&self) -> Vec<Vec<(String, String)>> {
        let written = |parameter: &Parameter| (parameter.path.clone(), parameter.written.clone());
        let points = self.scenario.points.iter();
        points
            .map(|point| point.parameters.iter().map(written).collect())
            .collect()
    }

    /// Identifies each point among all points of all scenarios.
    fn digests(&self) -> Vec<String> {
        self.scenario
            .points
            .iter()
            .map(|point| point.digest.clone())
            .collect()
    }

    /// The key that names what each of `policies` decides, in this scenario.
    fn keys_of(&self, py: Python<'_>, policies: Vec<Py<PyAny>>) -> PyResult<Vec<(String, String)>> {
        let known = Policies::new(py, &policies)?;
        let names = known.names().iter();
        names
            .map(|&(decides, name)| Ok((self.key_of(decides)?.to_owned(), name.to_owned())))
            .collect()
    }

    /// Runs every point, `jobs` at a time; `progress(done, points)` is called from time to time. `keeps_pages` adds page maps,
    /// and why the slowest points were slow.
    #[pyo3(signature = (jobs=None, progress=None, keeps_pages=false))]
    fn run(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
        keeps_pages: bool,
    ) -> PyResult<ResultSet> {
        let events_max = match keeps_pages {
            true => RECORDED_EVENTS_MAX / self.scenario.points.len(),
            false => 0,
        };
        let (scenario, outcomes) = self.outcomes(py, jobs, progress, events_max)?;
        let mut results = results(&scenario, &outcomes);
        results.set.maps = pagemill_run::maps(&scenario.points, &outcomes);
        results.set.findings = pagemill_run::findings(&scenario.points, &outcomes);
        Ok(results)
    }

    /// Runs every point, and ranks the values of the swept key `by` by `metric`, of which less is better.
    #[pyo3(signature = (by, metric, jobs=None, progress=None))]
    fn rank(
        &self,
        py: Python<'_>,
        by: String,
        metric: String,
        jobs: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<ResultSet> {
        let terms = Terms { by, metric };
        let refused = |error: RankError| error::InputError::new_err(error.to_string());
        rank::check(&self.scenario.points, &terms).map_err(refused)?;
        let (scenario, outcomes) = self.outcomes(py, jobs, progress, 0)?;
        let ranked = rank::rank(&scenario, &outcomes, &terms).map_err(refused)?;
        Ok(ResultSet::new(ranked))
    }

    /// Runs the points with these indexes, and gives each one's rows as a Parquet file.
    fn run_parts<'py>(
        &self,
        py: Python<'py>,
        indexes: Vec<usize>,
    ) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
        if let Some(index) = indexes
            .iter()
            .find(|index| **index >= self.scenario.points.len())
        {
            let points = self.scenario.points.len();
            return Err(PyIndexError::new_err(format!(
                "there is no point {index} among {points}"
            )));
        }
        let stop = interrupt::new_stop();
        let options = RunOptions {
            stop: Some(Arc::clone(&stop)),
            ..RunOptions::default()
        };
        let scenario = Arc::clone(&self.scenario);
        let work = move || {
            let part = |index: usize| {
                let point = &scenario.points[index];
                let failed = |error: &dyn std::fmt::Display| {
                    format!("{point} of {}: {error}", scenario.name)
                };
                let outcome = pagemill_run::run_point_caught(point, &options)
                    .map_err(|error| failed(&error))?;
                let rows: Vec<_> = outcome.rows().cloned().collect();
                let bytes = parquet::write_rows(&rows).map_err(|error| failed(&error))?;
                Ok((index, bytes))
            };
            indexes
                .into_iter()
                .map(part)
                .collect::<Result<Vec<_>, String>>()
        };
        let parts = interrupt::run(py, &stop, work, |_| Ok(()))?.map_err(error::run)?;
        Ok(parts
            .into_iter()
            .map(|(index, bytes)| (index, PyBytes::new(py, &bytes)))
            .collect())
    }
}

impl Loaded {
    /// Runs every point; gives what ran beside what each point gave. Each point keeps at most `events_max` events.
    fn outcomes(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
        events_max: usize,
    ) -> PyResult<(Arc<Scenario>, Vec<Outcome>)> {
        let (scenario, policies) = self.to_run(py)?;
        let stop = policies.stop();
        let options = RunOptions {
            events_max,
            stop: Some(Arc::clone(&stop)),
            ..RunOptions::default()
        };
        let asks_python = !self.policies.is_empty();
        let jobs = jobs.unwrap_or_else(available_cores).max(1);
        let done = Arc::new(AtomicUsize::new(0));
        let (counted, running) = (Arc::clone(&done), Arc::clone(&scenario));
        let work = move || {
            run_all(&running.points, jobs, |point| {
                let _at_end = CountAtEnd(Arc::clone(&counted));
                match asks_python {
                    // A thread that the interpreter knows takes its lock faster than one that it meets anew each time.
                    true => Python::attach(|py| py.detach(|| run_point(point, &options))),
                    false => run_point(point, &options),
                }
            })
        };
        let points = scenario.points.len();
        let outcomes = interrupt::run(py, &stop, work, |_| match &progress {
            Some(progress) => progress
                .call1((done.load(Ordering::Relaxed), points))
                .map(drop),
            None => Ok(()),
        })?;
        policies.raise()?;
        let outcomes = outcomes.map_err(|(index, failure)| {
            error::run(format!(
                "{} of {}: {failure}",
                scenario.points[index], scenario.name
            ))
        })?;
        Ok((scenario, outcomes))
    }

    /// The scenario with policies that have decided nothing yet.
    pub fn to_run(&self, py: Python<'_>) -> PyResult<(Arc<Scenario>, Policies)> {
        let policies = Policies::new(py, &self.policies)?;
        if self.policies.is_empty() {
            return Ok((Arc::clone(&self.scenario), policies));
        }
        let Scenario {
            source, machines, ..
        } = &*self.scenario;
        let scenario = py
            .detach(|| with_lent(policies.lent(), || load_given(source, &self.sets, machines)))
            .map_err(|errors| error::input(&errors))?;
        Ok((Arc::new(scenario), policies))
    }

    fn key_of(&self, decides: Decides) -> PyResult<&'static str> {
        let is_driven = match &self.scenario.points[0].spec {
            PointSpec::Gpu(point) => point.transfer.driver.is_some(),
            PointSpec::Cuda(point) => point.transfer.driver.is_some(),
            PointSpec::Residency(_) if decides != Decides::Migration => true,
            _ => {
                return Err(error::InputError::new_err(format!(
                    "{} is of kind \"{}\": a policy of Python decides for kind \"gpu\"",
                    self.scenario.name,
                    self.kind()
                )));
            }
        };
        Ok(match decides {
            Decides::Migration => "transfer.mode",
            Decides::Growth => "machine.policy.growth",
            Decides::Prefetch => "machine.policy.prefetch",
            Decides::Eviction if is_driven => "machine.policy.eviction",
            Decides::Eviction => "machine.gmmu.eviction",
        })
    }
}

/// What the outcomes of a whole scenario say.
fn results(scenario: &Scenario, outcomes: &[Outcome]) -> ResultSet {
    results_of_rows(
        scenario,
        outcomes.iter().flat_map(Outcome::rows).cloned().collect(),
    )
}

/// What the rows of a whole scenario say.
pub fn results_of_rows(scenario: &Scenario, rows: Vec<Row>) -> ResultSet {
    let set = pagemill_run::result_set(scenario, rows.into_iter());
    let view = pagemill_run::terminal_view(&set, scenario);
    ResultSet { set, view }
}

/// Counts a point when it has ended.
struct CountAtEnd(Arc<AtomicUsize>);

impl Drop for CountAtEnd {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The value of a lock that a panic of another thread may have left behind.
pub fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
