//! Registrations that a message-passing library makes for the buffers of long messages.

use pagemill_policy::translation::RegistrationCache;
use pagemill_types::Picos;

use super::machine::{RegistrationMode, RegistrationSpec};

/// What a library has registered, and what that costs the processor.
#[derive(Clone, Debug)]
pub(crate) struct Registrations {
    spec: RegistrationSpec,
    cache: RegistrationCache,
    page_bytes: u64,
}

/// What has to be done before a buffer can be used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registering {
    /// Processor time.
    pub busy: Picos,
    /// Whether a registration was made.
    pub is_new: bool,
    /// Buffers whose registrations are taken back, address and length each.
    pub dropped: Vec<(u64, u64)>,
}

impl Registrations {
    /// `None` where registrations cost nothing.
    pub fn new(spec: Option<&RegistrationSpec>, page_bytes: u64) -> Option<Self> {
        let spec = spec.filter(|spec| spec.mode != RegistrationMode::Once)?;
        let regions = match spec.mode {
            RegistrationMode::Cached => spec.cache_regions,
            RegistrationMode::Once | RegistrationMode::Each => 0,
        };
        Some(Self {
            spec: *spec,
            cache: RegistrationCache::new(regions, spec.cache_bytes / page_bytes),
            page_bytes,
        })
    }

    /// Uses the buffer of `bytes` bytes at `address`.
    ///
    /// A registration that no cache keeps is taken back after its message; its cost counts here, and so does what the interface
    /// forgets: the next message finds both the same.
    pub fn register(&mut self, address: u64, bytes: u64) -> Registering {
        let first = address / self.page_bytes;
        let last = address.saturating_add(bytes.saturating_sub(1)) / self.page_bytes;
        let done = self.cache.register(first, last - first + 1);
        let registered = done.added.map_or(Picos::ZERO, |(_, pages)| {
            Picos(self.spec.register_latency.0 + pages * self.spec.page_latency.0)
        });
        let taken_back = self.spec.deregister_latency.0 * done.dropped.len() as u64;
        let in_bytes =
            |(page, pages): (u64, u64)| (page * self.page_bytes, pages * self.page_bytes);
        Registering {
            busy: registered + Picos(taken_back),
            is_new: done.added.is_some(),
            dropped: done.dropped.into_iter().map(in_bytes).collect(),
        }
    }
}
