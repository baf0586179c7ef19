//! Pages, frames and what is on its way agree.

use pagemill_policy::migration::PageState;
use pagemill_types::{Invariants, first_broken};

use super::Ranges;

impl Invariants for Ranges {
    fn broken_invariant(&self) -> Option<String> {
        let pages = self.pages.len();
        let is_whole_in_gpu = |index: usize| self.pages[index].state() == PageState::ValidInGpu;
        let has_frame = |index: usize| {
            let frames = self.frames.as_ref();
            self.pages[index].valid().is_empty() || frames.is_none_or(|frames| frames.holds(index))
        };
        first_broken([
            (
                self.flights.len() == pages && self.is_whole.len() == pages,
                "some table has not an entry for each page",
            ),
            (
                (0..pages).all(|index| !self.is_whole[index] || is_whole_in_gpu(index)),
                "a page that counts as whole lacks bytes",
            ),
            (
                (0..pages).all(has_frame),
                "a page has bytes on the GPU and no frame",
            ),
        ])
        .or_else(|| self.frames.as_ref()?.broken_invariant())
    }
}

#[cfg(test)]
mod tests {
    use pagemill_policy::migration::{MigrationSpec, POLICIES};
    use pagemill_types::PageSize;

    use super::*;
    use crate::managers::ranges::RangesSpec;

    #[test]
    fn a_page_that_only_counts_as_whole_is_noticed() {
        let policy = POLICIES.find("multi-range").expect("built in");
        let migration = MigrationSpec::new(PageSize::MIB_2, policy).build();
        let spec = RangesSpec::free(None);
        let mut ranges = Ranges::new(spec, migration.expect("sound"), 0);
        ranges.grow(2 * PageSize::MIB_2.bytes());
        assert_eq!(ranges.broken_invariant(), None);
        ranges.is_whole[1] = true;
        let broken = ranges.broken_invariant();
        assert_eq!(
            broken.expect("noticed"),
            "a page that counts as whole lacks bytes"
        );
    }
}
