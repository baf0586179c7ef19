//! What an interface counts.

use pagemill_types::Picos;

use super::descriptor::Status;

/// Look-ups of the address translation table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranslationCounts {
    /// Translations that were not in an engine's register.
    pub lookups: u64,
    /// Those whose line was not cached: the table was read for them.
    pub misses: u64,
    /// Lines that an RDMA read before it needed them.
    pub prefetches: u64,
    /// Memory keys that were not cached.
    pub key_misses: u64,
    /// Walks of the processor's page tables.
    pub walks: u64,
    /// Pages that were not mapped: faults that the host handled.
    pub faults: u64,
    /// Lines forgotten because their memory was deregistered.
    pub invalidated: u64,
    /// Time from look-up to physical address, summed.
    pub waited: Picos,
}

/// Errors by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// No registration had the key.
    pub unregistered: u64,
    /// Some byte lay outside of the registration.
    pub out_of_bounds: u64,
    /// The key was another registration's.
    pub wrong_key: u64,
    /// The port was closed or another process's.
    pub foreign_port: u64,
}

impl ErrorCounts {
    /// Counts `status` if it is an error of an interface.
    pub fn add(&mut self, status: Status) {
        match status {
            Status::Unregistered => self.unregistered += 1,
            Status::OutOfBounds => self.out_of_bounds += 1,
            Status::WrongKey => self.wrong_key += 1,
            Status::ForeignPort => self.foreign_port += 1,
            Status::Success | Status::Truncated | Status::Canceled => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.unregistered += other.unregistered;
        self.out_of_bounds += other.out_of_bounds;
        self.wrong_key += other.wrong_key;
        self.foreign_port += other.foreign_port;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.unregistered + self.out_of_bounds + self.wrong_key + self.foreign_port
    }
}

/// Counts of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounts {
    /// Transfers sent.
    pub sent: u64,
    /// Bytes of data sent.
    pub sent_bytes: u64,
    /// Transfers accepted from others.
    pub received: u64,
    /// Bytes of data accepted from others.
    pub received_bytes: u64,
    /// Operations of the own processes that were refused.
    pub refused: ErrorCounts,
    /// Transfers of others that were refused.
    pub rejected: ErrorCounts,
    /// Port states that had to be read from memory.
    pub port_misses: u64,
    /// Buffers that were registered for messages, and the processor time that took.
    pub registrations: u64,
    /// See [`NicCounts::registrations`].
    pub registering: Picos,
    /// Bytes of translations that an interface holds or can hold itself; of several interfaces the most.
    pub card_bytes: u64,
    /// The translation table.
    pub translation: TranslationCounts,
}

impl NicCounts {
    /// Adds the counts of another interface.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.refused.merge(&other.refused);
        self.rejected.merge(&other.rejected);
        self.port_misses += other.port_misses;
        self.registrations += other.registrations;
        self.registering += other.registering;
        self.card_bytes = self.card_bytes.max(other.card_bytes);
        let (own, theirs) = (&mut self.translation, &other.translation);
        own.lookups += theirs.lookups;
        own.misses += theirs.misses;
        own.prefetches += theirs.prefetches;
        own.key_misses += theirs.key_misses;
        own.walks += theirs.walks;
        own.faults += theirs.faults;
        own.invalidated += theirs.invalidated;
        own.waited += theirs.waited;
    }
}
