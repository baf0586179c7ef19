//! What the driver's decisions mean to others: to TLBs and caches, and to the accounts of the program's allocations.

use std::collections::BTreeMap;
use std::ops::Range;

use pagemill_policy::residency::{BLOCK_BYTES, Effects, PAGE_BYTES, PageMask};

use crate::managers::ledger::Ledger;
use crate::managers::moves::Moves;

/// Stands for no block.
pub(super) const NO_BLOCK: u32 = u32::MAX;

/// What all decisions have moved.
#[derive(Debug)]
pub(super) struct Moved {
    /// Address of the first page.
    pub(super) base: u64,
    /// Blocks of which something came or left.
    pub(super) moves: Moves,
    /// By block, pages that have left the GPU.
    departed: BTreeMap<u32, PageMask>,
}

impl Moved {
    /// Nothing yet; the first page is at address `base`.
    pub(super) fn new(base: u64) -> Self {
        Self {
            base,
            moves: Moves::default(),
            departed: BTreeMap::new(),
        }
    }

    fn addresses(&self, block: u32) -> Range<u64> {
        let start = self.base + u64::from(block) * BLOCK_BYTES;
        start..start + BLOCK_BYTES
    }

    /// What of `block` was on the GPU once and has left it.
    pub(super) fn departed(&self, block: u32) -> Option<&PageMask> {
        self.departed.get(&block)
    }

    /// Notes what `effects` on `block` moved, and books it to the allocations of the pages; answers how many bytes came that
    /// had been on the GPU before.
    pub(super) fn apply(&mut self, effects: &Effects, block: u32, ledger: &mut Ledger) -> u64 {
        for evicted in &effects.evictions {
            let addresses = self.addresses(evicted.block);
            self.moves.left(addresses.clone());
            let left = self.departed.entry(evicted.block).or_default();
            *left = left.or(&evicted.copied).or(&evicted.dropped);
            ledger.book(addresses.start, |traffic| {
                traffic.returned_bytes += bytes(&evicted.copied);
                traffic.dropped_bytes += bytes(&evicted.dropped);
                // Not the block at hand, which leaves only if a call sends it back.
                traffic.evictions += u64::from(evicted.block != block);
            });
        }
        if !effects.fetched.is_empty() || !effects.collapsed.is_empty() {
            self.moves.came(self.addresses(block));
        }
        if effects.fetched.is_empty() && effects.duplicated.is_empty() {
            return 0;
        }
        // Of what arrives, the part that was here before: `migrated` contains it, so the two are never added.
        let again = self.departed(block).map_or(0, |left| {
            bytes(&effects.fetched.without(&effects.populated).and(left))
        });
        ledger.book(self.addresses(block).start, |traffic| {
            traffic.migrated_bytes += effects.copied_bytes();
            traffic.populated_bytes += bytes(&effects.populated);
            traffic.returned_bytes += bytes(&effects.duplicated);
            traffic.repeated_bytes += again;
        });
        again
    }

    /// The CPU used `bytes` of `block` in GPU memory. The host side looks at the block again: the next use costs as much.
    pub(super) fn used_in_place(&mut self, block: u32, bytes: u64, ledger: &mut Ledger) {
        let addresses = self.addresses(block);
        ledger.book(addresses.start, |traffic| {
            traffic.host_remote_bytes += bytes;
        });
        self.moves.came(addresses);
    }
}

fn bytes(pages: &PageMask) -> u64 {
    u64::from(pages.count()) * PAGE_BYTES
}
