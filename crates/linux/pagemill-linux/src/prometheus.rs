//! Counters of daemons in the text format of Prometheus.

use std::fmt::{Display, Write};

/// Metrics of one daemon as text, a family after the other.
#[derive(Clone, Debug)]
pub struct Metrics {
    prefix: &'static str,
    text: String,
}

impl Metrics {
    /// None yet; the names of all begin with `prefix`.
    pub fn new(prefix: &'static str) -> Self {
        let text = String::new();
        Self { prefix, text }
    }

    /// Adds a number that may fall.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help, [(String::new(), value)]);
    }

    /// Adds a number that only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help, [(String::new(), value)]);
    }

    /// Adds numbers that labels such as `{user="0"}` tell apart; `kind` is `gauge` or `counter`.
    pub fn family<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) {
        let (prefix, text) = (self.prefix, &mut self.text);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {prefix}{name} {help}");
        let _ = writeln!(text, "# TYPE {prefix}{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{prefix}{name}{labels} {value}");
        }
    }

    /// All of it.
    pub fn text(self) -> String {
        self.text
    }
}
