use pagemill_types::{Invariants, first_broken};

use super::{BIG_PAGE_PAGES, BLOCK_PAGES, PageMask, Touch};

/// Where the pages of a block are and who has them mapped. A fault needs all three, so they lie in three lines of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct BlockPlaces {
    resident: PageMask,
    mapped: PageMask,
    host_mapped: PageMask,
}

/// Where every page is. What the GPU meets is held once more in two bits for 64 KiB: accesses ask far more often than
/// pages move, and 8 bytes a block stay in a cache where 192 do not.
#[derive(Clone, Debug)]
pub(super) struct Places {
    blocks: Vec<BlockPlaces>,
    touches: Vec<u64>,
    /// Pages in GPU memory, of all blocks.
    resident_pages: u64,
}

const FAULT: u64 = 0;
const LOCAL: u64 = 1;
const REMOTE: u64 = 2;
const MIXED: u64 = 3;

impl Places {
    /// No block.
    pub(super) fn new() -> Self {
        Self {
            blocks: Vec::new(),
            touches: Vec::new(),
            resident_pages: 0,
        }
    }

    /// Room for `blocks` blocks. The pages of new ones are mapped by the CPU, if they are in its memory, or not at all.
    pub(super) fn grow(&mut self, blocks: u32, in_cpu_memory: bool) {
        let new = BlockPlaces {
            resident: PageMask::EMPTY,
            mapped: PageMask::EMPTY,
            host_mapped: match in_cpu_memory {
                true => PageMask::FULL,
                false => PageMask::EMPTY,
            },
        };
        let blocks = self.blocks.len().max(blocks as usize);
        self.blocks.resize(blocks, new);
        self.touches.resize(blocks, FAULT);
    }

    /// The block has no pages but `extent`.
    pub(super) fn limit(&mut self, block: u32, extent: &PageMask) {
        let places = &mut self.blocks[block as usize];
        places.host_mapped = places.host_mapped.and(extent);
    }

    /// The CPU maps `pages` of `block`, which are in its memory.
    pub(super) fn map_host(&mut self, block: u32, pages: &PageMask) {
        let places = &mut self.blocks[block as usize];
        places.host_mapped = places.host_mapped.or(pages);
    }

    /// Takes the CPU's mapping of `pages` away; answers which of them it had.
    pub(super) fn unmap_host(&mut self, block: u32, pages: &PageMask) -> PageMask {
        let places = &mut self.blocks[block as usize];
        let unmapped = places.host_mapped.and(pages);
        places.host_mapped = places.host_mapped.without(pages);
        unmapped
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    #[inline]
    pub(super) fn touch(&self, page: u32) -> Touch {
        let block = (page / BLOCK_PAGES) as usize;
        let big_page = page % BLOCK_PAGES / BIG_PAGE_PAGES;
        match self.touches[block] >> (2 * big_page) & 3 {
            FAULT => Touch::Fault,
            LOCAL => Touch::Local,
            REMOTE => Touch::Remote,
            _ => self.blocks[block].touch(page % BLOCK_PAGES),
        }
    }

    pub(super) fn resident(&self, block: u32) -> &PageMask {
        &self.blocks[block as usize].resident
    }

    /// Pages in GPU memory, of all blocks.
    pub(super) fn resident_pages(&self) -> u64 {
        self.resident_pages
    }

    pub(super) fn mapped(&self, block: u32) -> &PageMask {
        &self.blocks[block as usize].mapped
    }

    /// Maps `pages` of `block` for the GPU where they are, in CPU memory.
    pub(super) fn map(&mut self, block: u32, pages: &PageMask) {
        if pages.is_empty() {
            return;
        }
        let places = &mut self.blocks[block as usize];
        places.mapped = places.mapped.or(pages);
        self.note(block, pages);
    }

    /// Takes the GPU's mapping of `pages` in CPU memory away.
    pub(super) fn unmap(&mut self, block: u32, pages: &PageMask) {
        let places = &mut self.blocks[block as usize];
        places.mapped = places.mapped.without(pages);
        self.note(block, pages);
    }

    /// Moves `pages` to GPU memory; answers which of them the CPU gives up, all that it has mapped but `kept`.
    pub(super) fn bring(&mut self, block: u32, pages: &PageMask, kept: &PageMask) -> PageMask {
        let places = &mut self.blocks[block as usize];
        let unmapped = places.host_mapped.and(pages).without(kept);
        places.host_mapped = places.host_mapped.without(&unmapped);
        places.mapped = places.mapped.without(pages);
        let new = pages.without(&places.resident);
        places.resident = places.resident.or(pages);
        self.resident_pages += u64::from(new.count());
        self.note(block, pages);
        unmapped
    }

    /// Moves `pages` back to CPU memory; answers whether none of the block is left.
    pub(super) fn send_back(&mut self, block: u32, pages: &PageMask) -> bool {
        let places = &mut self.blocks[block as usize];
        let left = pages.and(&places.resident);
        places.resident = places.resident.without(pages);
        self.resident_pages -= u64::from(left.count());
        let is_empty = places.resident.is_empty();
        self.note(block, pages);
        is_empty
    }

    /// Brings the short form up to date where the pages `changed`.
    fn note(&mut self, block: u32, changed: &PageMask) {
        let places = &self.blocks[block as usize];
        let touches = &mut self.touches[block as usize];
        for (word, changed) in changed.words().into_iter().enumerate() {
            if changed != 0 {
                let codes = codes(places.resident.words()[word], places.mapped.words()[word]);
                // A word of 64 pages has four times 64 KiB: eight bits of the short form.
                let shift = word * 8;
                *touches = *touches & !(0xff << shift) | codes << shift;
            }
        }
    }
}

impl Invariants for Places {
    fn broken_invariant(&self) -> Option<String> {
        let resident = self.blocks.iter().map(|block| block.resident.count());
        let is_short_form = |(block, touches): (&BlockPlaces, &u64)| {
            let words = block.resident.words().into_iter();
            let words = words.zip(block.mapped.words()).enumerate();
            let codes =
                words.map(|(word, (resident, mapped))| codes(resident, mapped) << (8 * word));
            codes.fold(0, |all, code| all | code) == *touches
        };
        first_broken([
            (
                resident.map(u64::from).sum::<u64>() == self.resident_pages,
                "the number of pages in GPU memory is not that of its blocks",
            ),
            (
                self.blocks.iter().zip(&self.touches).all(is_short_form),
                "the short form says other than the masks what the GPU meets",
            ),
        ])
    }
}

impl BlockPlaces {
    fn touch(&self, page: u32) -> Touch {
        if self.resident.contains(page) {
            Touch::Local
        } else if self.mapped.contains(page) {
            Touch::Remote
        } else {
            Touch::Fault
        }
    }
}

/// What the GPU meets in four times 64 KiB, two bits each.
fn codes(resident: u64, mapped: u64) -> u64 {
    (0..4).fold(0, |codes, big_page| {
        let of_big_page = |word: u64| (word >> (16 * big_page)) as u16;
        let code = match (of_big_page(resident), of_big_page(mapped)) {
            (0, 0) => FAULT,
            (u16::MAX, _) => LOCAL,
            (0, u16::MAX) => REMOTE,
            // Only what the masks say of all 16 pages is said here; anything else has to look at them.
            _ => MIXED,
        };
        codes | code << (2 * big_page)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_short_forms_that_lie_are_noticed() {
        let mut places = Places::new();
        places.grow(2, true);
        places.bring(1, &PageMask::range(3..40), &PageMask::EMPTY);
        places.map(0, &PageMask::range(0..16));
        assert_eq!(places.broken_invariant(), None);
        let mut counted = places.clone();
        counted.resident_pages += 1;
        let wrong = counted.broken_invariant().expect("one page too many");
        assert!(wrong.contains("number of pages"), "{wrong}");
        places.blocks[1].resident = PageMask::range(16..53);
        let wrong = places.broken_invariant().expect("other pages");
        assert!(wrong.contains("short form"), "{wrong}");
    }
}
