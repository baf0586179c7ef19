use pagemill_types::{PageRange, RangeSet};

use super::{MigrationPolicy, PolicyEntry};
use crate::surroundings::Surroundings;

/// What moves at least, where pages are larger: a basic block of the published prefetcher.
const BASIC_BLOCK_BYTES: u32 = 64 << 10;

/// The tree-based neighborhood prefetcher of NVIDIA's driver as Ganguly et al. (ISCA 2019) found it, within a page: a request
/// moves its 64 KiB, and then whole aligned powers of two as long as more than half of them would be there.
#[derive(Clone, Copy, Debug)]
pub struct Tree;

impl Tree {
    /// How scenarios find this policy.
    pub const ENTRY: PolicyEntry = PolicyEntry {
        name: "tree",
        summary: "64 KiB, and the largest aligned part of the page of which more than half is valid then",
        parameters: &["unit"],
        build: &|_| Box::new(Self),
    };
}

impl MigrationPolicy for Tree {
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        let missing = |range| valid.missing(range).map(PageRange::bytes).sum::<u64>();
        let mut size = BASIC_BLOCK_BYTES.min(page_bytes);
        let mut moved = PageRange {
            start: request.start / size * size,
            end: request.end.div_ceil(size) * size,
        };
        while size < page_bytes {
            size *= 2;
            // A request across a border has a node on each side of it: the two count as one of twice the size.
            let node = PageRange {
                start: moved.start / size * size,
                end: moved.end.div_ceil(size) * size,
            };
            let left = missing(node) - missing(moved);
            // Strictly more than half would be there. A node that is too sparse does not end the climb, as the one
            // above may be denser.
            if left * 2 < node.bytes() {
                moved = node;
            }
        }
        fetch.extend(valid.missing(moved));
    }
}
