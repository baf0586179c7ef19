//! Which segments of managed memory were ever touched: one bit each.

/// A bitmap over segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct TouchedSegments {
    words: Vec<u64>,
}

impl TouchedSegments {
    /// Makes room for segments numbered below `segments`.
    pub(crate) fn grow(&mut self, segments: u64) {
        let words = segments.div_ceil(64) as usize;
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    #[inline]
    pub(crate) fn mark(&mut self, segment: u64) {
        self.words[(segment / 64) as usize] |= 1 << (segment % 64);
    }

    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
