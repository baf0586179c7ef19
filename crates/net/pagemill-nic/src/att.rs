//! The translation unit: keys, pages and faults with a clock.

use std::ops::Range;

use pagemill_map::Limits;
use pagemill_policy::translation::{AttSpec, lines_ahead};
use pagemill_types::{Picos, VirtAddr};

use super::counts::TranslationCounts;
use super::descriptor::PortId;
use super::iommu::{Iommu, spec_error};
use super::machine::{KeySpec, TablePlace, TableSpec};
use super::moment::{Cause, Moment};
use super::paging::Paging;
use super::table_map::{Event, TableMap};
pub(crate) use super::timed_cache::Side;
use super::timed_cache::{Asked, TimedCache};
use pagemill_pages::SpecError;

/// Translates addresses, reads the table where it has to.
#[derive(Debug)]
pub(crate) struct TranslationUnit {
    spec: AttSpec,
    table: TableSpec,
    /// Time of one read of the table.
    fetch_latency: Picos,
    /// The cache of pages on the chip.
    pages: TimedCache,
    /// The cache of memory keys on the chip, and the time of reading one.
    keys: Option<(TimedCache, Picos)>,
    iommu: Option<Iommu>,
    paging: Option<Paging>,
    /// What is recorded of one port's table, if anything.
    map: Option<Box<TableMap>>,
    pub counts: TranslationCounts,
}

/// How long reading the host's tables takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchLatencies {
    pub group: Picos,
    pub key: Picos,
}

/// What one transfer remembers between its segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    port: PortId,
    side: Side,
    last_entry: u64,
    /// When it first asked.
    began: Option<Picos>,
    /// The registration that allows it, until it is looked up.
    key: Option<u64>,
    /// The entry in the engine's register, and the line whose successors were prefetched.
    entry: Option<u64>,
    line: Option<u64>,
}

impl TranslationUnit {
    pub fn new(
        spec: &AttSpec,
        table: &TableSpec,
        latencies: FetchLatencies,
    ) -> Result<Self, SpecError> {
        let cache = spec.build().map_err(|error| {
            SpecError::new(format!("att.{}", error.key), error.value, error.allowed)
        })?;
        let keys = table.keys.as_ref().map(|keys| key_cache(keys, table));
        let iommu = match table.place {
            TablePlace::Iommu => table.iommu.as_ref().map(Iommu::new).transpose()?,
            _ => None,
        };
        // Where an IOMMU answers, its walkers are what bounds the misses.
        let fetches = iommu.as_ref().map_or(table.fetches_in_flight, |_| u32::MAX);
        Ok(Self {
            spec: *spec,
            table: *table,
            fetch_latency: latencies.group,
            pages: TimedCache::new(cache, fetches),
            keys: keys.transpose()?.map(|keys| (keys, latencies.key)),
            iommu,
            paging: (table.paging.as_ref())
                .filter(|paging| paging.is_on_demand)
                .map(|paging| Paging::new(paging, spec.layout.page.bytes())),
            map: None,
            counts: TranslationCounts::default(),
        })
    }

    /// Records from now on what happens to the entries of `port`. Nothing of them is in the cache yet.
    pub fn record(&mut self, port: PortId, limits: Limits) {
        let map = TableMap::new(self.spec.layout, self.of_port(port, 0), limits);
        self.map = Some(Box::new(map));
    }

    /// Ends the record at `end`: the bytes of a page map.
    pub fn take_map(&mut self, end: Picos) -> Option<Vec<u8>> {
        self.map.take().map(|map| map.finish(end))
    }

    /// Number of the entry for `address` of `port`.
    fn entry_of(&self, port: PortId, address: u64) -> u64 {
        self.of_port(port, self.spec.layout.entry_of(VirtAddr(address)))
    }

    /// Number of entry `within` of the table of `port`. Tables of different ports lie apart and start a page of entries further on each.
    fn of_port(&self, port: PortId, within: u64) -> u64 {
        const NUMBER_BITS: u32 = 44;
        let within = within & ((1 << NUMBER_BITS) - 1);
        let page_of_entries =
            self.spec.layout.page.bytes() / u64::from(self.spec.layout.entry_bytes);
        (u64::from(port.0) << NUMBER_BITS) + u64::from(port.0) * page_of_entries + within
    }

    /// Starts a transfer of `bytes` at `address` of `port`, which the registration `key` allows.
    pub fn walk(&self, side: Side, port: PortId, address: u64, bytes: u64, key: u64) -> Walk {
        let last = address.saturating_add(bytes.saturating_sub(1));
        Walk {
            port,
            side,
            last_entry: self.entry_of(port, last),
            began: None,
            key: Some(key),
            entry: None,
            line: None,
        }
    }

    /// Translates `address` for `walk`; returns when the physical address is known.
    #[inline]
    pub fn translate<M: Moment>(&mut self, at: M, walk: &mut Walk, address: u64) -> M {
        let entry = self.entry_of(walk.port, address);
        if walk.entry == Some(entry) {
            return at;
        }
        walk.entry = Some(entry);
        self.counts.lookups += 1;
        let looked = at.after(self.table.lookup_latency, Cause::Interface);
        if self.table.place == TablePlace::OwnMemory {
            self.map_use(walk, (at.at(), looked.at()));
            return looked;
        }
        let keyed = self.key(looked.at(), walk);
        walk.began.get_or_insert(keyed);
        let ready = match self.iommu.is_some() && !self.has_page_cache() {
            true => self.page_of_host(keyed, walk, entry),
            false => self.page_of_card(keyed, walk, entry),
        };
        let ready = match self.paging.is_some() {
            true => self.present(ready.max(keyed), walk, entry),
            false => ready,
        };
        let known = looked.until(ready.max(keyed), Cause::Table);
        self.counts.waited += known.at() - at.at();
        self.map_use(walk, (at.at(), known.at()));
        known
    }

    /// Notes for the map that `walk` used its entry.
    #[inline]
    fn map_use(&mut self, walk: &Walk, times: (Picos, Picos)) {
        if let (Some(map), Some(entry)) = (&mut self.map, walk.entry) {
            map.note(Event::Used, entry, times);
        }
    }

    fn has_page_cache(&self) -> bool {
        self.table.iommu.is_none_or(|iommu| iommu.has_device_tlb)
    }

    /// When the registration of `walk` is known, asked for at `at`.
    #[inline]
    fn key(&mut self, at: Picos, walk: &mut Walk) -> Picos {
        let (Some((keys, latency)), Some(key)) = (&mut self.keys, walk.key.take()) else {
            return at;
        };
        let latency = *latency;
        let asked = keys.ask(walk.side, at, key, latency, |start| start + latency);
        self.counts.key_misses += u64::from(asked.is_miss);
        asked.ready.max(at)
    }

    /// When the IOMMU has translated `entry`, which arrives with the data at `at`.
    fn page_of_host(&mut self, at: Picos, walk: &Walk, entry: u64) -> Picos {
        let Some(iommu) = &mut self.iommu else {
            return at;
        };
        let asked = iommu.translate(walk.side, walk.began.unwrap_or(at), at, entry);
        self.counts.walks += u64::from(asked.is_miss);
        self.counts.misses += u64::from(asked.is_miss);
        self.map_fetch(Event::Missed, at, entry..entry + 1, &asked);
        asked.ready
    }

    /// When `entry` is in the cache of the interface, asked for at `at`.
    #[inline]
    fn page_of_card(&mut self, at: Picos, walk: &mut Walk, entry: u64) -> Picos {
        let line = self.pages.line_of(entry);
        let (side, began) = (walk.side, walk.began.unwrap_or(at));
        let asked = self.line(side, began, at, line);
        self.counts.misses += u64::from(asked.is_miss);
        self.map_fetch(Event::Missed, at, self.pages.entries(line), &asked);
        if walk.line != Some(line) {
            walk.line = Some(line);
            let last_line = self.pages.line_of(walk.last_entry);
            for ahead in lines_ahead(line, last_line, self.spec.prefetch_groups) {
                let fetched = self.line(side, began, at, ahead);
                self.counts.prefetches += u64::from(fetched.is_miss);
                self.map_fetch(Event::Ahead, at, self.pages.entries(ahead), &fetched);
            }
        }
        asked.ready
    }

    /// Notes a fetch of `entries` that began at `at`, if it was one.
    #[inline]
    fn map_fetch(&mut self, event: Event, at: Picos, entries: Range<u64>, asked: &Asked) {
        if let (Some(map), true) = (&mut self.map, asked.is_miss) {
            map.fetched(event, asked.slot, entries, (at, asked.ready));
        }
    }

    /// Asks the cache of the interface for `line`; a miss reads the table, or asks the IOMMU.
    #[inline]
    fn line(&mut self, side: Side, began: Picos, at: Picos, line: u64) -> Asked {
        let Some(iommu) = &mut self.iommu else {
            let latency = self.fetch_latency;
            return self
                .pages
                .ask(side, at, line, latency, |start| start + latency);
        };
        let (request, walk) = match &self.table.iommu {
            Some(spec) => (spec.request_latency, spec.walk_latency),
            None => (Picos::ZERO, Picos::ZERO),
        };
        let walks = &mut self.counts.walks;
        // A line of several entries is one request; the first of them stands for all.
        let first_entry = self.pages.entries(line).start;
        self.pages.ask(side, at, line, request + walk, |start| {
            let asked = iommu.translate(side, began, start, first_entry);
            *walks += u64::from(asked.is_miss);
            asked.ready.max(start) + request
        })
    }

    /// When the page of `entry` is mapped, asked for at `at`. What was unmapped for it leaves the caches.
    fn present(&mut self, at: Picos, walk: &Walk, entry: u64) -> Picos {
        let last = match self.spec.layout.large {
            // Neighbors may be of another size: one page a fault.
            Some(_) => entry,
            None => walk.last_entry,
        };
        let Some(paging) = &mut self.paging else {
            return at;
        };
        let mapped = paging.touch(walk.side, at, entry, last);
        self.counts.faults += u64::from(mapped.is_fault);
        if let (Some(map), true) = (&mut self.map, mapped.is_fault) {
            map.note(Event::Faulted, entry, (at, mapped.ready));
        }
        for page in mapped.unmapped {
            if let Some(map) = &mut self.map {
                map.forgot(page, page);
            }
            self.pages.forget(page);
            if let Some(iommu) = &mut self.iommu {
                iommu.forget(page);
            }
        }
        mapped.ready
    }

    /// Forgets the entries of `bytes` bytes at `address` of `port`.
    pub fn invalidate(&mut self, port: PortId, address: u64, bytes: u64) {
        let layout = self.spec.layout;
        for (first, last) in layout.spans(VirtAddr(address), bytes) {
            let (first, last) = (self.of_port(port, first), self.of_port(port, last));
            self.counts.invalidated += u64::from(self.pages.invalidate(first, last));
            if let Some(map) = &mut self.map {
                map.forgot(first, last);
            }
            if let Some(iommu) = &mut self.iommu {
                iommu.invalidate(first, last);
            }
        }
    }

    /// Bytes of translations that the interface itself holds, or can hold, when `registered` bytes of memory are registered.
    pub fn card_bytes(&self, registered: u64) -> u64 {
        let keys = self.table.keys.map_or(0, |keys| keys.bytes());
        let pages = match self.table.place {
            TablePlace::OwnMemory => self.spec.layout.table_bytes(registered),
            TablePlace::Iommu if !self.has_page_cache() => 0,
            _ => u64::from(self.spec.cache_bytes),
        };
        keys + pages
    }
}

fn key_cache(keys: &KeySpec, table: &TableSpec) -> Result<TimedCache, SpecError> {
    let cache = AttSpec::of_entries(keys.entries, keys.ways).build();
    let cache = cache.map_err(|error| spec_error("keys", &error))?;
    Ok(TimedCache::new(cache, table.fetches_in_flight))
}
