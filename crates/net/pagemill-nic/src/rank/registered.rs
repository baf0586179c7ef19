//! Memory that the interface of a rank may use: what the program registers, what the library does for long messages, and the record of its
//! translations.

use pagemill_map::Limits;
use pagemill_types::Picos;

use super::Rank;
use crate::descriptor::Key;
use crate::moment::Moment;
use crate::node::NicCall;

impl<M: Moment> Rank<M> {
    /// Records from now on which entries of its translation table are in the interface's cache, and when transfers use them. Restarting
    /// the interface ends the record.
    pub fn record_table(&mut self, limits: Limits) {
        self.nic.translation.record(self.port, limits);
    }

    /// Ends that record at `end`: the bytes of a page map (crate `pagemill-map`). None if nothing was recorded.
    pub fn take_table_map(&mut self, end: Picos) -> Option<Vec<u8>> {
        self.nic.translation.take_map(end)
    }

    /// Lets other ranks access `bytes` bytes at `address`.
    pub fn register(&mut self, address: u64, bytes: u64) -> Key {
        self.nic.register(self.port, address, bytes)
    }

    /// Takes a registration back; returns whether there was one.
    pub fn deregister(&mut self, key: Key) -> bool {
        let region = self.nic.take_back(key);
        if let Some((port, address, bytes)) = region {
            self.has_called(|| NicCall::Forget {
                port,
                address,
                bytes,
            });
        }
        region.is_some()
    }

    /// Registers the buffer of a long message from `at` on; returns when that is done.
    pub(super) fn register_buffer(&mut self, at: Picos, address: u64, bytes: u64) -> Picos {
        let Some(registrations) = &mut self.registrations else {
            return at;
        };
        let done = registrations.register(address, bytes);
        self.registered.0 += u64::from(done.is_new);
        self.registered.1 += done.busy;
        let port = self.port;
        for (address, bytes) in done.dropped {
            self.nic.forget((port, address, bytes));
            self.has_called(|| NicCall::Forget {
                port,
                address,
                bytes,
            });
        }
        at + done.busy
    }
}
