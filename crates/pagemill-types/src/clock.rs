use crate::Picos;

/// A clock domain: turns cycles into time without drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    hertz: u64,
    period_fs: u64,
}

impl Clock {
    /// A clock of `hertz` cycles a second, or `None` for zero or more than 1 THz.
    pub fn new(hertz: u64) -> Option<Self> {
        const FEMTOS_PER_SECOND: u64 = 1_000_000_000_000_000;
        (1..=1_000_000_000_000).contains(&hertz).then(|| Self {
            hertz,
            period_fs: (FEMTOS_PER_SECOND + hertz / 2) / hertz,
        })
    }

    /// Frequency in hertz.
    pub fn hertz(self) -> u64 {
        self.hertz
    }

    /// The span of `cycles` cycles, to the nearest picosecond.
    pub fn cycles(self, cycles: u64) -> Picos {
        Picos((cycles * self.period_fs + 500) / 1000)
    }
}

/// A transfer rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    bytes_per_second: u64,
}

impl Bandwidth {
    /// A rate of `bytes_per_second`, or `None` for zero.
    pub fn new(bytes_per_second: u64) -> Option<Self> {
        (bytes_per_second > 0).then_some(Self { bytes_per_second })
    }

    /// Rate in bytes per second.
    pub fn bytes_per_second(self) -> u64 {
        self.bytes_per_second
    }

    /// How long `bytes` bytes occupy the wire, rounded up.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Picos {
        // What fits in 64 bits is divided in 64 bits: simulators ask this for every packet.
        if let Some(scaled) = bytes.checked_mul(1_000_000_000_000) {
            return Picos(scaled.div_ceil(self.bytes_per_second));
        }
        let picos =
            (u128::from(bytes) * 1_000_000_000_000).div_ceil(u128::from(self.bytes_per_second));
        Picos(picos as u64)
    }
}
