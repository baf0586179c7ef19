use serde::{Deserialize, Serialize};

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

/// A transfer rate. In files it is the number of bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Bandwidth {
    bytes_per_second: u64,
}

impl TryFrom<u64> for Bandwidth {
    type Error = &'static str;

    fn try_from(bytes_per_second: u64) -> Result<Self, Self::Error> {
        Self::new(bytes_per_second).ok_or("0 is no transfer rate")
    }
}

impl From<Bandwidth> for u64 {
    fn from(rate: Bandwidth) -> Self {
        rate.bytes_per_second
    }
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
