//! Pages mapped on demand and cached registrations, against models that are too plain to be wrong.

use pagemill_policy::translation::{OnDemand, Registered, RegistrationCache};
use proptest::prelude::*;

proptest! {
    #[test]
    fn pages_on_demand_are_a_list_by_last_use(most in 1u64..6, uses in prop::collection::vec(0u64..9, 1..200)) {
        let mut pages = OnDemand::new(most);
        let mut list: Vec<u64> = Vec::new();
        for page in uses {
            let is_mapped = list.contains(&page);
            prop_assert_eq!(pages.touch(page), is_mapped);
            list.retain(|&other| other != page);
            list.push(page);
            if !is_mapped {
                let unmapped = (list.len() as u64 > most).then(|| list.remove(0));
                prop_assert_eq!(pages.map(page), unmapped);
            }
            prop_assert_eq!(pages.mapped(), list.len() as u64);
        }
    }

    #[test]
    fn a_registration_cache_is_a_list_by_last_use(
        regions in 0u32..5,
        pages in 0u64..20,
        uses in prop::collection::vec((0u64..12, 0u64..7), 1..100),
    ) {
        let mut cache = RegistrationCache::new(regions, pages);
        let mut model = Model { regions, pages, list: Vec::new() };
        for (first, count) in uses {
            prop_assert_eq!(cache.register(first, count), model.register(first, count.max(1)));
            prop_assert_eq!(cache.regions(), model.list.len());
            prop_assert_eq!(cache.pages(), model.list.iter().map(|region| region.1).sum::<u64>());
        }
    }

    /// What is registered and not taken back is exactly what the cache holds.
    #[test]
    fn registrations_are_taken_back_once(uses in prop::collection::vec((0u64..12, 1u64..7), 1..100)) {
        let mut cache = RegistrationCache::new(3, 10);
        let (mut added, mut dropped) = (0, 0);
        for (first, count) in uses {
            let done = cache.register(first, count);
            added += usize::from(done.added.is_some());
            dropped += done.dropped.len();
            prop_assert_eq!(added - dropped, cache.regions());
        }
    }
}

struct Model {
    regions: u32,
    pages: u64,
    list: Vec<(u64, u64)>,
}

impl Model {
    fn register(&mut self, first: u64, count: u64) -> Registered {
        let covers = |region: &(u64, u64)| {
            (first..first + count).all(|page| (region.0..region.0 + region.1).contains(&page))
        };
        let mut found: Vec<usize> = (0..self.list.len()).collect();
        found.retain(|&place| covers(&self.list[place]));
        if let Some(&place) = found.last() {
            let region = self.list.remove(place);
            self.list.push(region);
            return Registered::default();
        }
        self.list.push((first, count));
        let mut dropped = Vec::new();
        let is_full = |list: &[(u64, u64)], regions: u32, pages: u64| {
            let sum: u64 = list.iter().map(|region| region.1).sum();
            list.len() > regions as usize || (sum > pages && list.len() > 1)
        };
        while is_full(&self.list, self.regions, self.pages) {
            dropped.push(self.list.remove(0));
        }
        Registered {
            added: Some((first, count)),
            dropped,
        }
    }
}
