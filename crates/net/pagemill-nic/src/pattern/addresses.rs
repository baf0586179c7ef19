//! In which order a benchmark uses its memory.

use pagemill_pages::parts::random::Random;

/// Which buffer comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOrder {
    /// One buffer, again and again, as most benchmarks do.
    Same,
    /// Each transfer on pages that no other has used, up to the end of the span.
    FirstTouch,
    /// Anywhere in the span, at multiples of 64 bytes.
    Random,
    /// Some buffers in turn, a fixed distance apart.
    Stride {
        /// From one buffer to the next, in bytes.
        distance_bytes: u64,
        /// How many there are.
        buffers: u64,
    },
}

/// A sequence of addresses, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Addresses {
    order: AddressOrder,
    bytes: u64,
    span_bytes: u64,
    used: u64,
    random: Random,
}

/// Where buffers begin: on a page of any size.
const BASE: u64 = 1 << 32;

impl Addresses {
    /// Addresses of buffers of `bytes` bytes in a span of `span_bytes` bytes.
    pub fn new(order: AddressOrder, bytes: u64, span_bytes: u64, seed: u64) -> Self {
        Self {
            order,
            bytes: bytes.max(1),
            span_bytes: span_bytes.max(bytes).max(1),
            used: 0,
            random: Random::new(seed),
        }
    }

    /// The memory that addresses may lie in, `(first address, bytes)`.
    pub fn extent(&self) -> (u64, u64) {
        let bytes = match self.order {
            AddressOrder::Same => self.bytes,
            AddressOrder::FirstTouch | AddressOrder::Random => self.span_bytes,
            AddressOrder::Stride {
                distance_bytes,
                buffers,
            } => distance_bytes
                .saturating_mul(buffers.saturating_sub(1))
                .saturating_add(self.bytes),
        };
        (BASE, bytes)
    }

    /// The next buffer's address.
    pub fn next_address(&mut self) -> u64 {
        let number = self.used;
        self.used += 1;
        let offset = match self.order {
            AddressOrder::Same => 0,
            AddressOrder::FirstTouch => {
                // Around again at the end of the span, only whole buffers.
                let step = self.bytes.next_multiple_of(PAGE);
                let buffers = (self.span_bytes / step).max(1);
                number % buffers * step
            }
            AddressOrder::Random => {
                let places = (self.span_bytes - self.bytes) / LINE + 1;
                self.random.below(places) * LINE
            }
            AddressOrder::Stride {
                distance_bytes,
                buffers,
            } => number % buffers.max(1) * distance_bytes,
        };
        BASE.wrapping_add(offset)
    }
}

const LINE: u64 = 64;

/// The page of the published table.
const PAGE: u64 = 8192;

#[cfg(test)]
mod tests;
