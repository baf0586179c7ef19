use crate::Value;

/// Whether a column was chosen before the run or found by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// An input of the row: a swept key of the scenario.
    Parameter,
    /// An outcome of the row.
    Metric,
}

/// What the numbers of a column count. It decides how people see them, never how machines do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// How many: 1234567 is shown as `1,234,567`.
    Count,
    /// Bytes: 1536 is shown as `1.50 KiB`.
    Bytes,
    /// Nanoseconds: 1500 is shown as `1.50 µs`.
    TimeNs,
    /// Bytes per second: 16000000000 is shown as `16.0 GB/s`.
    BytesPerSecond,
    /// A share between 0 and 1: 0.25 is shown as `25.0 %`.
    Rate,
    /// One number over another: 1.29 is shown as `1.29×`.
    Ratio,
    /// A plain number without a unit.
    Number,
    /// Words and flags.
    Text,
}

impl ColumnKind {
    /// The unit of the number as machines read it: the empty string where there is none.
    pub fn machine_unit(self) -> &'static str {
        match self {
            ColumnKind::Bytes => "B",
            ColumnKind::TimeNs => "ns",
            ColumnKind::BytesPerSecond => "B/s",
            ColumnKind::Count
            | ColumnKind::Rate
            | ColumnKind::Ratio
            | ColumnKind::Number
            | ColumnKind::Text => "",
        }
    }

    /// The name of this kind in `results.json`.
    pub fn machine_name(self) -> &'static str {
        match self {
            ColumnKind::Count => "count",
            ColumnKind::Bytes => "bytes",
            ColumnKind::TimeNs => "time_ns",
            ColumnKind::BytesPerSecond => "bytes_per_second",
            ColumnKind::Rate => "rate",
            ColumnKind::Ratio => "ratio",
            ColumnKind::Number => "number",
            ColumnKind::Text => "text",
        }
    }

    /// The kind whose [`machine_name`](Self::machine_name) is `name`.
    pub fn of_machine_name(name: &str) -> Option<Self> {
        let all = [
            ColumnKind::Count,
            ColumnKind::Bytes,
            ColumnKind::TimeNs,
            ColumnKind::BytesPerSecond,
            ColumnKind::Rate,
            ColumnKind::Ratio,
            ColumnKind::Number,
            ColumnKind::Text,
        ];
        all.into_iter().find(|kind| kind.machine_name() == name)
    }

    /// What an undescribed column most likely holds, by the unit in its name and by a value of it.
    pub fn guess(name: &str, sample: Option<&Value>) -> Self {
        if matches!(sample, None | Some(Value::Text(_) | Value::Bool(_))) {
            return ColumnKind::Text;
        }
        let last_word = name.rsplit(['_', '.']).next().unwrap_or(name);
        match (last_word, sample) {
            ("ns", _) => ColumnKind::TimeNs,
            ("bytes", _) => ColumnKind::Bytes,
            ("rate", _) => ColumnKind::Rate,
            ("ratio" | "speedup" | "slowdown", _) => ColumnKind::Ratio,
            (_, Some(Value::Float(_))) => ColumnKind::Number,
            _ => ColumnKind::Count,
        }
    }
}

/// What one column of the rows means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name the rows use, with its unit: `time_ns`.
    pub name: String,
    /// Input or outcome.
    pub role: ColumnRole,
    /// What its numbers count.
    pub kind: ColumnKind,
    /// One sentence for people.
    pub doc: String,
}

impl Column {
    /// Describes an input.
    pub fn parameter(name: impl Into<String>, kind: ColumnKind, doc: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            role: ColumnRole::Parameter,
            kind,
            doc: doc.into(),
        }
    }

    /// Describes an outcome.
    pub fn metric(name: impl Into<String>, kind: ColumnKind, doc: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            role: ColumnRole::Metric,
            kind,
            doc: doc.into(),
        }
    }
}
