//! What must hold of the values that a boot left, beyond what the guest can tell.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::protocol::Report;

/// A bound on one value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// One word.
    pub name: String,
    /// The value's name.
    pub value: String,
    /// The least that it may be.
    #[serde(default)]
    pub at_least: u64,
    /// The most that it may be.
    #[serde(default = "most")]
    pub at_most: u64,
}

fn most() -> u64 {
    u64::MAX
}

impl Claim {
    /// Whether it holds.
    ///
    /// # Errors
    /// It does not, or the value was never reported.
    pub fn check(&self, report: &Report) -> Result<()> {
        let number = report
            .number(&self.value)
            .with_context(|| format!("no test reported {}", self.value))?;
        if (self.at_least..=self.at_most).contains(&number) {
            return Ok(());
        }
        bail!(
            "{} is {number}, and has to be {}",
            self.value,
            self.bounds_in_words()
        )
    }

    fn bounds_in_words(&self) -> String {
        match (self.at_least, self.at_most) {
            (least, most) if least == most => format!("{least}"),
            (least, u64::MAX) => format!("at least {least}"),
            (0, most) => format!("at most {most}"),
            (least, most) => format!("from {least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests;
