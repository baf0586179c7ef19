//! Places, chunks and copies agree.

use pagemill_types::{Invariants, first_broken};

use super::{Driver, PageMask};

impl Driver {
    fn every_block(&self, holds: impl Fn(u32, &PageMask) -> bool) -> bool {
        (0..self.blocks()).all(|block| holds(block, self.places.resident(block)))
    }
}

impl Invariants for Driver {
    fn broken_invariant(&self) -> Option<String> {
        let is_within = |pages: &PageMask, all: &PageMask| pages.without(all).is_empty();
        first_broken([
            (
                self.every_block(|block, resident| {
                    self.chunks.contains(block) != resident.is_empty()
                }),
                "a block has pages in GPU memory and no chunk, or a chunk without a page",
            ),
            (
                self.every_block(|block, resident| is_within(resident, &self.extent(block))),
                "a page in GPU memory is beyond the end of its allocation",
            ),
            (
                self.every_block(|block, resident| {
                    resident.and(&self.untouched.get(block)).is_empty()
                }),
                "an untouched page is in GPU memory",
            ),
            (
                self.every_block(|block, resident| {
                    is_within(&self.duplicates.get(block), resident)
                }),
                "a page that both memories have is not in GPU memory",
            ),
        ])
        .or_else(|| self.places.broken_invariant())
        .or_else(|| self.chunks.broken_invariant())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BLOCK_BYTES, DriverPolicy, Effects};
    use super::*;
    use pagemill_types::Picos;

    /// Two blocks, of which one is on the GPU and the other untouched.
    fn driver() -> Driver {
        let mut driver = Driver::empty(4 * BLOCK_BYTES, &DriverPolicy::default());
        driver.allocate(0..2 * BLOCK_BYTES);
        let mut effects = Effects::default();
        driver.service(0, &PageMask::FULL, Picos::ZERO, &mut effects);
        driver
    }

    #[test]
    fn a_broken_state_says_what_is_wrong() {
        let with = |change: fn(&mut Driver)| {
            let mut driver = driver();
            change(&mut driver);
            driver.broken_invariant()
        };
        let one = PageMask::range(7..8);
        let says = |wrong: Option<String>, what: &str| {
            let wrong = wrong.expect("it is broken");
            assert!(wrong.contains(what), "{wrong}");
        };
        assert_eq!(with(|_| ()), None);
        says(with(|driver| driver.chunks.remove(0)), "no chunk");
        says(with(|driver| driver.chunks.push(1)), "without a page");
        says(
            with(|driver| driver.untouched.add(0, &PageMask::FULL)),
            "untouched",
        );
        says(
            with(|driver| driver.duplicates.add(1, &PageMask::FULL)),
            "both memories",
        );
        let mut cut = driver();
        cut.extents.insert(0, one);
        says(cut.broken_invariant(), "beyond the end");
    }
}
