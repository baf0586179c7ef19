//! Where buffers lie for the simulated interface.
//!
//! Real addresses differ from run to run (address-space randomization, what an allocator gives back), and with them would differ which
//! groups of the translation table meet in its cache. So they are not used. An operation borrows simulated pages of its length while it
//! is under way: the ones that were given back last, else new ones. As many buffers are in use as operations overlap, and a program that
//! goes on with one buffer finds its pages translated.

use std::collections::BTreeMap;

/// Simulated addresses of buffers and of registered memory.
#[derive(Clone, Debug)]
pub struct AddressMap {
    page_bytes: u64,
    next: u64,
    /// Pages that were given back, by length.
    free: BTreeMap<u64, Vec<u64>>,
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
            free: BTreeMap::new(),
            regions: BTreeMap::new(),
        }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Pages for a buffer of `bytes` bytes, from the start of the first one on.
    pub fn borrow(&mut self, bytes: u64) -> u64 {
        let used = self.free.get_mut(&bytes).and_then(Vec::pop);
        used.unwrap_or_else(|| self.take(bytes))
    }

    /// Gives the pages of [`AddressMap::borrow`] back.
    pub fn give_back(&mut self, simulated: u64, bytes: u64) {
        self.free.entry(bytes).or_default().push(simulated);
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
    fn one_buffer_at_a_time_is_always_the_same() {
        let mut map = AddressMap::new(PAGE);
        let first = map.borrow(20_000);
        assert_eq!(first, PAGE);
        map.give_back(first, 20_000);
        assert_eq!(map.borrow(20_000), first);
        assert_eq!(
            map.borrow(20_000),
            first + 24_576,
            "the first one is in use"
        );
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
        /// Buffers in use and registered memory never overlap.
        #[test]
        fn what_is_in_use_does_not_meet(calls in proptest::collection::vec((0_u8..3, 1_u64..40_000, any::<prop::sample::Index>()), 1..80)) {
            let mut map = AddressMap::new(PAGE);
            let mut used: Vec<(u64, u64, bool)> = Vec::new();
            for (call, bytes, index) in calls {
                match call {
                    0 => used.push((map.borrow(bytes), bytes, true)),
                    1 => used.push((map.register(bytes, bytes), bytes, false)),
                    _ if used.is_empty() => {}
                    _ => {
                        let (simulated, bytes, is_borrowed) = used.swap_remove(index.index(used.len()));
                        if is_borrowed { map.give_back(simulated, bytes) } else { map.deregister(simulated) }
                    }
                }
                let mut spans = used.clone();
                spans.sort_unstable();
                for pair in spans.windows(2) {
                    prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0);
                }
            }
        }
    }
}
