//! Servers that are booked: one with any service time, several with the same one.

use pagemill_types::Picos;

/// One resource that serves one request after the other, first come first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct Port {
    free_at: Picos,
}

impl Port {
    /// Books `busy` from the first moment at or after `at` that the port is free, and returns that moment.
    #[inline]
    pub fn book(&mut self, at: Picos, busy: Picos) -> Picos {
        let start = at.max(self.free_at);
        self.free_at = start + busy;
        start
    }

    /// Keeps the resource occupied until `until` at least.
    pub fn stall_until(&mut self, until: Picos) {
        self.free_at = self.free_at.max(until);
    }

    /// When the last booking ends.
    pub fn free_at(self) -> Picos {
        self.free_at
    }
}

/// Several equal servers with one fixed service time.
///
/// With equal service times and arrivals in order, the server that was booked longest ago is the first to be free,
/// so taking them in turn is exactly first come, first served.
#[derive(Clone, Debug)]
pub struct PortGroup {
    servers: Vec<Port>,
    next: usize,
    busy: Picos,
}

impl PortGroup {
    /// `count` servers (at least one) that each need `busy` for a request.
    pub fn new(count: u32, busy: Picos) -> Self {
        Self {
            servers: vec![Port::default(); count.max(1) as usize],
            next: 0,
            busy,
        }
    }

    /// Books the next server at or after `at`; returns when its service starts.
    #[inline]
    pub fn book(&mut self, at: Picos) -> Picos {
        // All serve for the same time, so the one that was booked first is free first: none has to be searched.
        let start = self.servers[self.next].book(at, self.busy);
        self.next += 1;
        if self.next == self.servers.len() {
            self.next = 0;
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn group_equals_earliest_free_server(count in 1u32..6, busy in 1u64..50, gaps in prop::collection::vec(0u64..40, 1..200)) {
            let mut group = PortGroup::new(count, Picos(busy));
            let mut free = vec![0u64; count as usize];
            let mut at = 0;
            for gap in gaps {
                at += gap;
                let earliest = (0..free.len()).min_by_key(|&i| free[i]).unwrap();
                let expected = at.max(free[earliest]);
                free[earliest] = expected + busy;
                prop_assert_eq!(group.book(Picos(at)), Picos(expected));
            }
        }
    }

    #[test]
    fn an_idle_port_starts_at_once() {
        let mut port = Port::default();
        assert_eq!(port.book(Picos(7), Picos(3)), Picos(7));
        assert_eq!(port.book(Picos(8), Picos(3)), Picos(10));
        assert_eq!(port.free_at(), Picos(13));
    }
}
