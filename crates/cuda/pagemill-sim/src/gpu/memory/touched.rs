//! Which segments of managed memory were ever touched: one bit each.

/// A bitmap over segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct TouchedSegments {
    words: Vec<u64>,
    count: u64,
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
        let word = &mut self.words[(segment / 64) as usize];
        let bit = 1 << (segment % 64);
        self.count += u64::from(*word & bit == 0);
        *word |= bit;
    }

    pub(crate) fn contains(&self, segment: u64) -> bool {
        let word = self.words.get((segment / 64) as usize);
        word.is_some_and(|word| word >> (segment % 64) & 1 != 0)
    }

    /// One bit for each segment.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many segments were touched.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}
