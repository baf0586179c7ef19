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
mod tests;
