//! Skipping random numbers of the random-per-warp kernel ([`lcg`](pagemill_policy::residency::lcg)).

const MULTIPLIER: u64 = 1_103_515_245;
const INCREMENT: u64 = 12_345;
const MODULUS_MASK: u64 = (1 << 31) - 1;

/// Several steps of the generator at once: `multiplier * x + increment`, modulo 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Factor.
    pub multiplier: u64,
    /// Summand.
    pub increment: u64,
}

impl Skip {
    /// `steps` steps.
    pub fn of(mut steps: u64) -> Self {
        let mut skip = Self {
            multiplier: 1,
            increment: 0,
        };
        let mut power = Self {
            multiplier: MULTIPLIER,
            increment: INCREMENT,
        };
        while steps > 0 {
            if steps & 1 == 1 {
                skip = skip.then(power);
            }
            power = power.then(power);
            steps >>= 1;
        }
        skip
    }

    /// Both, one after the other.
    fn then(self, next: Self) -> Self {
        Self {
            multiplier: (self.multiplier * next.multiplier) & MODULUS_MASK,
            increment: next.apply(self.increment),
        }
    }

    /// The state that follows `state`.
    pub fn apply(self, state: u64) -> u64 {
        (self.multiplier * (state & MODULUS_MASK) + self.increment) & MODULUS_MASK
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use pagemill_policy::residency::lcg;

    use super::*;

    proptest! {
        #[test]
        fn a_skip_is_its_steps(state in 0..=MODULUS_MASK, steps in 0_u64..2000) {
            let walked = (0..steps).fold(state, |state, _| lcg(state));
            prop_assert_eq!(Skip::of(steps).apply(state), walked);
        }

        #[test]
        fn skips_add_up(state in 0..=MODULUS_MASK, first in any::<u32>(), second in any::<u32>()) {
            let (first, second) = (u64::from(first), u64::from(second));
            let apart = Skip::of(second).apply(Skip::of(first).apply(state));
            prop_assert_eq!(Skip::of(first + second).apply(state), apart);
        }
    }
}
