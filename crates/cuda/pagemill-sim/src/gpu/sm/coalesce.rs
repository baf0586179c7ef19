//! The lane addresses of one warp instruction to the 128-byte segments they lie in.

use crate::gpu::stream::MemoryAccess;
use crate::gpu::{SECTOR_SHIFT, SEGMENT_SHIFT};
use pagemill_ptx::LanePlaces;

/// Segments of one warp-wide access, ascending and distinct. Naturally aligned lanes touch at most 32.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Segments {
    count: u32,
    numbers: [u64; 32],
}

impl Segments {
    /// The segment numbers (address / 128).
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.numbers[..self.count as usize]
    }

    /// Where the first of them is, or will be.
    #[inline]
    pub(crate) fn first(&self) -> &u64 {
        &self.numbers[0]
    }

    /// Which 32-byte sectors of each segment the active lanes' accesses of `width` bytes touch, a bit each.
    pub(crate) fn sectors(&self, addresses: &[u64; 32], mask: u32, width: u32) -> [u8; 32] {
        let mut sectors = [0; 32];
        for (lane, &address) in addresses.iter().enumerate() {
            if mask >> lane & 1 == 0 {
                continue;
            }
            let segment = address >> SEGMENT_SHIFT;
            if let Some(place) = self.as_slice().iter().position(|&held| held == segment) {
                let sector = |address: u64| address >> SECTOR_SHIFT & 3;
                let last = sector(address + u64::from(width.max(1)) - 1);
                sectors[place] |= 1 << sector(address) | 1 << last;
            }
        }
        sectors
    }

    #[inline]
    fn set(&mut self, numbers: &[u64]) {
        self.numbers[..numbers.len()].copy_from_slice(numbers);
        self.count = numbers.len() as u32;
    }

    /// Coalesces the accesses of `access`. Those of lanes in a row, none of them left out, follow from the first and the last.
    #[inline]
    pub(crate) fn set_access(&mut self, access: &MemoryAccess) {
        let mask = access.mask;
        let lowest = mask.trailing_zeros();
        match access.places {
            LanePlaces::Together { at } if mask != 0 => self.set(&[at >> SEGMENT_SHIFT]),
            // With a hole in the mask, a segment between the ends could be touched by none.
            LanePlaces::Row { .. } if mask != 0 && is_run(mask >> lowest) => {
                let highest = mask.ilog2();
                let [first, last] =
                    [lowest, highest].map(|lane| access.address(lane as usize) >> SEGMENT_SHIFT);
                self.count = 0;
                for (place, number) in self.numbers.iter_mut().zip(first..=last) {
                    *place = number;
                    self.count += 1;
                }
            }
            LanePlaces::Listed => self.coalesce(&access.listed, mask),
            _ => self.coalesce(&access.addresses(), mask),
        }
    }

    /// Coalesces the active lanes' accesses. Each address is aligned to the access width, which is at most 16 bytes
    /// and a power of two, so no lane straddles two segments.
    #[inline]
    pub(crate) fn coalesce(&mut self, addresses: &[u64; 32], mask: u32) {
        if mask == u32::MAX && in_one_segment(addresses) {
            return self.set(&[addresses[0] >> SEGMENT_SHIFT]);
        }
        let (low, high) = bounds(addresses, mask);
        let span = high.wrapping_sub(low);
        match span {
            _ if mask == 0 => self.count = 0,
            0 => self.set(&[low]),
            1 => self.set(&[low, high]),
            // Most accesses lie within 8 KiB: a bit for each segment there sorts and joins them without a branch for each lane.
            2..64 => self.set_by_bitmap(addresses, mask, low),
            _ => self.set_by_sorting(addresses, mask),
        }
    }

    fn set_by_bitmap(&mut self, addresses: &[u64; 32], mask: u32, low: u64) {
        let mut touched = 0u64;
        for (lane, &address) in addresses.iter().enumerate() {
            let active = u64::from(mask >> lane & 1);
            // An inactive lane's address means nothing: its shift is masked, its bit is zero.
            touched |= active << (((address >> SEGMENT_SHIFT).wrapping_sub(low)) & 63);
        }
        let mut count = 0;
        while touched != 0 && count < self.numbers.len() {
            self.numbers[count] = low + u64::from(touched.trailing_zeros());
            touched &= touched - 1;
            count += 1;
        }
        self.count = count as u32;
    }

    fn set_by_sorting(&mut self, addresses: &[u64; 32], mask: u32) {
        let mut count = 0;
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let number = addresses[lane] >> SEGMENT_SHIFT;
            // Insertion sort: lanes often come in order, and there are 32 of them at most.
            let mut place = count;
            while place > 0 && self.numbers[place - 1] > number {
                place -= 1;
            }
            if place > 0 && self.numbers[place - 1] == number {
                continue;
            }
            self.numbers.copy_within(place..count, place + 1);
            self.numbers[place] = number;
            count += 1;
        }
        self.count = count as u32;
    }
}

/// Whether the bits that are set are the lowest ones.
#[inline]
fn is_run(bits: u32) -> bool {
    bits & bits.wrapping_add(1) == 0
}

/// Whether all lanes lie in the same segment: the most common case, decided without a branch per lane.
#[inline]
fn in_one_segment(addresses: &[u64; 32]) -> bool {
    let differing = addresses
        .iter()
        .fold(0, |bits, address| bits | (address ^ addresses[0]));
    differing >> SEGMENT_SHIFT == 0
}

/// Lowest and highest segment of the active lanes; (MAX, 0) if there is none.
#[inline]
fn bounds(addresses: &[u64; 32], mask: u32) -> (u64, u64) {
    let mut low = u64::MAX;
    let mut high = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        let active = mask >> lane & 1 != 0;
        low = low.min(if active { address } else { u64::MAX });
        high = high.max(if active { address } else { 0 });
    }
    (low >> SEGMENT_SHIFT, high >> SEGMENT_SHIFT)
}

#[cfg(test)]
mod tests;
