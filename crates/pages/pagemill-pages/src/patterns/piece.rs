//! What a read is to the memory path: parts of one page each, in segments and sectors.

use pagemill_policy::residency::{PAGE_BYTES, WarpRead};

const SEGMENT_BYTES: u64 = 128;

/// Bytes of the least that memory delivers.
pub(super) const SECTOR_BYTES: u64 = 1 << crate::SECTOR_SHIFT;

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

/// The pieces of a step's reads. What goes on where the last piece ends, in the same page, joins it: neighboring warps read
/// neighboring bytes, each with requests of its own.
pub(super) struct Joined<A> {
    access: A,
    /// The one that may still grow; without bytes before the first. It stays in registers.
    last: Piece,
}

impl<A: FnMut(Piece)> Joined<A> {
    /// Makes `access` of each.
    #[inline]
    pub(super) fn new(access: A) -> Self {
        let last = Piece {
            page: 0,
            offset: 0,
            bytes: 0,
            requests: 0,
            sectors: 0,
        };
        Self { access, last }
    }

    /// Adds the pieces of `read`; a read of 128 bytes has at most two.
    #[inline]
    pub(super) fn add(&mut self, read: WarpRead) {
        let mut start = read.start;
        let end = start + u64::from(read.bytes);
        // Nearly all reads are a whole segment, which needs no arithmetic.
        if start.is_multiple_of(SEGMENT_BYTES) && u64::from(read.bytes) == SEGMENT_BYTES {
            return self.add_piece(Piece {
                page: (start / PAGE_BYTES) as u32,
                offset: (start % PAGE_BYTES) as u16,
                bytes: SEGMENT_BYTES as u16,
                requests: 1,
                sectors: (SEGMENT_BYTES / SECTOR_BYTES) as u16,
            });
        }
        while start < end {
            let page = start / PAGE_BYTES;
            let stop = end.min((page + 1) * PAGE_BYTES);
            self.add_piece(Piece {
                page: page as u32,
                offset: (start % PAGE_BYTES) as u16,
                bytes: (stop - start) as u16,
                requests: units(start, stop, SEGMENT_BYTES),
                sectors: units(start, stop, SECTOR_BYTES),
            });
            start = stop;
        }
    }

    #[inline]
    fn add_piece(&mut self, piece: Piece) {
        let last = &mut self.last;
        // Warps of a block mostly read on where the one before ended: their page is looked up once for all.
        if last.page == piece.page && last.offset + last.bytes == piece.offset && last.bytes > 0 {
            last.bytes += piece.bytes;
            last.requests += piece.requests;
            last.sectors += piece.sectors;
            return;
        }
        let ended = std::mem::replace(last, piece);
        self.make(ended);
    }

    #[inline]
    fn make(&mut self, piece: Piece) {
        if piece.bytes > 0 {
            (self.access)(piece);
        }
    }

    /// There are no more reads.
    #[inline]
    pub(super) fn end(mut self) {
        self.make(self.last);
    }
}

/// Aligned stretches of `unit` bytes that `start..stop` touches.
fn units(start: u64, stop: u64, unit: u64) -> u16 {
    (stop.div_ceil(unit) - start / unit) as u16
}

#[cfg(test)]
mod tests;
