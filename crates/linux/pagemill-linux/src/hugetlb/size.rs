use std::fmt;

use rustix::fs::MemfdFlags;
use rustix::mm::MapFlags;

/// A size of huge pages, as x86-64 has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HugeSize {
    /// 2 MiB.
    Mib2,
    /// 1 GiB.
    Gib1,
}

impl HugeSize {
    /// Bytes of one page.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Mib2 => 2 << 20,
            Self::Gib1 => 1 << 30,
        }
    }

    /// The size of so many bytes.
    pub fn of_bytes(bytes: usize) -> Option<Self> {
        [Self::Mib2, Self::Gib1]
            .into_iter()
            .find(|size| size.bytes() == bytes)
    }

    /// `2M` or `1G`, as users write it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "2M" | "2MB" | "2MiB" => Some(Self::Mib2),
            "1G" | "1GB" | "1GiB" => Some(Self::Gib1),
            _ => None,
        }
    }

    pub(crate) fn map_flag(self) -> MapFlags {
        match self {
            Self::Mib2 => MapFlags::HUGE_2MB,
            Self::Gib1 => MapFlags::HUGE_1GB,
        }
    }

    pub(super) fn memfd_flag(self) -> MemfdFlags {
        match self {
            Self::Mib2 => MemfdFlags::HUGE_2MB,
            Self::Gib1 => MemfdFlags::HUGE_1GB,
        }
    }
}

impl fmt::Display for HugeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mib2 => "2 MiB",
            Self::Gib1 => "1 GiB",
        })
    }
}
