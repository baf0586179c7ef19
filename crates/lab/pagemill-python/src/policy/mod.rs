//! Policies that are written in Python: lent to the registries under their names while a scenario is read, and asked through the
//! interpreter while it runs.

mod around;
mod eviction;
mod growth;
mod migration;
mod prefetch;
mod ranges;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_policy::residency::{AHEADS, EVICTIONS, GROWTHS};
use pagemill_scenario::transfer_modes;
use pagemill_types::{Lent, Named, Registry};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

pub use around::Around;
pub use ranges::Ranges;

use crate::interrupt;
use crate::loaded::locked;

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    Migration,
    Growth,
    Prefetch,
    Eviction,
}

/// Policies of one run, and what one of them raised.
pub struct Policies {
    lent: Vec<Lent>,
    names: Vec<(Decides, &'static str)>,
    failure: Arc<Failure>,
}

/// The first exception; it stops the run.
struct Failure {
    stop: Arc<AtomicBool>,
    exception: Mutex<Option<PyErr>>,
}

impl Policies {
    /// Takes objects of the classes of `pagemill._policy`.
    pub fn new(py: Python<'_>, policies: &[Py<PyAny>]) -> PyResult<Self> {
        let failure = Arc::new(Failure {
            stop: interrupt::new_stop(),
            exception: Mutex::new(None),
        });
        let mut built = Self {
            lent: Vec::new(),
            names: Vec::new(),
            failure,
        };
        for policy in policies {
            built.add(policy.bind(py))?;
        }
        Ok(built)
    }

    fn add(&mut self, policy: &Bound<'_, PyAny>) -> PyResult<()> {
        let decides = decides(policy)?;
        let shared = Arc::new(Shared::new(policy, Arc::clone(&self.failure))?);
        let name = shared.name;
        let is_known = match decides {
            Decides::Migration => transfer_modes().any(|(known, _)| known == name),
            Decides::Growth => is_registered(&GROWTHS, name),
            Decides::Prefetch => is_registered(&AHEADS, name),
            Decides::Eviction => is_registered(&EVICTIONS, name),
        };
        if is_known || self.names.contains(&(decides, name)) {
            return Err(PyValueError::new_err(format!(
                "{} has the name {name:?}, which another policy has: choose a new one",
                shared.class
            )));
        }
        self.lent.push(match decides {
            Decides::Migration => migration::entry(shared),
            Decides::Growth => growth::entry(shared),
            Decides::Prefetch => prefetch::entry(shared),
            Decides::Eviction => eviction::entry(shared),
        });
        self.names.push((decides, name));
        Ok(())
    }

    /// What each decides, and its name.
    pub fn names(&self) -> &[(Decides, &'static str)] {
        &self.names
    }

    /// For [`pagemill_types::with_lent`].
    pub fn lent(&self) -> &[Lent] {
        &self.lent
    }

    /// Set when a policy has raised.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.failure.stop)
    }

    /// Raises what a policy raised, once.
    pub fn raise(&self) -> PyResult<()> {
        locked(&self.failure.exception).take().map_or(Ok(()), Err)
    }
}

fn is_registered<T: Named>(registry: &'static Registry<T>, name: &str) -> bool {
    registry.iter().any(|entry| entry.name() == name)
}

fn decides(policy: &Bound<'_, PyAny>) -> PyResult<Decides> {
    let decides = policy
        .getattr("_decides")
        .and_then(|it| it.extract::<String>());
    match decides.as_deref() {
        Ok("migration") => Ok(Decides::Migration),
        Ok("growth") => Ok(Decides::Growth),
        Ok("prefetch") => Ok(Decides::Prefetch),
        Ok("eviction") => Ok(Decides::Eviction),
        _ => Err(PyTypeError::new_err(
            "a policy is an object of a subclass of pagemill.MigrationPolicy, GrowthPolicy, PrefetchPolicy or EvictionPolicy",
        )),
    }
}

/// A policy object as its user made it.
struct Shared {
    name: &'static str,
    class: String,
    policy: Py<PyAny>,
    failure: Arc<Failure>,
}

impl Shared {
    fn new(policy: &Bound<'_, PyAny>, failure: Arc<Failure>) -> PyResult<Self> {
        let class = policy.get_type().name()?.to_string();
        let name = policy
            .getattr("name")
            .and_then(|name| name.extract::<String>());
        let name = name.map_err(|_| {
            PyTypeError::new_err(format!(
                "{class} has no `name`: give it a string, lower case words with dashes"
            ))
        })?;
        Ok(Self {
            // The registry's entries live forever, and so do these few bytes for each policy object.
            name: name.leak(),
            class,
            policy: policy.clone().unbind(),
            failure,
        })
    }

    /// The object that decides for one point: what `build` makes of the user's. `None` where that failed; the run is then stopped.
    fn instance(
        self: &Arc<Self>,
        arguments: impl FnOnce(Python<'_>) -> PyResult<Vec<Py<PyAny>>>,
    ) -> Instance {
        let policy = self.ask("build", |py| {
            let arguments = pyo3::types::PyTuple::new(py, arguments(py)?)?;
            let policy = self.policy.bind(py).call_method1("build", arguments)?;
            Ok(policy.unbind())
        });
        Instance {
            shared: Arc::clone(self),
            policy,
        }
    }

    /// What `ask` answers, for the method `method`; `None` if it raises or the run is stopped.
    fn ask<T>(&self, method: &str, ask: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.failure.stop.load(Ordering::Relaxed) {
            return None;
        }
        let answer = Python::attach(|py| {
            ask(py).inspect_err(|exception| {
                let note = format!("in {}.{method}, the policy {:?}", self.class, self.name);
                // An exception that takes no note is raised without.
                let _ = exception.value(py).call_method1("add_note", (note,));
            })
        });
        answer
            .map_err(|exception| {
                locked(&self.failure.exception).get_or_insert(exception);
                self.failure.stop.store(true, Ordering::Relaxed);
            })
            .ok()
    }

    /// An answer of the wrong type.
    fn wrong_type(&self, method: &str, answer: &Bound<'_, PyAny>, needed: &str) -> PyErr {
        let answer = answer
            .repr()
            .map_or_else(|_| "something".to_owned(), |it| it.to_string());
        PyTypeError::new_err(format!(
            "{}.{method} answered {answer}: {needed} is needed",
            self.class
        ))
    }

    /// An answer that breaks the contract.
    fn breach(&self, method: &str, answer: impl Display, what: impl Display) -> PyErr {
        PyValueError::new_err(format!("{}.{method} answered {answer}: {what}", self.class))
    }
}

/// A policy at work in one point.
struct Instance {
    shared: Arc<Shared>,
    policy: Option<Py<PyAny>>,
}

impl Instance {
    /// What `ask` answers of the policy's method `method`; `None` if it raises or the run is stopped.
    fn ask<T>(
        &self,
        method: &str,
        ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let policy = self.policy.as_ref()?;
        self.shared.ask(method, |py| ask(policy.bind(py)))
    }

    /// An attribute of the policy; its default where the class has none.
    fn attribute<T: Default + for<'a, 'py> FromPyObject<'a, 'py>>(
        &self,
        name: &str,
        needed: &str,
    ) -> T {
        let value = self.ask(name, |policy| {
            let value = policy.getattr(name)?;
            value
                .extract()
                .map_err(|_| self.shared.wrong_type(name, &value, needed))
        });
        value.unwrap_or_default()
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Python policy {}", self.shared.name)
    }
}
