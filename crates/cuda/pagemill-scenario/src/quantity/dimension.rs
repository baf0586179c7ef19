use crate::names::nearest;

/// What a number with a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Bytes.
    Bytes,
    /// Bytes per second.
    Bandwidth,
    /// Hertz.
    Frequency,
    /// Picoseconds.
    Time,
    /// Cycles of the part's own clock.
    Cycles,
}

/// An amount in the base unit of its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// What is measured.
    pub dimension: Dimension,
    /// How much: bytes, bytes per second, hertz, picoseconds, or cycles.
    pub amount: u64,
}

/// Names of a unit and how many base units it is.
type Unit = (&'static str, u64);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const KILO: u64 = 1_000;
const MEGA: u64 = 1_000_000;
const GIGA: u64 = 1_000_000_000;
const TERA: u64 = 1_000_000_000_000;

const BYTES: &[Unit] = &[
    ("B", 1),
    ("kB", KILO),
    ("KB", KILO),
    ("MB", MEGA),
    ("GB", GIGA),
    ("TB", TERA),
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", TIB),
];
const BANDWIDTH: &[Unit] = &[
    ("B/s", 1),
    ("kB/s", KILO),
    ("KB/s", KILO),
    ("MB/s", MEGA),
    ("GB/s", GIGA),
    ("TB/s", TERA),
    ("KiB/s", KIB),
    ("MiB/s", MIB),
    ("GiB/s", GIB),
    ("TiB/s", TIB),
];
const FREQUENCY: &[Unit] = &[("Hz", 1), ("kHz", KILO), ("MHz", MEGA), ("GHz", GIGA)];
const TIME: &[Unit] = &[
    ("ps", 1),
    ("ns", KILO),
    ("us", MEGA),
    ("µs", MEGA),
    ("μs", MEGA),
    ("ms", GIGA),
    ("s", TERA),
];
const CYCLES: &[Unit] = &[("cycles", 1), ("cycle", 1)];

impl Dimension {
    /// Every dimension.
    pub const ALL: [Self; 5] = [
        Self::Bytes,
        Self::Bandwidth,
        Self::Frequency,
        Self::Time,
        Self::Cycles,
    ];

    fn units(self) -> &'static [Unit] {
        match self {
            Self::Bytes => BYTES,
            Self::Bandwidth => BANDWIDTH,
            Self::Frequency => FREQUENCY,
            Self::Time => TIME,
            Self::Cycles => CYCLES,
        }
    }

    /// The dimension with its article, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "a number of bytes",
            Self::Bandwidth => "a bandwidth",
            Self::Frequency => "a frequency",
            Self::Time => "a time",
            Self::Cycles => "a number of cycles",
        }
    }

    /// A valid value, for messages.
    pub fn example(self) -> &'static str {
        match self {
            Self::Bytes => "2 MiB",
            Self::Bandwidth => "16 GB/s",
            Self::Frequency => "1.4 GHz",
            Self::Time => "600 ns",
            Self::Cycles => "24 cycles",
        }
    }

    /// The base unit, for messages.
    fn base_unit(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Bandwidth => "bytes per second",
            Self::Frequency => "hertz",
            Self::Time => "picoseconds",
            Self::Cycles => "cycles",
        }
    }

    /// The unit that a bare number most likely means.
    pub(crate) fn likely_unit(self) -> &'static str {
        match self {
            Self::Bytes => "B",
            Self::Bandwidth => "GB/s",
            Self::Frequency => "MHz",
            Self::Time => "ns",
            Self::Cycles => "cycles",
        }
    }

    /// Reads `text`, a number and a unit, exactly.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence that begins with the value.
    pub fn parse(self, text: &str) -> Result<u64, QuantityError> {
        let (number, unit) = split(text).ok_or(QuantityError::NoNumber(self))?;
        if unit.is_empty() {
            return Err(QuantityError::NoUnit(self));
        }
        let factor = self.units().iter().find(|(name, _)| *name == unit);
        let (_, factor) =
            factor.ok_or_else(|| QuantityError::UnknownUnit(self, unit.to_owned()))?;
        number.times(*factor, self)
    }
}

/// Reads `text` in whatever dimension its unit belongs to.
pub fn parse_any(text: &str) -> Option<Quantity> {
    Dimension::ALL.into_iter().find_map(|dimension| {
        let amount = dimension.parse(text).ok()?;
        Some(Quantity { dimension, amount })
    })
}

/// Why a text is no amount of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// It does not begin with a plain decimal number.
    NoNumber(Dimension),
    /// The number stands alone.
    NoUnit(Dimension),
    /// The unit belongs to something else, or to nothing.
    UnknownUnit(Dimension, String),
    /// The amount is no whole number of base units.
    Fraction(Dimension),
    /// The amount does not fit into 64 bits.
    TooLarge(Dimension),
}

impl QuantityError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        let (Self::NoNumber(dimension) | Self::NoUnit(dimension) | Self::UnknownUnit(dimension, _)) =
            self
        else {
            return None;
        };
        let names = || {
            dimension
                .units()
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| !is_alias(name))
        };
        let units = names().collect::<Vec<_>>().join(", ");
        let near = match self {
            Self::UnknownUnit(_, unit) => nearest(unit, names()),
            _ => None,
        };
        Some(match near {
            Some(near) => format!(
                "did you mean `{near}`? units of {}: {units}",
                dimension.name()
            ),
            None => format!(
                "write for example {:?}; units: {units}",
                dimension.example()
            ),
        })
    }
}

fn is_alias(unit: &str) -> bool {
    matches!(unit, "KB" | "KB/s" | "µs" | "μs" | "cycle")
}

impl std::fmt::Display for QuantityError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNumber(dimension) => {
                write!(f, "{} is needed, a number with its unit", dimension.name())
            }
            Self::NoUnit(dimension) => write!(f, "{} needs its unit", dimension.name()),
            Self::UnknownUnit(dimension, unit) => {
                write!(f, "`{unit}` is no unit of {}", dimension.name())
            }
            Self::Fraction(dimension) => {
                write!(f, "this is no whole number of {}", dimension.base_unit())
            }
            Self::TooLarge(dimension) => {
                write!(
                    f,
                    "more than {} {} cannot be counted",
                    u64::MAX,
                    dimension.base_unit()
                )
            }
        }
    }
}

impl std::error::Error for QuantityError {}

/// A decimal number: `digits` divided by 10 to the power of `decimals`.
#[derive(Clone, Copy)]
struct Decimal {
    /// `None` when there are more digits than can be held.
    digits: Option<u64>,
    decimals: u32,
}

impl Decimal {
    fn times(self, factor: u64, dimension: Dimension) -> Result<u64, QuantityError> {
        let digits = self.digits.ok_or(QuantityError::TooLarge(dimension))?;
        let product = u128::from(digits) * u128::from(factor);
        let divisor = 10_u128
            .checked_pow(self.decimals)
            .ok_or(QuantityError::Fraction(dimension))?;
        if product % divisor != 0 {
            return Err(QuantityError::Fraction(dimension));
        }
        u64::try_from(product / divisor).map_err(|_| QuantityError::TooLarge(dimension))
    }
}

/// Splits `"1.4 GHz"` into the number and the unit.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches(['0', '_']);
    let plain: String = [whole, fraction]
        .concat()
        .chars()
        .filter(|c| *c != '_')
        .collect();
    let decimals = fraction.chars().filter(|c| *c != '_').count();
    let number = Decimal {
        digits: plain.parse().ok(),
        decimals: u32::try_from(decimals).ok()?,
    };
    Some((number, unit.trim_start()))
}

/// Digits, with single underscores between them.
fn is_digits(text: &str) -> bool {
    text.split('_')
        .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
