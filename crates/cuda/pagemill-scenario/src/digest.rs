//! Identity of points, under which results are kept.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::document::{Table, write_document};
use crate::point::Parameter;

/// Changes when the same values would be told apart in another way.
const FORM: &str = "pagemill-point/1";

/// Words about a scenario, which results do not depend on.
const WORDS: [&str; 2] = ["title", "about"];

/// The values of one point, as text.
pub(crate) struct Identity(String);

impl Identity {
    /// Of a scenario and its machine with everything laid over them.
    pub fn of(scenario: &Table, machine: Option<&Table>) -> Self {
        let mut scenario = scenario.clone();
        for word in WORDS {
            scenario.remove(word);
        }
        let machine = machine.map(write_document).unwrap_or_default();
        Self(format!(
            "{FORM}\n{}\n{}\n{machine}",
            env!("CARGO_PKG_VERSION"),
            write_document(&scenario),
        ))
    }

    /// The digest of these values and of how a row shows them.
    pub fn digest(&self, parameters: &[Parameter]) -> String {
        let mut text = self.0.clone();
        for parameter in parameters {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{} = {:?}", parameter.column, parameter.value);
        }
        let mut hexadecimal = String::with_capacity(64);
        for byte in Sha256::digest(text) {
            let _ = write!(hexadecimal, "{byte:02x}");
        }
        hexadecimal
    }
}
