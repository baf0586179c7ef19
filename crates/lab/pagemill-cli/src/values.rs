//! Values of options that name something.

use std::num::NonZeroUsize;

use clap::Args;
use pagemill_policy::residency::{AccessPattern, STRATEGIES, StrategyEntry, Variant};
use pagemill_scenario::quantity::Dimension;

use crate::failure::Failure;

/// A pattern by name.
pub fn pattern(text: &str) -> Result<AccessPattern, String> {
    let names = AccessPattern::ALL.map(AccessPattern::name);
    AccessPattern::from_name(text).ok_or_else(|| one_of(&names))
}

/// A variant by name.
pub fn variant(text: &str) -> Result<Variant, String> {
    Variant::from_name(text).ok_or_else(|| one_of(&Variant::ALL.map(Variant::name)))
}

/// A strategy by name.
pub fn strategy(text: &str) -> Result<&'static StrategyEntry, String> {
    STRATEGIES.find(text).map_err(|error| error.to_string())
}

fn one_of(names: &[&str]) -> String {
    format!("use one of {}", names.join(", "))
}

/// A positive number.
pub fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("use a number above 0, such as 1.5".to_owned()),
    }
}

/// A size with its unit.
pub fn size(text: &str) -> Result<u64, String> {
    let bytes = Dimension::Bytes.parse(text).map_err(|error| {
        let help = error.help().map(|help| format!("; {help}"));
        format!("{error}{}", help.unwrap_or_default())
    })?;
    match bytes {
        0 => Err("use a size above 0, such as 16GiB".to_owned()),
        bytes => Ok(bytes),
    }
}

// No doc comment: it would become that of the command.
#[derive(Args, Clone, Debug)]
pub struct Laid {
    /// The machine instead of the scenario's, by name or by file; several are swept
    #[arg(long = "machine", value_name = "NAME,..", value_delimiter = ',')]
    machines: Vec<String>,

    /// Replace a value or a sweep of the scenario or its machine; a list sweeps
    ///
    /// Examples: --set transfer.mode=whole-page, --set 'transfer.unit=["1 KiB", "4 KiB"]'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl Laid {
    /// All that is laid over the scenario, as values of `--set`.
    pub fn sets(&self) -> Result<Vec<String>, Failure> {
        let mut sets = self.sets.clone();
        if self.machines.is_empty() {
            return Ok(sets);
        }
        let names_it = |set: &&String| {
            set.split_once('=')
                .is_some_and(|(key, _)| key.trim() == "machine")
        };
        if let Some(set) = sets.iter().find(names_it) {
            return Err(Failure::Usage(format!(
                "--machine and --set {set} both name the machine: keep one of them"
            )));
        }
        // A JSON string is a TOML string.
        let quoted: Vec<String> = self
            .machines
            .iter()
            .map(|name| serde_json::Value::from(name.as_str()).to_string())
            .collect();
        sets.push(match quoted.as_slice() {
            [one] => format!("machine={one}"),
            several => format!("machine=[{}]", several.join(", ")),
        });
        Ok(sets)
    }
}

// No doc comment: it would become that of the command.
#[derive(Args, Clone, Copy, Debug)]
pub struct Cores {
    /// Points to run at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Threads of one point, where kernels run without time [default: the cores that no other point uses]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Cores {
    /// Points at the same time.
    pub fn jobs(self) -> usize {
        self.jobs
            .map_or_else(pagemill_run::available_cores, NonZeroUsize::get)
    }

    /// Threads of each of `points` points.
    pub fn threads(self, points: usize) -> usize {
        let at_once = self.jobs().min(points).max(1);
        let left = || (pagemill_run::available_cores() / at_once).max(1);
        self.threads.map_or_else(left, NonZeroUsize::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_none_says_what_is_missing() {
        for (text, says) in [
            ("5", "a number of bytes needs its unit"),
            ("5parsecs", "`parsecs` is no unit of a number of bytes"),
            ("abc", "a number of bytes is needed"),
            ("0GiB", "use a size above 0"),
        ] {
            let error = size(text).expect_err(text);
            assert!(error.starts_with(says), "{text}: {error}");
        }
        assert_eq!(size("2MiB"), Ok(2 << 20));
    }
}
