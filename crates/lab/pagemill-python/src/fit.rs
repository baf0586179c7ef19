//! A search for settings, whose points Python runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pagemill_run::fit::{Answer, Trial};
use pagemill_scenario::FitPlan;
use pyo3::prelude::*;

use crate::error;
use crate::loaded::{Loaded, locked};
use crate::result_set::ResultSet;
use crate::store::Store;

/// A search: proposes batches of settings, and takes their results.
#[pyclass(frozen, module = "pagemill._native")]
pub struct Fit {
    fit: Mutex<pagemill_run::fit::Fit>,
    /// The last batch, until its results are known.
    asked: Mutex<Vec<Trial>>,
}

#[pymethods]
impl Fit {
    /// The search that the section `[fit]` of a scenario asks for.
    #[new]
    fn new(py: Python<'_>, loaded: &Loaded) -> PyResult<Self> {
        let plan = py.detach(|| FitPlan::new(Arc::clone(&loaded.scenario), &loaded.sets));
        let plan = plan.map_err(|errors| error::input(&errors))?;
        Ok(Self {
            fit: Mutex::new(pagemill_run::fit::Fit::new(plan)),
            asked: Mutex::default(),
        })
    }

    /// Settings to try in all.
    fn points(&self) -> u64 {
        locked(&self.fit).plan().spec().points
    }

    /// Settings that were tried.
    fn tried(&self) -> u64 {
        locked(&self.fit).tried()
    }

    /// The scenarios of the next batch, `None` for one that cannot be run; nothing at the end.
    fn ask(&self, py: Python<'_>) -> Vec<Option<Loaded>> {
        let trials = py.detach(|| locked(&self.fit).ask());
        let loaded = trials.iter().map(|trial| {
            Some(Loaded {
                scenario: Arc::clone(trial.scenario.as_ref().ok()?),
                sets: trial.sets.clone(),
                policies: Vec::new(),
            })
        });
        let loaded = loaded.collect();
        *locked(&self.asked) = trials;
        loaded
    }

    /// Results of the last batch, in its order.
    fn tell(&self, stores: Vec<Option<PyRef<'_, Store>>>) -> PyResult<()> {
        let trials = std::mem::take(&mut *locked(&self.asked));
        let answer = |store: &Option<PyRef<'_, Store>>| match store {
            Some(store) => store.rows().map(Answer::Rows),
            None => Ok(Answer::Refused("this setting cannot be run".to_owned())),
        };
        let answers = stores.iter().map(answer).collect::<PyResult<Vec<_>>>()?;
        locked(&self.fit).tell(trials.into_iter().zip(answers));
        Ok(())
    }

    /// What was found so far.
    fn result(&self) -> ResultSet {
        let fit = locked(&self.fit);
        ResultSet {
            set: fit.result_set(),
            view: fit.table(),
        }
    }

    /// Writes the results into the folder of a store.
    fn write(&self, folder: PathBuf) -> PyResult<()> {
        let store = pagemill_run::Store::open(&folder).map_err(error::run)?;
        let set = locked(&self.fit).result_set();
        store.write_results(&set).map_err(error::run)
    }
}
