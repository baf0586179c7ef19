//! The pages of a ledger by blocks of 2 MiB. Of a block that was never touched, only its size is kept.

use crate::residency::{BLOCK_PAGES, PageMask};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page {
    pub resident: PageMask,
    /// Units that are no memory of the program.
    pub absent: PageMask,
    pub in_transit: bool,
}

#[derive(Debug)]
pub(super) struct Pages {
    page_units: u32,
    /// A block has `2^shift` pages.
    shift: u32,
    blocks: Vec<Block>,
    len: u32,
}

#[derive(Debug)]
struct Block {
    /// Units that are memory of the program, from the start.
    units: u32,
    /// Once one of them was touched.
    pages: Option<Box<[Page]>>,
}

impl Block {
    /// Page `within` as it is before it is touched.
    fn untouched(&self, within: u32, page_units: u32) -> Page {
        let present = self.units.saturating_sub(within * page_units);
        let present = PageMask::range(0..present.min(page_units));
        Page {
            absent: PageMask::FULL.without(&present),
            ..Page::default()
        }
    }
}

impl Pages {
    pub fn new(page_units: u32) -> Self {
        Self {
            page_units,
            shift: (BLOCK_PAGES / page_units).trailing_zeros(),
            blocks: Vec::new(),
            len: 0,
        }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    /// From now on there are at least `pages` pages, with memory all over.
    pub fn extend_to(&mut self, pages: u32) {
        self.len = self.len.max(pages);
        let blocks = (self.len as usize).div_ceil(1 << self.shift);
        let whole = || Block {
            units: BLOCK_PAGES,
            pages: None,
        };
        if blocks > self.blocks.len() {
            self.blocks.resize_with(blocks, whole);
        }
    }

    /// The first `units` of a block are memory from now on, and no others.
    pub fn enter(&mut self, block: u32, units: u32) {
        self.extend_to((block + 1) << self.shift);
        let place = &mut self.blocks[block as usize];
        place.units = units;
        let Some(mut pages) = place.pages.take() else {
            return;
        };
        for (within, page) in (0..).zip(&mut pages) {
            page.absent = place.untouched(within, self.page_units).absent;
        }
        place.pages = Some(pages);
    }

    pub fn is_untouched(&self, block: u32) -> bool {
        let block = self.blocks.get(block as usize);
        block.is_none_or(|block| block.pages.is_none())
    }

    /// A block, none of whose units is in a frame or on its way, has no memory any more.
    pub fn leave(&mut self, block: u32) {
        let place = &mut self.blocks[block as usize];
        let mut pages = place.pages.iter().flatten();
        debug_assert!(pages.all(|page| page.resident.is_empty() && !page.in_transit));
        *place = Block {
            units: 0,
            pages: None,
        };
    }

    /// A page; none beyond all blocks.
    pub fn get(&self, page: u32) -> Option<Page> {
        let block = self.blocks.get((page >> self.shift) as usize)?;
        let within = page & ((1 << self.shift) - 1);
        Some(match &block.pages {
            Some(pages) => pages[within as usize],
            None => block.untouched(within, self.page_units),
        })
    }

    pub fn get_mut(&mut self, page: u32) -> &mut Page {
        let block = &mut self.blocks[(page >> self.shift) as usize];
        let within = page & ((1 << self.shift) - 1);
        let pages = block.pages.take().unwrap_or_else(|| {
            let all = 0..1 << self.shift;
            all.map(|within| block.untouched(within, self.page_units))
                .collect()
        });
        &mut block.pages.insert(pages)[within as usize]
    }
}
