//! Where buffers lie for the simulated interface.
//!
//! Real addresses differ from run to run (address-space randomisation, allocators), and with them would differ which
//! groups of the translation table meet in its cache. So each buffer gets a simulated address when the interface first sees it:
//! the next free page, in the order of the program's calls.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Span {
    bytes: u64,
    simulated: u64,
}

/// Simulated addresses of real buffers.
#[derive(Clone, Debug)]
pub struct AddressMap {
    page_bytes: u64,
    next: u64,
    /// By real address.
    real: BTreeMap<u64, Span>,
    /// Registered memory, by simulated address: its length and its real address.
    regions: BTreeMap<u64, (u64, u64)>,
}

impl AddressMap {
    /// For an interface with pages of this size.
    pub fn new(page_bytes: u64) -> Self {
        Self {
            page_bytes,
            // Page 0 is left to the copy buffers.
            next: page_bytes,
            real: BTreeMap::new(),
            regions: BTreeMap::new(),
        }
    }

    /// The simulated address of a buffer: the one it had before, if all of it lies in a stretch that is known.
    pub fn of(&mut self, address: u64, bytes: u64) -> u64 {
        let end = address.saturating_add(bytes);
        if let Some((start, span)) = self.real.range(..=address).next_back()
            && end <= start.saturating_add(span.bytes)
        {
            return span.simulated + (address - start);
        }
        // What overlaps is forgotten: that memory has got another use.
        let overlapped: Vec<u64> = self.real.range(address..end).map(|(start, _)| *start).collect();
        for start in overlapped {
            self.real.remove(&start);
        }
        if let Some((start, span)) = self.real.range_mut(..address).next_back()
            && start.saturating_add(span.bytes) > address
        {
            span.bytes = address - start;
        }
        let simulated = self.take(bytes);
        self.real.insert(address, Span { bytes, simulated });
        simulated
    }

    /// Registers memory: it gets pages of its own.
    pub fn register(&mut self, address: u64, bytes: u64) -> u64 {
        let simulated = self.take(bytes);
        self.regions.insert(simulated, (bytes, address));
        simulated
    }

    /// Forgets registered memory.
    pub fn deregister(&mut self, simulated: u64) {
        self.regions.remove(&simulated);
    }

    /// Where registered memory really is, if all of it is registered.
    pub fn real_of(&self, simulated: u64, bytes: u64) -> Option<u64> {
        let (start, (region_bytes, real)) = self.regions.range(..=simulated).next_back()?;
        let offset = simulated - start;
        let fits = offset <= *region_bytes && bytes <= region_bytes - offset;
        fits.then_some(real + offset)
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    fn take(&mut self, bytes: u64) -> u64 {
        let simulated = self.next;
        self.next += bytes.max(1).next_multiple_of(self.page_bytes);
        simulated
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: u64 = 8192;

    #[test]
    fn a_buffer_keeps_its_address_and_its_parts_lie_in_it() {
        let mut map = AddressMap::new(PAGE);
        let first = map.of(1_000_003, 20_000);
        assert_eq!(first, PAGE);
        assert_eq!(map.of(1_000_003, 20_000), first);
        assert_eq!(map.of(1_005_003, 100), first + 5000);
        assert_eq!(map.of(77, 1), PAGE + 24_576, "the next free page");
    }

    #[test]
    fn a_longer_use_of_the_same_memory_is_a_new_buffer() {
        let mut map = AddressMap::new(PAGE);
        let short = map.of(5000, 100);
        let long = map.of(5000, 200);
        assert_ne!(short, long);
        assert_eq!(map.of(5000, 100), long);
    }

    #[test]
    fn registered_memory_is_found_again_up_to_its_end() {
        let mut map = AddressMap::new(PAGE);
        let region = map.register(123_456, 1000);
        assert_eq!(map.real_of(region + 10, 990), Some(123_466));
        assert_eq!(map.real_of(region + 10, 991), None);
        assert_eq!(map.real_of(region.wrapping_sub(1), 1), None);
        map.deregister(region);
        assert_eq!(map.real_of(region, 1), None);
    }

    proptest! {
        /// The order of calls alone decides: moving all of the program's memory changes nothing.
        #[test]
        fn where_memory_really_is_does_not_matter(calls in proptest::collection::vec((0_u64..5000, 0_u64..3000), 1..60), offset in 0_u64..1 << 40) {
            let (mut here, mut there) = (AddressMap::new(PAGE), AddressMap::new(PAGE));
            for (address, bytes) in calls {
                prop_assert_eq!(here.of(address, bytes), there.of(address + offset, bytes));
            }
        }

        /// Buffers that do not overlap do not overlap in simulation.
        #[test]
        fn live_buffers_do_not_meet(calls in proptest::collection::vec((0_u64..50, 1_u64..900), 1..40)) {
            let mut map = AddressMap::new(PAGE);
            let buffers: Vec<(u64, u64)> = calls.iter().map(|(slot, bytes)| (slot * 1000, *bytes)).collect();
            for (address, bytes) in &buffers {
                map.of(*address, *bytes);
            }
            let mut spans: Vec<(u64, u64, u64)> = map.real.iter().map(|(real, span)| (span.simulated, span.bytes, *real)).collect();
            spans.sort_unstable();
            for pair in spans.windows(2) {
                prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0);
            }
        }
    }
}
