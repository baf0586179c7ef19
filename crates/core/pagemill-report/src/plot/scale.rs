//! Maps values to positions and picks the values worth a tick.

use crate::ColumnKind;

/// How values are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal factors; ticks are powers of this base.
    Log(u32),
}

/// A range of values spaced along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    min: f64,
    max: f64,
    /// Between ticks of a linear scale that chose them; 0 leaves it open.
    step: f64,
    spacing: Spacing,
}

/// Ticks of a logarithmic axis are at most this many, and one.
const LOG_STEPS_MAX: i32 = 6;

impl Scale {
    /// A linear scale that begins at zero, or below for negative values, and ends at a tick.
    pub fn from_zero(values: impl Iterator<Item = f64>, kind: ColumnKind) -> Self {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        let (low, high) = (low.min(0.0), high.max(0.0));
        let span = if high > low { high - low } else { 1.0 };
        let step = nice_step(span / 5.0, kind);
        let mut max = (high / step).ceil() * step;
        let min = (low / step).floor() * step;
        if max <= min {
            max = min + step;
        }
        Self {
            min,
            max,
            step,
            spacing: Spacing::Linear,
        }
    }

    /// A linear scale between exactly two values.
    pub fn linear(min: f64, max: f64) -> Self {
        let max = if max > min { max } else { min + 1.0 };
        Self {
            min,
            max,
            step: 0.0,
            spacing: Spacing::Linear,
        }
    }

    /// A logarithmic scale between powers around the positive values: of two for bytes, of ten for all else.
    pub fn powers(values: impl Iterator<Item = f64>, kind: ColumnKind) -> Self {
        let base = base_of(kind);
        let (low, high) = bounds(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let power = |exponent: f64| f64::from(base).powf(exponent);
        let min = power(exponent_of(low, base).floor()).max(f64::MIN_POSITIVE);
        let mut max = power(exponent_of(high, base).ceil()).min(f64::MAX);
        if max <= min {
            max = min * f64::from(base);
        }
        Self::log(min, max.min(f64::MAX), kind)
    }

    /// A logarithmic scale between exactly two positive values.
    pub fn log(min: f64, max: f64, kind: ColumnKind) -> Self {
        Self::log_of_base(min, max, base_of(kind))
    }

    /// A logarithmic scale between exactly two positive values, with ticks at powers of two.
    pub fn log2(min: f64, max: f64) -> Self {
        Self::log_of_base(min, max, 2)
    }

    fn log_of_base(min: f64, max: f64, base: u32) -> Self {
        let max = if max > min { max } else { min * 2.0 };
        Self {
            min,
            max,
            step: 0.0,
            spacing: Spacing::Log(base),
        }
    }

    /// The lowest value.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The highest value.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Where bars stand: zero, or the foot of a logarithmic axis.
    pub fn base(&self) -> f64 {
        match self.spacing {
            Spacing::Linear => 0.0f64.clamp(self.min, self.max),
            Spacing::Log(_) => self.min,
        }
    }

    /// Whether lengths mean nothing, because the axis has no zero.
    pub fn is_log(&self) -> bool {
        self.spacing != Spacing::Linear
    }

    /// Whether the scale has a place for `value` at all.
    pub fn can_show(&self, value: f64) -> bool {
        self.spacing == Spacing::Linear || value > 0.0
    }

    /// Position of `value` between 0 and 1; values outside stop at the ends.
    pub fn position(&self, value: f64) -> f64 {
        let along = match self.spacing {
            Spacing::Linear => (value - self.min) / (self.max - self.min),
            Spacing::Log(_) => (value / self.min).ln() / (self.max / self.min).ln(),
        };
        if along.is_nan() {
            0.0
        } else {
            along.clamp(0.0, 1.0)
        }
    }

    /// About six round values along the scale.
    pub fn ticks(&self, kind: ColumnKind) -> Vec<f64> {
        match self.spacing {
            Spacing::Linear => {
                let own = (self.step > 0.0).then_some(self.step);
                let step = own.unwrap_or_else(|| nice_step((self.max - self.min) / 5.0, kind));
                let first = (self.min / step).ceil() as i64;
                let count = ((self.max - first as f64 * step) / step + 1e-9).floor() as i64;
                (0..=count.clamp(0, 20))
                    .map(|index| (first + index) as f64 * step)
                    .collect()
            }
            Spacing::Log(base) => {
                let first = (exponent_of(self.min, base) - 1e-9).ceil() as i32;
                let last = (exponent_of(self.max, base) + 1e-9).floor() as i32;
                let stride = (last - first) / LOG_STEPS_MAX + 1;
                let aligned = first + (stride - first.rem_euclid(stride)) % stride;
                let first = if aligned <= last { aligned } else { first };
                (first..=last)
                    .step_by(stride as usize)
                    .map(|exponent| f64::from(base).powi(exponent))
                    .collect()
            }
        }
    }
}

/// People count bytes in powers of two.
fn base_of(kind: ColumnKind) -> u32 {
    if kind == ColumnKind::Bytes { 2 } else { 10 }
}

fn exponent_of(value: f64, base: u32) -> f64 {
    if base == 2 {
        value.log2()
    } else {
        value.log10()
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |bounds, value| match bounds {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
}

/// The round number nearest above `rough`: 1, 2 or 5 times a power of ten, or a power of two
/// for bytes.
fn nice_step(rough: f64, kind: ColumnKind) -> f64 {
    let rough = if rough.is_finite() && rough > 1e-300 {
        rough
    } else {
        1.0
    };
    if kind == ColumnKind::Bytes && rough >= 1.0 {
        return 2f64.powf(rough.log2().ceil());
    }
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= rough * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests;
