//! A wire or unit with a rate, booked in order; fractions of a picosecond are carried, so the rate is exact.

use pagemill_types::{Bandwidth, Picos};

const FEMTOS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// Serves amounts at a fixed rate, first come first served.
#[derive(Clone, Debug)]
pub struct Throughput {
    femtos_per_item: u64,
    free_at: Picos,
    /// Femtoseconds past `free_at`, below 1000.
    carry: u64,
    busy: Picos,
}

impl Throughput {
    /// Serves bytes at `bandwidth`; the time of a byte is rounded to a femtosecond.
    pub fn of_bytes(bandwidth: Bandwidth) -> Self {
        Self::per_second(bandwidth.bytes_per_second())
    }

    /// Serves `per_second` items a second, at least one.
    pub fn per_second(per_second: u64) -> Self {
        let rate = u128::from(per_second.max(1));
        Self {
            // A byte takes 1,000 fs at 1 TB/s: rounding to whole ones is off by 0.05 % there at
            // most, and by less where it is slower.
            femtos_per_item: ((FEMTOS_PER_SECOND + rate / 2) / rate) as u64,
            free_at: Picos::ZERO,
            carry: 0,
            busy: Picos::ZERO,
        }
    }

    /// Serves `amount` from the first moment at or after `at` on; returns when the last of it is served.
    #[inline]
    pub fn book(&mut self, at: Picos, amount: u64) -> Picos {
        if at > self.free_at {
            self.free_at = at;
            self.carry = 0;
        }
        // Time is in picoseconds; what is below one is owed to the next booking, or many small ones would be too fast.
        let femtos = amount * self.femtos_per_item + self.carry;
        let busy = Picos(femtos / 1000);
        self.carry = femtos % 1000;
        self.free_at += busy;
        self.busy += busy;
        self.free_at
    }

    /// Serves nothing for `time` from the first moment at or after `at` on.
    pub fn pause(&mut self, at: Picos, time: Picos) {
        if at > self.free_at {
            self.free_at = at;
            self.carry = 0;
        }
        self.free_at += time;
    }

    /// When the last booking ends.
    pub fn free_at(&self) -> Picos {
        self.free_at
    }

    /// Time spent serving.
    pub fn busy(&self) -> Picos {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fractions_of_a_picosecond_are_not_lost() {
        let mut wire = Throughput::of_bytes(Bandwidth::new(3_000_000_000_000).unwrap());
        let done = (0..3_000_000).map(|_| wire.book(Picos::ZERO, 1)).last();
        // A third of a picosecond a byte, known to a femtosecond: 333 instead of 333.33.
        assert_eq!(done, Some(Picos(999_000)));
    }

    proptest! {
        #[test]
        fn bookings_never_overlap_and_never_come_early(rate in 1_000_000u64..1_000_000_000_000, requests in prop::collection::vec((0u64..100_000, 1u64..4096), 1..100)) {
            let mut wire = Throughput::per_second(rate);
            let (mut at, mut before) = (0, 0);
            for (gap, amount) in requests {
                at += gap;
                let done = wire.book(Picos(at), amount).0;
                let least = amount * wire.femtos_per_item / 1000;
                let start = before.max(at);
                prop_assert!(done >= start + least && done <= start + least + 1);
                before = done;
            }
        }
    }
}
