//! Page faults of an interface: pages are mapped when a transfer first needs them.

use std::collections::BTreeMap;

use pagemill_policy::translation::OnDemand;
use pagemill_types::Picos;

use super::machine::PagingSpec;
use super::timed_cache::Side;
use pagemill_pages::parts::entry_pool::EntryPool;

/// Which pages are mapped, and the faults that the host handles.
#[derive(Debug)]
pub(crate) struct Paging {
    spec: PagingSpec,
    /// Most pages that are mapped at once.
    most: u64,
    pages: OnDemand,
    /// When each mapped page was there.
    ready_at: BTreeMap<u64, Picos>,
    send: EntryPool,
    receive: EntryPool,
}

/// What a page needed.
#[derive(Debug)]
pub(crate) struct Mapped {
    /// When it is there.
    pub ready: Picos,
    pub is_fault: bool,
    /// Pages that were unmapped for it.
    pub unmapped: Vec<u64>,
}

impl Paging {
    /// No page is mapped.
    pub fn new(spec: &PagingSpec, page_bytes: u64) -> Self {
        Self {
            spec: *spec,
            most: spec.resident_bytes / page_bytes,
            pages: OnDemand::new(spec.resident_bytes / page_bytes),
            ready_at: BTreeMap::new(),
            send: EntryPool::new(spec.handlers),
            receive: EntryPool::new(spec.handlers),
        }
    }

    /// Whether `page` was mapped before the run began; it is now noted.
    fn was_used_before(&mut self, page: u64) -> bool {
        let was = !self.spec.first_use_faults && self.pages.mapped() < self.most;
        if was {
            self.pages.map(page);
        }
        was
    }

    /// Uses `page` of a transfer that ends in page `last`, at `at`. A fault maps the pages from there on, as many as a handler does.
    pub fn touch(&mut self, side: Side, at: Picos, page: u64, last: u64) -> Mapped {
        if self.pages.touch(page) || self.was_used_before(page) {
            let ready = self.ready_at.get(&page).copied().unwrap_or(at);
            return Mapped {
                ready: ready.max(at),
                is_fault: false,
                unmapped: Vec::new(),
            };
        }
        let end = last
            .max(page)
            .min(page.saturating_add(u64::from(self.spec.fault_pages) - 1));
        let (handlers, resend) = match side {
            Side::Send => (&mut self.send, Picos::ZERO),
            Side::Receive => (&mut self.receive, self.spec.resend_latency),
        };
        let handling = self.spec.fault_latency + Picos(self.spec.page_latency.0 * (end - page + 1));
        let handled = handlers.admit(at) + handling;
        handlers.hold_until(handled);
        let ready = handled + resend;
        let mut unmapped = Vec::new();
        // The page that was asked for is mapped last: no other of its fault drives it out.
        for mapped in (page..=end).rev() {
            unmapped.extend(self.pages.map(mapped));
            self.ready_at.insert(mapped, ready);
        }
        for page in &unmapped {
            self.ready_at.remove(page);
        }
        Mapped {
            ready,
            is_fault: true,
            unmapped,
        }
    }
}
