use std::fmt;

/// One cell of a result table.
///
/// A cell that does not apply is left out of its [`Row`](crate::Row); there is no null value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// A number with a fraction. NaN and the infinities are written as "no value".
    Float(f64),
    /// Words.
    Text(String),
    /// Yes or no.
    Bool(bool),
}

impl Value {
    /// The value as a finite number; text and flags are none.
    pub fn as_f64(&self) -> Option<f64> {
        let number = match self {
            Value::Unsigned(n) => *n as f64,
            Value::Signed(n) => *n as f64,
            Value::Float(n) => *n,
            Value::Text(_) | Value::Bool(_) => return None,
        };
        number.is_finite().then_some(number)
    }

    /// Whether this is a float without a value: NaN or an infinity.
    pub fn is_not_a_number(&self) -> bool {
        matches!(self, Value::Float(n) if !n.is_finite())
    }
}

/// The exact machine form: what JSON and CSV hold. A float without a value is the empty string.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned(n) => write!(f, "{n}"),
            Value::Signed(n) => write!(f, "{n}"),
            Value::Float(n) => match serde_json::Number::from_f64(*n) {
                Some(number) => write!(f, "{number}"),
                None => Ok(()),
            },
            Value::Text(text) => f.write_str(text),
            Value::Bool(flag) => write!(f, "{flag}"),
        }
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Value::Unsigned(n)
    }
}

impl From<u32> for Value {
    fn from(n: u32) -> Self {
        Value::Unsigned(n.into())
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Self {
        Value::Unsigned(n as u64)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        u64::try_from(n).map_or(Value::Signed(n), Value::Unsigned)
    }
}

impl From<f64> for Value {
    fn from(n: f64) -> Self {
        Value::Float(n)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}
