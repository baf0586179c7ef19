//! What is on its way to one page, and until when.

use pagemill_types::{PageRange, Picos};

/// A range on its way to the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// The bytes of the page.
    pub range: PageRange,
    /// When they are there.
    pub done: Picos,
    /// Whether bytes cross the link; without, they are allocated where they are asked for.
    pub is_moved: bool,
}

/// Time side of one page: ranges on the way, ascending and disjoint; those that have arrived are forgotten now and then.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    list: Vec<Flight>,
    /// When the last of them arrives.
    until: Picos,
    prune_at: u32,
}

impl InFlight {
    /// Notes at `at` that `flight` is under way.
    pub fn insert(&mut self, at: Picos, flight: Flight) {
        if self.list.len() >= self.prune_at as usize {
            self.list.retain(|flight| flight.done > at);
            self.prune_at = (2 * self.list.len() as u32).max(16);
        }
        let place = self
            .list
            .partition_point(|other| other.range.start < flight.range.start);
        self.list.insert(place, flight);
        self.until = self.until.max(flight.done);
    }

    /// When the last flight that overlaps `range` arrives; `at` if none is on the way.
    pub fn arrival(&self, at: Picos, range: PageRange) -> Picos {
        if self.until <= at {
            return at;
        }
        let overlapping = self.overlapping(range);
        overlapping.fold(at, |latest, flight| latest.max(flight.done))
    }

    /// The flight that overlaps `range` and arrives last, if it is still on the way.
    pub fn on_the_way(&self, at: Picos, range: PageRange) -> Option<Flight> {
        let latest = self.overlapping(range).max_by_key(|flight| flight.done)?;
        (latest.done > at).then_some(*latest)
    }

    fn overlapping(&self, range: PageRange) -> impl Iterator<Item = &Flight> {
        let first = self
            .list
            .partition_point(|flight| flight.range.end <= range.start);
        self.list[first..]
            .iter()
            .take_while(move |flight| flight.range.start < range.end)
    }

    /// When everything that was noted has arrived.
    pub fn until(&self) -> Picos {
        self.until
    }

    /// Notes a further transfer of bytes that are on the way already.
    pub fn extend_until(&mut self, done: Picos) {
        self.until = self.until.max(done);
    }

    /// Forgets all flights.
    pub fn clear(&mut self) {
        // Gives the memory back: most pages are never on the way again.
        *self = Self::default();
    }
}
