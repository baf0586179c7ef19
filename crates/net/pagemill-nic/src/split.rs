//! Splitting and alignment: transfers are cut into segments that cross no page on either side.

/// The segments of a transfer, as both sides cut it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments {
    from: u64,
    to: u64,
    left: u64,
    segment_bytes: u64,
    page_mask: u64,
}

/// A piece of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub from: u64,
    pub to: u64,
    pub bytes: u64,
}

impl Segments {
    pub fn new(from: u64, to: u64, bytes: u64, segment_bytes: u32, page_bytes: u64) -> Self {
        Self {
            from,
            to,
            left: bytes,
            segment_bytes: u64::from(segment_bytes),
            page_mask: page_bytes - 1,
        }
    }
}

impl Iterator for Segments {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        if self.left == 0 {
            return None;
        }
        // Segments of an aligned source end at multiples of their size: one partial segment in a transfer, not in each page.
        let to_boundary = self.segment_bytes - self.from % self.segment_bytes;
        let page_bytes = self.page_mask + 1;
        let bytes = self
            .left
            .min(to_boundary)
            .min(page_bytes - (self.from & self.page_mask))
            .min(page_bytes - (self.to & self.page_mask));
        let segment = Segment {
            from: self.from,
            to: self.to,
            bytes,
        };
        self.from = self.from.wrapping_add(bytes);
        self.to = self.to.wrapping_add(bytes);
        self.left -= bytes;
        Some(segment)
    }
}

#[cfg(test)]
mod tests;
