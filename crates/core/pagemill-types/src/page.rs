use serde::{Deserialize, Serialize};

use crate::VirtAddr;

/// A page size: a power of two of at least 256 bytes and at most 1 GiB. In files it is that number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct PageSize {
    shift: u8,
}

/// Why a number of bytes is no page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSizeError {
    /// The refused size in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for PageSizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} bytes is no page size: a power of two from 256 B to 1 GiB is needed",
            self.bytes
        )
    }
}

impl std::error::Error for PageSizeError {}

impl TryFrom<u64> for PageSize {
    type Error = PageSizeError;

    fn try_from(bytes: u64) -> Result<Self, Self::Error> {
        Self::new(bytes)
    }
}

impl From<PageSize> for u64 {
    fn from(page: PageSize) -> Self {
        page.bytes()
    }
}

impl PageSize {
    /// 4 KiB, the base page of x86-64.
    pub const KIB_4: Self = Self { shift: 12 };
    /// 8 KiB, the page of network interfaces with a translation table.
    pub const KIB_8: Self = Self { shift: 13 };
    /// 64 KiB, the base page of POWER9 and the usual page of the pager.
    pub const KIB_64: Self = Self { shift: 16 };
    /// 2 MiB, the large page of x86-64 and of the GPU.
    pub const MIB_2: Self = Self { shift: 21 };

    /// The page size of `bytes` bytes.
    pub fn new(bytes: u64) -> Result<Self, PageSizeError> {
        if bytes.is_power_of_two() && (1 << 8..=1 << 30).contains(&bytes) {
            Ok(Self {
                shift: bytes.trailing_zeros() as u8,
            })
        } else {
            Err(PageSizeError { bytes })
        }
    }

    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// The page that holds `address`.
    pub fn page_of(self, address: VirtAddr) -> PageNumber {
        PageNumber(address.0 >> self.shift)
    }

    /// Distance of `address` from the start of its page, in bytes.
    pub fn offset_of(self, address: VirtAddr) -> u32 {
        (address.0 & (self.bytes() - 1)) as u32
    }

    /// First address of `page`.
    pub fn base_of(self, page: PageNumber) -> VirtAddr {
        VirtAddr(page.0 << self.shift)
    }
}

/// Index of a page in its address space; meaningful only with the page size it was made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u64);
