//! An access of the tests.

use super::Waiter;

/// Its page says the rest: 32 in a row are of one warp, and two TLBs share the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access(pub(super) u32);

impl Waiter for Access {
    fn utlb(&self) -> u32 {
        self.0 % 2
    }

    fn page(&self) -> u32 {
        self.0
    }

    fn writes(&self) -> bool {
        false
    }

    fn warp(&self) -> u32 {
        self.0 / 32
    }
}
