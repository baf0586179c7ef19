use crate::Value;

/// One point of a sweep: what was asked, and what came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The kind of scenario that it is a point of; empty where a command without scenarios made it.
    pub kind: String,
    /// The swept keys and their values, in the order of the sweep.
    pub parameters: Vec<(String, Value)>,
    /// The outcomes.
    pub metrics: Vec<(String, Value)>,
}

impl Row {
    /// A row without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The row with one more input.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// The row with one more outcome.
    pub fn metric(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metrics.push((name.into(), value.into()));
        self
    }

    /// All values, inputs first.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parameters
            .iter()
            .chain(&self.metrics)
            .map(|(name, value)| (name.as_str(), value))
    }

    /// The value called `name`, if this row has one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value)
    }

    /// The number called `name`, if this row has one and it is finite.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }
}
