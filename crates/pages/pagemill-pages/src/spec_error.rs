//! Values that no machine can have, by the name of their key.

use std::fmt;

/// A value that a specification cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Dotted name of the key in a machine file, `tlb.entries`; `_bytes` or `_cycles` may follow.
    pub key: String,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.key, self.value, self.allowed)
    }
}

impl std::error::Error for SpecError {}

impl SpecError {
    /// What was given for `key`, and what is allowed.
    pub fn new(key: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }
}
