use std::collections::VecDeque;

/// What a library has to do before an interface may use a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// Pages that are registered for it, first and number; none if a registration covers the buffer.
    pub added: Option<(u64, u64)>,
    /// Registrations that are taken back to make room, first page and number of pages each.
    pub dropped: Vec<(u64, u64)>,
}

/// Registrations that a message-passing library keeps, the least recently used one making room: a pin-down cache (Tezuka et al. 1998).
///
/// A buffer that no single registration covers gets one of its own; registrations may overlap.
#[derive(Clone, Debug)]
pub struct RegistrationCache {
    most_regions: u32,
    most_pages: u64,
    /// First page and number of pages, the one used last at the end.
    regions: VecDeque<(u64, u64)>,
    pages: u64,
}

impl RegistrationCache {
    /// An empty cache of at most `most_regions` registrations with `most_pages` pages together. It keeps the last one whatever its size;
    /// with no regions it keeps none.
    pub fn new(most_regions: u32, most_pages: u64) -> Self {
        Self {
            most_regions,
            most_pages,
            regions: VecDeque::new(),
            pages: 0,
        }
    }

    /// Uses `pages` pages, at least one, from page `first` on.
    pub fn register(&mut self, first: u64, pages: u64) -> Registered {
        let pages = pages.max(1);
        if let Some(place) = self.covering(first, pages) {
            if let Some(region) = self.regions.remove(place) {
                self.regions.push_back(region);
            }
            return Registered::default();
        }
        if self.most_regions == 0 {
            return Registered {
                added: Some((first, pages)),
                dropped: vec![(first, pages)],
            };
        }
        self.regions.push_back((first, pages));
        self.pages += pages;
        Registered {
            added: Some((first, pages)),
            dropped: self.make_room(),
        }
    }

    /// Registrations that it holds.
    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// Pages of all registrations, those that overlap counted for each.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The registration used last that covers all of the buffer.
    fn covering(&self, first: u64, pages: u64) -> Option<usize> {
        let covers =
            |region: &(u64, u64)| region.0 <= first && first + pages <= region.0 + region.1;
        self.regions.iter().rposition(covers)
    }

    fn make_room(&mut self) -> Vec<(u64, u64)> {
        let mut dropped = Vec::new();
        // The last one stays, however large: the message that needs it is about to be sent.
        while self.regions.len() > 1 {
            let is_full = self.regions.len() as u64 > u64::from(self.most_regions)
                || self.pages > self.most_pages;
            if !is_full {
                break;
            }
            let Some(region) = self.regions.pop_front() else {
                break;
            };
            self.pages -= region.1;
            dropped.push(region);
        }
        dropped
    }
}
