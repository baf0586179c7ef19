//! The LIBOR market model in double precision. Where the kernel runs an adjoint backwards, this carries one derivative forwards.

const RATES: usize = 80;
const STEPS: usize = 40;
const STEP_YEARS: f64 = 0.25;
const VOLATILITY: f64 = 0.2;
const INITIAL_RATE: f64 = 0.05;
/// Amount on which the swaptions are written.
pub(super) const NOTIONAL: f64 = 100.0;
/// Maturities in steps; each is offered at three swap rates.
const MATURITIES: [usize; 5] = [4, 8, 20, 28, 40];
const SWAP_RATES: [f64; 3] = [0.045, 0.05, 0.055];

/// What one path says of the portfolio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Valuation {
    /// Discounted payoff.
    pub(super) value: f64,
    /// Derivative of `value` with respect to the initial value of the longest forward rate.
    pub(super) delta: f64,
    /// How far the swap nearest to its strike is from it, per unit of notional.
    pub(super) nearest_strike: f64,
}

/// The valuation of path number `path`.
pub(super) fn valuation(seed: u32, path: u32) -> Valuation {
    let mut rates = [Dual::constant(INITIAL_RATE); RATES];
    rates[RATES - 1].slope = 1.0;
    let normals: [f64; STEPS] = std::array::from_fn(|step| normal(seed, path, step as u32));
    portfolio(&final_rates(rates, &normals))
}

/// A number and its derivative.
#[derive(Clone, Copy, Debug)]
struct Dual {
    value: f64,
    slope: f64,
}

impl Dual {
    fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: self.slope + other.slope,
        }
    }

    fn times(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }

    fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self {
            value,
            slope: (self.slope - value * other.slope) / other.value,
        }
    }

    fn scaled(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            slope: self.slope * factor,
        }
    }

    fn exp(self) -> Self {
        let value = self.value.exp();
        Self {
            value,
            slope: self.slope * value,
        }
    }
}

/// Growth of money over one step at a forward rate.
fn growth(rate: Dual) -> Dual {
    Dual::constant(1.0).plus(rate.scaled(STEP_YEARS))
}

fn final_rates(mut rates: [Dual; RATES], normals: &[f64; STEPS]) -> [Dual; RATES] {
    let shift = STEP_YEARS * VOLATILITY;
    for (step, z) in normals.iter().enumerate() {
        let shock = VOLATILITY * (STEP_YEARS.sqrt() * z - 0.5 * shift);
        let mut drift = Dual::constant(0.0);
        for rate in &mut rates[step + 1..] {
            drift = drift.plus(rate.scaled(shift).over(growth(*rate)));
            let exponent = drift.scaled(shift).plus(Dual::constant(shock));
            *rate = rate.times(exponent.exp());
        }
    }
    rates
}

fn portfolio(rates: &[Dual; RATES]) -> Valuation {
    let mut bond = Dual::constant(1.0);
    let mut annuity = Dual::constant(0.0);
    let mut payoff = Dual::constant(0.0);
    let mut nearest_strike = f64::INFINITY;
    for (index, rate) in rates[STEPS..].iter().enumerate() {
        bond = bond.over(growth(*rate));
        annuity = annuity.plus(bond.scaled(STEP_YEARS));
        if !MATURITIES.contains(&(index + 1)) {
            continue;
        }
        for swap_rate in SWAP_RATES {
            let swap = bond
                .plus(annuity.scaled(swap_rate))
                .plus(Dual::constant(-1.0));
            nearest_strike = nearest_strike.min(swap.value.abs());
            if swap.value < 0.0 {
                payoff = payoff.plus(swap.scaled(-NOTIONAL));
            }
        }
    }
    let value = rates[..STEPS]
        .iter()
        .fold(payoff, |value, rate| value.over(growth(*rate)));
    Valuation {
        value: value.value,
        delta: value.slope,
        nearest_strike,
    }
}

/// The PCG permutation of 32 bits (Jarzynski and Olano, "Hash functions for GPU rendering", 2020).
fn hash(input: u32) -> u32 {
    let state = input.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The sum of twelve uniform bytes, shifted and scaled to mean 0 and deviation 1.
fn normal(seed: u32, path: u32, step: u32) -> f64 {
    let key = hash(hash(path ^ seed).wrapping_add(step));
    let bytes = (0..3).flat_map(|word| hash(key.wrapping_add(word)).to_le_bytes());
    (bytes.map(f64::from).sum::<f64>() - 1530.0) / 256.0
}

#[cfg(test)]
mod tests;
