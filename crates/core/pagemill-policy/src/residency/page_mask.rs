use std::fmt;
use std::ops::Range;

use super::{BIG_PAGE_PAGES, BLOCK_PAGES};

const WORDS: usize = BLOCK_PAGES as usize / 64;

/// A set of the 512 pages of 4 KiB in a 2 MiB block.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PageMask([u64; WORDS]);

impl PageMask {
    /// No page.
    pub const EMPTY: Self = Self([0; WORDS]);
    /// Every page of the block.
    pub const FULL: Self = Self([u64::MAX; WORDS]);

    /// The pages `range`, cut at the block's end.
    pub fn range(range: Range<u32>) -> Self {
        let mut mask = Self::EMPTY;
        for (index, word) in mask.0.iter_mut().enumerate() {
            *word = word_of(&range, index);
        }
        mask
    }

    /// The set as bits, 64 pages a word.
    pub(super) fn words(&self) -> [u64; WORDS] {
        self.0
    }

    /// Whether `page` is in the set. `page` counts from the block's start and is below 512.
    #[inline]
    pub fn contains(&self, page: u32) -> bool {
        self.0[(page / 64) as usize & (WORDS - 1)] >> (page % 64) & 1 != 0
    }

    /// Adds `page`, which is below 512.
    #[inline]
    pub fn insert(&mut self, page: u32) {
        self.0[(page / 64) as usize & (WORDS - 1)] |= 1 << (page % 64);
    }

    /// Whether no page is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// Pages in the set.
    pub fn count(&self) -> u32 {
        if self.is_empty() {
            return 0;
        }
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Pages of `range` that are in the set.
    pub fn count_in(&self, range: Range<u32>) -> u32 {
        let words = (range.start / 64) as usize..(range.end.div_ceil(64) as usize).min(WORDS);
        words
            .map(|index| (self.0[index] & word_of(&range, index)).count_ones())
            .sum()
    }

    /// The set grown to whole aligned 64 KiB.
    #[must_use]
    pub fn big_pages(&self) -> Self {
        const BIG_PAGE: u64 = (1 << BIG_PAGE_PAGES) - 1;
        /// The first page of each 64 KiB.
        const FIRSTS: u64 = 0x0001_0001_0001_0001;
        Self(self.0.map(|word| {
            // Folding by 1, 2, 4 and 8 leaves in the first bit of each 16 whether any of them is set; the product
            // copies it to all 16.
            let pairs = word | word >> 1;
            let fours = pairs | pairs >> 2;
            let eights = fours | fours >> 4;
            ((eights | eights >> 8) & FIRSTS) * BIG_PAGE
        }))
    }

    /// The lowest page in the set.
    pub fn first(&self) -> Option<u32> {
        let (index, word) = self.0.iter().enumerate().find(|(_, word)| **word != 0)?;
        Some(index as u32 * 64 + word.trailing_zeros())
    }

    /// Pages in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Pages in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// Pages in this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// Whether any page is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// The pages, ascending.
    pub fn pages(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let page = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index as u32 * 64 + page)
            })
        })
    }

    /// Stretches of neighboring pages.
    pub fn runs(&self) -> u32 {
        let mut before = 0;
        let mut runs = 0;
        for word in self.0 {
            // A stretch begins at each page whose lower neighbor is not in the set; `before` is that neighbor in the
            // word below.
            runs += (word & !(word << 1 | before)).count_ones();
            before = word >> 63;
        }
        runs
    }

    /// The stretches of neighboring pages, ascending.
    pub fn stretches(self) -> impl Iterator<Item = Range<u32>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next_from(at, 0)?;
            let end = self.next_from(start, u64::MAX).unwrap_or(BLOCK_PAGES);
            at = end;
            Some(start..end)
        })
    }

    /// The first page from `page` on whose bit, flipped by `flip`, is set.
    fn next_from(&self, page: u32, flip: u64) -> Option<u32> {
        let first = (page / 64) as usize;
        (first..WORDS).find_map(|index| {
            let mut word = self.0[index] ^ flip;
            if index == first {
                word &= u64::MAX << (page % 64);
            }
            (word != 0).then(|| index as u32 * 64 + word.trailing_zeros())
        })
    }

    fn zip(&self, other: &Self, operation: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|index| {
            operation(self.0[index], other.0[index])
        }))
    }
}

/// The bits of word `index` that lie in `range`.
fn word_of(range: &Range<u32>, index: usize) -> u64 {
    let first = index as u32 * 64;
    let start = range.start.clamp(first, first + 64) - first;
    let end = range.end.clamp(first, first + 64) - first;
    if start >= end {
        return 0;
    }
    u64::MAX >> (64 - (end - start)) << start
}

impl FromIterator<u32> for PageMask {
    fn from_iter<I: IntoIterator<Item = u32>>(pages: I) -> Self {
        let mut mask = Self::EMPTY;
        pages.into_iter().for_each(|page| mask.insert(page));
        mask
    }
}

impl fmt::Debug for PageMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.pages()).finish()
    }
}
