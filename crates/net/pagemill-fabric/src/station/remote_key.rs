use pagemill_nic::Key;

/// Bits of a key that number the registration's place, and that count how often the place was used.
const PLACE_BITS: u32 = 12;
const GENERATION_BITS: u32 = 20;

/// Registrations that one process can have at a time.
pub const REGISTRATIONS_MAX: usize = 1 << PLACE_BITS;

/// What another process needs to access registered memory: the interface's key, and the page at which the memory starts in
/// simulation. Programs address registered memory from its start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteKey(pub u64);

impl RemoteKey {
    /// Of a registration that starts at a page; `None` if a part is too large.
    pub fn new(key: Key, page: u64) -> Option<Self> {
        let (place, generation) = (key.0 & u64::from(u32::MAX), key.0 >> 32);
        let fits = place < 1 << PLACE_BITS && generation < 1 << GENERATION_BITS && page < 1 << 32;
        fits.then_some(Self(page << 32 | generation << PLACE_BITS | place))
    }

    /// The interface's key.
    pub fn key(self) -> Key {
        let place = self.0 & ((1 << PLACE_BITS) - 1);
        let generation = (self.0 >> PLACE_BITS) & ((1 << GENERATION_BITS) - 1);
        Key(generation << 32 | place)
    }

    /// Where the memory starts in simulation.
    pub fn address(self, page_bytes: u64) -> u64 {
        (self.0 >> 32) * page_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_come_back() {
        let key = Key(0xabcde << 32 | 0x123);
        let remote = RemoteKey::new(key, 77).expect("fits");
        assert_eq!((remote.key(), remote.address(8192)), (key, 77 * 8192));
        assert_eq!(RemoteKey::new(Key(1 << 12), 1), None);
        assert_eq!(RemoteKey::new(Key(1 << 52), 1), None);
        assert_eq!(RemoteKey::new(Key(1), 1 << 32), None);
    }
}
