//! Addresses in the shared memory of a cluster: any block's memory has them, for each block of the cluster.

use super::window;

/// Most blocks of a cluster: 8 on every GPU, 16 if a kernel allows sizes that are not portable.
pub const BLOCKS_MAX: u32 = 16;

/// Bits of an address in the shared memory of a cluster below those that name the block.
const RANK_SHIFT: u32 = 24;
const OFFSET_MASK: u64 = (1 << RANK_SHIFT) - 1;
/// Ranks from this one on all stand for a block that does not exist.
const RANK_MAX: u64 = 0xfe;

/// `address` in shared memory of any block, moved to the block of `rank`: 0 in the upper bits is the own block, and n + 1 the
/// one of rank n. What lies above 32 bits, the window of a generic address, stays.
pub fn map_to_rank(address: u64, rank: u64, _: u64, _: u32) -> u64 {
    let block = (rank & u64::from(u32::MAX)).min(RANK_MAX) + 1;
    let above = !(OFFSET_MASK | 0xff << RANK_SHIFT);
    address & (OFFSET_MASK | above) | block << RANK_SHIFT
}

/// The same place in the block of `rank`, for a block of rank `own`, whose address needs no cluster.
pub fn in_block(address: u64, rank: u64, own: u64, _: u32) -> u64 {
    match rank == own {
        true => address & !(0xff << RANK_SHIFT),
        false => map_to_rank(address, rank, 0, 0),
    }
}

/// The rank of the block that `address` lies in, for a block of rank `own`.
pub fn rank_of(address: u64, own: u64, _: u64, _: u32) -> u64 {
    match address >> RANK_SHIFT & 0xff {
        0 => own,
        named => named - 1,
    }
}

/// Whether a generic `address` is in the shared memory of the block of rank `own`.
pub fn is_own_shared(address: u64, own: u64, _: u64, _: u32) -> u64 {
    let is_shared = window::Window::of(address) == window::Window::Shared;
    u64::from(is_shared && rank_of(address, own, 0, 0) == own)
}

/// Which block an offset in shared memory names, and the offset in it; `None` in place of the rank for the own block.
#[inline]
pub fn split(address: u64) -> Option<(Option<u32>, u64)> {
    let block = address >> RANK_SHIFT;
    match block {
        0 => Some((None, address)),
        1..=0xff => Some((Some(block as u32 - 1), address & OFFSET_MASK)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
