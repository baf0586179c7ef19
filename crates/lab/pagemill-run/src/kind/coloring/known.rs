//! What many points of a sweep ask for, found once.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

/// Results by what they were made of. A result depends on nothing else, so that it does not matter which point made it.
pub struct Known<T>(Mutex<BTreeMap<String, T>>);

impl<T: Clone> Known<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// What `make` gives for `input`, which has to be all that it depends on. Two threads that ask at once may both make it.
    pub fn find<E>(&self, input: &impl Debug, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let key = format!("{input:?}");
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&key).cloned();
        if let Some(found) = found {
            return Ok(found);
        }
        let made = make()?;
        known().insert(key, made.clone());
        Ok(made)
    }
}
