//! What the guest reports, line by line.

use std::fmt::Write as _;

/// How a test went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Not as it should; why.
    Failed(String),
    /// It could not run; why.
    Skipped(String),
}

/// A measured number.
#[derive(Debug, PartialEq, Eq)]
struct Value {
    test: String,
    name: String,
    number: String,
    unit: String,
}

/// All that was heard of one boot.
#[derive(Debug, Default)]
pub struct Report {
    /// Started and not ended yet.
    running: Option<String>,
    outcomes: Vec<(String, Outcome)>,
    values: Vec<Value>,
    /// How many tests the guest says it ran.
    ended: Option<usize>,
    /// Why the guest ran no test.
    broken: Option<String>,
    /// How the emulator ended, if not as it should.
    pub emulator: Option<String>,
    /// The last lines of the guest's console.
    pub console: String,
}

impl Report {
    /// Takes a line from the guest; lines that are no reports are ignored. Returns what to show, if anything.
    pub fn see(&mut self, line: &str) -> Option<String> {
        let (kind, rest) = split(line.trim_end().strip_prefix("@ ")?);
        match kind {
            "start" => self.running = Some(rest.to_owned()),
            "value" => self.see_value(rest),
            "pass" => self.record(rest, Outcome::Passed),
            "fail" | "skip" => {
                let (name, reason) = split(rest);
                let reason = reason.to_owned();
                let is_failure = kind == "fail";
                let outcome = if is_failure {
                    Outcome::Failed(reason)
                } else {
                    Outcome::Skipped(reason)
                };
                self.record(name, outcome);
            }
            "end" => self.ended = rest.parse().ok(),
            "broken" => self.broken = Some(rest.to_owned()),
            _ => return None,
        }
        Some(format!("{kind} {rest}"))
    }

    fn see_value(&mut self, text: &str) {
        if let Some(test) = self.running.clone() {
            self.values.extend(value_in(&test, text));
        }
    }

    /// Takes a line `value NAME NUMBER UNIT` from who watches the emulator.
    pub fn see_observed(&mut self, line: &str) {
        if let ("value", text) = split(line) {
            self.values.extend(value_in("observed", text));
        }
    }

    /// The numbers of the tasks of which something is observed under `name`.
    pub fn observed_tasks(&self, name: &str) -> Vec<u32> {
        let task = |value: &Value| {
            let rest = value.name.strip_prefix(name)?.strip_prefix(".task")?;
            rest.strip_suffix(".l1_misses")?.parse().ok()
        };
        self.values.iter().filter_map(task).collect()
    }

    /// The last value of this name.
    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.values.iter().rfind(|value| value.name == name)?;
        value.number.parse().ok()
    }

    /// Only the test that is running can end, so that a stray line changes nothing.
    fn record(&mut self, name: &str, outcome: Outcome) {
        if self.running.as_deref() == Some(name) {
            self.running = None;
            self.outcomes.push((name.to_owned(), outcome));
        }
    }

    /// How `test` went. One that was not heard of failed.
    pub fn outcome(&self, test: &str) -> Outcome {
        let ended = self.outcomes.iter().find(|(name, _)| name == test);
        if let Some((_, outcome)) = ended {
            return outcome.clone();
        }
        let reason = if self.running.as_deref() == Some(test) {
            "it started and never reported: the guest hung, was too slow, or died"
        } else {
            "it never started"
        };
        Outcome::Failed(reason.to_owned())
    }

    /// What is wrong beside single tests, if anything; `sent` tests should have run.
    pub fn problem(&self, sent: usize) -> Option<String> {
        if let Some(reason) = &self.broken {
            return Some(reason.clone());
        }
        if let Some(reason) = &self.emulator {
            return Some(reason.clone());
        }
        match self.ended {
            Some(count) if count == sent => None,
            Some(count) => Some(format!(
                "the guest ran {count} of {sent} tests and then stopped"
            )),
            None => Some("the guest went away before its last report".to_owned()),
        }
    }

    /// The measured values as a table, after a head of comments; none if nothing was measured.
    pub fn csv(&self, head: &[(&str, &str)]) -> Option<String> {
        if self.values.is_empty() {
            return None;
        }
        let mut text = String::new();
        for (name, value) in head {
            writeln!(text, "# {name}: {value}").expect("writing to a string");
        }
        text.push_str("test,name,value,unit\n");
        for value in &self.values {
            let Value {
                test,
                name,
                number,
                unit,
            } = value;
            writeln!(text, "{test},{name},{number},{unit}").expect("writing to a string");
        }
        Some(text)
    }
}

/// `NAME NUMBER UNIT`.
fn value_in(test: &str, text: &str) -> Option<Value> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, number, unit] = words[..] else {
        return None;
    };
    Some(Value {
        test: test.to_owned(),
        name: name.to_owned(),
        number: number.to_owned(),
        unit: unit.to_owned(),
    })
}

/// The first word and the rest.
fn split(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
