//! The `ats` page manager: the same driver on a machine whose GPU walks the host's page tables. What it decides is in
//! `pagemill_policy::residency`; here is what the CPU's use of GPU memory costs, and what the first touch of a page does.

use std::ops::Range;

use pagemill_policy::residency::{BLOCK_PAGES, Effects, PAGE_BYTES, PageMask};
use pagemill_types::Picos;

use super::spec::DriverCosts;
use crate::managers::host_link::HostLink;
use crate::parts::link::Direction;

/// The CPU reads or writes those of the bytes `touched` that lie in the pages `in_place` of `block`: only they cross the
/// link, and nothing faults. Returns when the last has crossed, and how many did.
pub(super) fn use_gpu_memory(
    at: Picos,
    block: u32,
    in_place: &PageMask,
    touched: &Range<u64>,
    writes: bool,
    host_link: &mut HostLink,
) -> (Picos, u64) {
    let bytes: u64 = in_place
        .pages()
        .map(|page| {
            let start = u64::from(block * BLOCK_PAGES + page) * PAGE_BYTES;
            let end = touched.end.min(start + PAGE_BYTES);
            end.saturating_sub(touched.start.max(start))
        })
        .sum();
    if bytes == 0 {
        return (at, 0);
    }
    let direction = match writes {
        true => Direction::ToGpu,
        false => Direction::ToCpu,
    };
    (host_link.link.transfer(at, direction, bytes).done, bytes)
}

/// The kernel's time for the pages of the host that a first touch allocates.
pub(super) fn populating(effects: &Effects, costs: &DriverCosts, host_page_pages: u64) -> Picos {
    let pages = u64::from(effects.populated.count()).div_ceil(host_page_pages);
    Picos(costs.host_page_populate.0 * pages)
}
