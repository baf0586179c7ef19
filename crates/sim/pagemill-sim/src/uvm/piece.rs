//! What a read is to the memory path: parts of one page each, in segments and sectors.

use pagemill_policy::residency::{PAGE_BYTES, WarpRead};

const SEGMENT_BYTES: u64 = 128;

/// Bytes of the least that memory delivers.
pub(super) const SECTOR_BYTES: u64 = 1 << crate::gpu::SECTOR_SHIFT;

/// The part of a step's reads that lies in one 4 KiB page, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The page, counted from the start of the allocation.
    pub page: u32,
    /// First byte in the page.
    pub offset: u16,
    /// Bytes, at most 4096.
    pub bytes: u16,
    /// Segments touched by each read, summed: a request each.
    pub requests: u16,
    /// Sectors touched by each read, summed.
    pub sectors: u16,
}

/// The pieces of `read`, in order; a read of 128 bytes has at most two.
#[inline]
fn pieces(read: WarpRead) -> impl Iterator<Item = Piece> {
    let mut start = read.start;
    let end = start + u64::from(read.bytes);
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        let page = start / PAGE_BYTES;
        let stop = end.min((page + 1) * PAGE_BYTES);
        let piece = Piece {
            page: page as u32,
            offset: (start % PAGE_BYTES) as u16,
            bytes: (stop - start) as u16,
            requests: units(start, stop, SEGMENT_BYTES),
            sectors: units(start, stop, SECTOR_BYTES),
        };
        start = stop;
        Some(piece)
    })
}

/// Appends the pieces of `read` to `pieces`. What goes on where the last piece ends, in the same page, joins it:
/// neighboring warps read neighboring bytes, each with requests of its own.
#[inline]
pub(super) fn add_pieces(read: WarpRead, pieces_of_step: &mut Vec<Piece>) {
    for piece in pieces(read) {
        match pieces_of_step.last_mut() {
            Some(last) if last.page == piece.page && last.offset + last.bytes == piece.offset => {
                last.bytes += piece.bytes;
                last.requests += piece.requests;
                last.sectors += piece.sectors;
            }
            _ => pieces_of_step.push(piece),
        }
    }
}

/// Aligned stretches of `unit` bytes that `start..stop` touches.
fn units(start: u64, stop: u64, unit: u64) -> u16 {
    (stop.div_ceil(unit) - start / unit) as u16
}

#[cfg(test)]
mod tests;
