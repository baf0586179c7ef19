use std::collections::BTreeMap;

/// Which pages an interface may reach where pages are mapped when they are first used: page faults of the interface, by PCIe's page
/// requests or by a driver. It knows no time and holds no data.
#[derive(Clone, Debug)]
pub struct OnDemand {
    /// Most pages that are mapped at once.
    most: u64,
    /// When each mapped page was last used, and the pages in that order.
    used: BTreeMap<u64, u64>,
    order: BTreeMap<u64, u64>,
    uses: u64,
}

impl OnDemand {
    /// No page is mapped. The least recently used one is unmapped when there are more than `most`, at least one.
    pub fn new(most: u64) -> Self {
        Self {
            most: most.max(1),
            used: BTreeMap::new(),
            order: BTreeMap::new(),
            uses: 0,
        }
    }

    /// Uses `page`; returns whether it is mapped.
    pub fn touch(&mut self, page: u64) -> bool {
        let is_mapped = self.used.contains_key(&page);
        if is_mapped {
            self.note(page);
        }
        is_mapped
    }

    /// Maps `page`, which is now the one used last; returns the page that was unmapped for it.
    pub fn map(&mut self, page: u64) -> Option<u64> {
        self.note(page);
        if (self.used.len() as u64) <= self.most {
            return None;
        }
        // `page` was noted before, so it is the newest and never the one that leaves.
        let (_, unmapped) = self.order.pop_first()?;
        self.used.remove(&unmapped);
        Some(unmapped)
    }

    /// Pages that are mapped.
    pub fn mapped(&self) -> u64 {
        self.used.len() as u64
    }

    fn note(&mut self, page: u64) {
        self.uses += 1;
        if let Some(before) = self.used.insert(page, self.uses) {
            self.order.remove(&before);
        }
        self.order.insert(self.uses, page);
    }
}
