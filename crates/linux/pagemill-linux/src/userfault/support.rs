use super::raw;

/// What of the interface this kernel has, and lets this user have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    features: u64,
    /// Whether faults of system calls can be answered, by this user as things are.
    pub system_calls: bool,
}

/// A feature of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Private pages that are not there (Linux 4.11).
    Missing,
    /// Pages of shared files that are there and not mapped (5.14).
    Minor,
    /// Write protection of private pages (5.7).
    WriteProtect,
    /// Write protection that is lifted without a message (6.7).
    WriteProtectAsync,
    /// A signal in place of a message (4.14).
    Signal,
    /// Pages that raise an error (6.6).
    Poison,
    /// Pages that move from one address to another (6.8).
    Move,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 7] = [
        Self::Missing,
        Self::Minor,
        Self::WriteProtect,
        Self::WriteProtectAsync,
        Self::Signal,
        Self::Poison,
        Self::Move,
    ];

    /// The kernel's name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Minor => "minor",
            Self::WriteProtect => "wp",
            Self::WriteProtectAsync => "wp-async",
            Self::Signal => "sigbus",
            Self::Poison => "poison",
            Self::Move => "move",
        }
    }

    fn bits(self) -> u64 {
        match self {
            Self::Missing => 0,
            Self::Minor => raw::FEATURE_MINOR_SHMEM,
            Self::WriteProtect => 1,
            Self::WriteProtectAsync => 1 << 15,
            Self::Signal => 1 << 7,
            Self::Poison => 1 << 14,
            Self::Move => raw::FEATURE_MOVE,
        }
    }
}

impl Support {
    /// Asks the kernel; `None` where it has no such interface at all.
    pub fn probe() -> Option<Self> {
        let full = raw::descriptor(0);
        let system_calls = full.is_ok();
        let descriptor = full.or_else(|_| raw::by_system_call(raw::USER_MODE_ONLY));
        let features = raw::agree(&descriptor.ok()?, 0).ok()?;
        Some(Self {
            features,
            system_calls,
        })
    }

    /// Whether the kernel has `feature`.
    pub fn has(&self, feature: Feature) -> bool {
        self.features & feature.bits() == feature.bits()
    }
}
