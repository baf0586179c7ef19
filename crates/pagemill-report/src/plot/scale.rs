//! Maps values to positions and picks the values worth a tick.

use crate::ColumnKind;

/// How values are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal factors.
    Log,
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

    /// A logarithmic scale between powers of ten around the positive values.
    pub fn decades(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let min = 10f64.powf(low.log10().floor());
        let mut max = 10f64.powf(high.log10().ceil());
        if max <= min {
            max = min * 10.0;
        }
        Self {
            min,
            max,
            step: 0.0,
            spacing: Spacing::Log,
        }
    }

    /// A logarithmic scale between exactly two positive values.
    pub fn log(min: f64, max: f64) -> Self {
        let max = if max > min { max } else { min * 2.0 };
        Self {
            min,
            max,
            step: 0.0,
            spacing: Spacing::Log,
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
            Spacing::Log => self.min,
        }
    }

    /// Whether the scale has a place for `value` at all.
    pub fn can_show(&self, value: f64) -> bool {
        self.spacing == Spacing::Linear || value > 0.0
    }

    /// Position of `value` between 0 and 1; values outside stop at the ends.
    pub fn position(&self, value: f64) -> f64 {
        let along = match self.spacing {
            Spacing::Linear => (value - self.min) / (self.max - self.min),
            Spacing::Log => (value / self.min).ln() / (self.max / self.min).ln(),
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
            Spacing::Log => {
                let first = self.min.log10().ceil() as i32;
                let last = (self.max.log10() + 1e-9).floor() as i32;
                let stride = ((last - first) / 6 + 1) as usize;
                (first..=last)
                    .step_by(stride)
                    .map(|power| 10f64.powi(power))
                    .collect()
            }
        }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn linear_positions_are_proportional(values in proptest::collection::vec(0.0..1e12f64, 1..20)) {
            let scale = Scale::from_zero(values.iter().copied(), ColumnKind::Number);
            for value in values {
                let expected = value / scale.max();
                prop_assert!((scale.position(value) - expected).abs() < 1e-9);
                prop_assert!(value <= scale.max() * (1.0 + 1e-9));
            }
        }

        #[test]
        fn equal_factors_are_equal_steps(low in 1e-6..1e6f64, factor in 1.1..50.0f64) {
            let scale = Scale::decades([low, low * factor * factor].into_iter());
            let at = |value| scale.position(value);
            let (first, second) = (at(low * factor) - at(low), at(low * factor * factor) - at(low * factor));
            prop_assert!((first - second).abs() < 1e-9);
        }

        #[test]
        fn ticks_are_few_and_inside(values in proptest::collection::vec(-1e9..1e15f64, 0..5), log: bool) {
            for kind in [ColumnKind::Bytes, ColumnKind::TimeNs] {
                let scale = if log {
                    Scale::decades(values.iter().copied())
                } else {
                    Scale::from_zero(values.iter().copied(), kind)
                };
                let ticks = scale.ticks(kind);
                prop_assert!((1..=12).contains(&ticks.len()), "{:?}: {:?}", scale, ticks);
                let slack = (scale.max() - scale.min()) * 1e-6;
                prop_assert!(ticks.iter().all(|t| *t >= scale.min() - slack && *t <= scale.max() + slack));
                prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }

        #[test]
        fn positions_never_leave_the_axis(value in any::<f64>(), a in any::<f64>(), b in any::<f64>()) {
            for scale in [Scale::from_zero([a, b].into_iter(), ColumnKind::Count), Scale::decades([a, b].into_iter())] {
                prop_assert!((0.0..=1.0).contains(&scale.position(value)));
            }
        }
    }

    #[test]
    fn bytes_tick_in_powers_of_two() {
        let scale = Scale::from_zero([5000.0].into_iter(), ColumnKind::Bytes);
        assert_eq!(
            scale.ticks(ColumnKind::Bytes),
            [0.0, 1024.0, 2048.0, 3072.0, 4096.0, 5120.0]
        );
    }
}
