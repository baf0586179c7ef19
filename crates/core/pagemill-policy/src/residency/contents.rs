use super::PageMask;

/// Pages of blocks that something holds for; blocks beyond the last that ever had one cost nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks(Vec<PageMask>);

impl Masks {
    /// The pages of `block`.
    #[inline]
    pub(super) fn get(&self, block: u32) -> PageMask {
        self.0
            .get(block as usize)
            .copied()
            .unwrap_or(PageMask::EMPTY)
    }

    pub(super) fn add(&mut self, block: u32, pages: &PageMask) {
        if pages.is_empty() {
            return;
        }
        let block = block as usize;
        if block >= self.0.len() {
            self.0.resize(block + 1, PageMask::EMPTY);
        }
        self.0[block] = self.0[block].or(pages);
    }

    pub(super) fn remove(&mut self, block: u32, pages: &PageMask) {
        if let Some(held) = self.0.get_mut(block as usize) {
            *held = held.without(pages);
        }
    }
}
