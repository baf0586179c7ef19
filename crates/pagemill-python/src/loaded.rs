//! A scenario that was read and checked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pagemill_report::{Row, parquet};
use pagemill_run::{Outcome, RunOptions, available_cores, run_points};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Parameter, PointSpec, Scenario, load, load_given};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::policy::PythonPolicy;
use crate::result_set::ResultSet;
use crate::{error, interrupt};

/// A scenario with its machine and overrides: every point is known to be sound.
#[pyclass(frozen, module = "pagemill._native")]
pub struct Loaded {
    pub scenario: Arc<Scenario>,
    pub sets: Vec<String>,
}

/// Name, text, machines by the name they are asked by (with file name and text), overrides.
type Shipped = (String, String, Vec<(String, String, String)>, Vec<String>);

#[pymethods]
impl Loaded {
    /// A file, or a built-in scenario by name.
    #[staticmethod]
    fn read(py: Python<'_>, given: &str, sets: Vec<String>) -> PyResult<Self> {
        let scenario = py
            .detach(|| load(given, &sets))
            .map_err(|errors| error::input(&errors))?;
        Ok(Self {
            scenario: Arc::new(scenario),
            sets,
        })
    }

    /// A text with the machines that come with it: asked-for name, file name, text.
    #[staticmethod]
    fn of_text(
        py: Python<'_>,
        name: &str,
        text: &str,
        machines: Vec<(String, String, String)>,
        sets: Vec<String>,
    ) -> PyResult<Self> {
        let source = SourceText::given(name, text);
        let machines: Vec<(String, Arc<SourceText>)> = machines
            .into_iter()
            .map(|(asked, name, text)| (asked, SourceText::given(&name, &text)))
            .collect();
        let scenario = py
            .detach(|| load_given(&source, &sets, &machines))
            .map_err(|errors| error::input(&errors))?;
        Ok(Self {
            scenario: Arc::new(scenario),
            sets,
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

    /// Runs every point, `jobs` at a time; `progress(done, points)` is called from time to time.
    #[pyo3(signature = (jobs=None, policy=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        policy: Option<Bound<'_, PyAny>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<ResultSet> {
        let policy = policy
            .map(|policy| PythonPolicy::new(&policy))
            .transpose()?;
        let scenario = match &policy {
            None => Arc::clone(&self.scenario),
            Some(policy) => Arc::new(self.with_policy(py, policy)?),
        };
        let stop = policy
            .as_ref()
            .map_or_else(interrupt::new_stop, PythonPolicy::stop);
        let options = RunOptions {
            stop: Some(Arc::clone(&stop)),
            ..RunOptions::default()
        };
        let jobs = jobs.unwrap_or_else(available_cores).max(1);
        let done = Arc::new(AtomicUsize::new(0));
        let (counted, running) = (Arc::clone(&done), Arc::clone(&scenario));
        let work = move || {
            run_points(&running.points, jobs, &options, |_| {
                CountAtEnd(Arc::clone(&counted))
            })
        };
        let points = scenario.points.len();
        let outcomes = interrupt::run(py, &stop, work, |_| match &progress {
            Some(progress) => progress
                .call1((done.load(Ordering::Relaxed), points))
                .map(drop),
            None => Ok(()),
        })?;
        if let Some(exception) = policy.as_ref().and_then(PythonPolicy::take_exception) {
            return Err(exception);
        }
        let outcomes = outcomes.map_err(|(index, failure)| {
            error::run(format!(
                "{} of {}: {failure}",
                scenario.points[index], scenario.name
            ))
        })?;
        Ok(results(&scenario, &outcomes))
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
    /// The same scenario where `policy` decides what migrates.
    pub fn with_policy(&self, py: Python<'_>, policy: &PythonPolicy) -> PyResult<Scenario> {
        let kind = self.kind();
        if !["gpu", "cuda"].contains(&kind) {
            return Err(error::InputError::new_err(format!(
                "{} is of kind \"{kind}\": a policy of Python decides for kind \"gpu\"",
                self.scenario.name
            )));
        }
        let mut sets = self.sets.clone();
        // A registered policy that heeds every key stands in until the scenario is read.
        sets.push("transfer.mode=multi-range".to_owned());
        let Scenario {
            source, machines, ..
        } = &*self.scenario;
        let mut scenario = py
            .detach(|| load_given(source, &sets, machines))
            .map_err(|errors| error::input(&errors))?;
        for point in &mut scenario.points {
            match &mut point.spec {
                PointSpec::Gpu(gpu) => policy.decide_for(&mut gpu.transfer),
                PointSpec::Cuda(cuda) => policy.decide_for(&mut cuda.transfer),
                _ => {}
            }
        }
        Ok(scenario)
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
