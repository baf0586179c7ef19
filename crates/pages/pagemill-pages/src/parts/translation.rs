//! First-level TLBs of neighboring SMs, a second level for all, and page walks.

use pagemill_policy::residency::BLOCK_BYTES;
use pagemill_types::{Clock, PageSize, Picos};

use crate::SpecError;
use crate::parts::calendar::Calendar;
use crate::parts::tlb::{Tlb, TlbCounts, TlbSpec, Translation};

/// Tags of pages in CPU memory begin here; those in GPU memory lie below.
const REMOTE_TAGS: u32 = 1 << 31;

/// Lookups of a cycle, of either level.
const PORTS: u32 = 4;
/// Cycles in which the second level's ports are booked at a time.
const PORT_CYCLES: u32 = 16;

/// Translation look-aside buffers and page walks of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationSpec {
    /// SMs that share a first-level TLB.
    pub sms_per_utlb: u32,
    /// Entries of a first-level TLB.
    pub utlb_entries: u32,
    /// Entries of the second-level TLB.
    pub l2_entries: u32,
    /// Ways of the second-level TLB.
    pub l2_ways: u32,
    /// What a hit of the second level adds.
    pub l2_latency: Picos,
    /// Page walks at a time.
    pub concurrent_walks: u32,
    /// From a miss of the second level to its translation.
    pub walk_latency: Picos,
    /// Bytes that an entry translates in GPU memory.
    pub local_page: PageSize,
    /// Bytes that an entry translates in CPU memory.
    pub remote_page: PageSize,
    /// Whether pages of GPU memory are looked up. Without, their translations are always known.
    pub looks_up_local: bool,
}

impl TranslationSpec {
    /// Checks that such buffers can be built.
    ///
    /// # Errors
    /// The first value that is refused.
    pub fn check(&self) -> Result<(), SpecError> {
        for (key, value) in [
            ("translation.sms_per_utlb", self.sms_per_utlb),
            ("translation.utlb_entries", self.utlb_entries),
            ("translation.concurrent_walks", self.concurrent_walks),
        ] {
            if value == 0 {
                return Err(SpecError::new(key, value, "must be at least 1"));
            }
        }
        let ways = self.l2_ways;
        if ways == 0 || self.l2_entries == 0 || !self.l2_entries.is_multiple_of(ways) {
            let allowed = "must be at least 1 and divide l2_entries";
            return Err(SpecError::new("translation.l2_ways", ways, allowed));
        }
        for (key, page) in [
            ("translation.local_page", self.local_page),
            ("translation.remote_page", self.remote_page),
        ] {
            if !(4 << 10..=BLOCK_BYTES).contains(&page.bytes()) {
                return Err(SpecError::new(
                    key,
                    page.bytes(),
                    "must be from 4 KiB to 2 MiB",
                ));
            }
        }
        Ok(())
    }

    /// First-level TLBs of a GPU with so many SMs.
    pub fn utlbs(&self, sms: u32) -> u32 {
        sms.div_ceil(self.sms_per_utlb.max(1))
    }
}

/// All translation of a GPU with two levels.
#[derive(Clone, Debug)]
pub struct Translations {
    spec: TranslationSpec,
    utlbs: Vec<Tlb>,
    l2: Tlb,
    l2_ports: Calendar,
    walks: Calendar,
    local_shift: u32,
    remote_shift: u32,
}

impl Translations {
    /// For `sms` SMs of `clock`.
    pub fn new(spec: TranslationSpec, sms: u32, clock: Clock) -> Self {
        let level = |entries, ways| {
            let spec = TlbSpec {
                entries,
                ways,
                ports: PORTS,
                hit_latency_cycles: 0,
                retry_cycles: 0,
            };
            Tlb::new(&spec, clock)
        };
        let utlb = level(spec.utlb_entries, spec.utlb_entries);
        // Pages are numbered by 4 KiB everywhere; a tag is the number of the larger page that an entry translates.
        let shift = |bytes: u64| bytes.trailing_zeros() - 12;
        Self {
            utlbs: vec![utlb; spec.utlbs(sms) as usize],
            l2: level(spec.l2_entries, spec.l2_ways),
            // Booked ahead: a request that waits long for its first level must not hold up those that come here before it.
            l2_ports: Calendar::new(PORTS * PORT_CYCLES, clock.cycles(PORT_CYCLES.into())),
            walks: Calendar::new(spec.concurrent_walks, spec.walk_latency),
            local_shift: shift(spec.local_page.bytes()),
            remote_shift: shift(spec.remote_page.bytes()),
            spec,
        }
    }

    /// When the translation of 4 KiB page `page` is known to the SMs of `utlb`, and whether their first level had it.
    #[inline]
    pub fn known_at(&mut self, at: Picos, utlb: u32, page: u32, remote: bool) -> (Picos, bool) {
        // On an H100 no translation of GPU memory shows (`validation/h100`).
        if !remote && !self.spec.looks_up_local {
            return (at, true);
        }
        let tag = self.tag(page, remote);
        match self.utlbs[utlb as usize].lookup(at, tag) {
            Translation::Hit(known_at) => (known_at, true),
            Translation::Merged(known_at) => (known_at, false),
            Translation::Miss(miss) => {
                let known_at = self.second_level(at, miss.start, tag);
                self.utlbs[utlb as usize].fill(miss, known_at);
                (known_at, false)
            }
        }
    }

    fn tag(&self, page: u32, remote: bool) -> u32 {
        match remote {
            true => REMOTE_TAGS | page >> self.remote_shift,
            false => page >> self.local_shift,
        }
    }

    /// How much later than `at` the translation of 4 KiB page `page` is known to the SMs of `utlb`.
    #[inline]
    pub fn delay(&mut self, at: Picos, utlb: u32, page: u32, remote: bool) -> Picos {
        self.known_at(at, utlb, page, remote).0.saturating_since(at)
    }

    /// A request that was made at `now` comes here at `at`, once it has an entry of its first level. Others that are made
    /// later may come before it.
    fn second_level(&mut self, now: Picos, at: Picos, tag: u32) -> Picos {
        let looked_up = self.l2_ports.book(now, at);
        let known_at = match self.l2.probe(looked_up, tag) {
            Translation::Hit(known_at) | Translation::Merged(known_at) => known_at,
            Translation::Miss(miss) => {
                let known_at = self.walks.book(now, miss.start) + self.spec.walk_latency;
                self.l2.fill(miss, known_at);
                known_at
            }
        };
        known_at + self.spec.l2_latency
    }

    /// Forgets the translation of the 2 MiB or less at 4 KiB page `page` of GPU memory.
    pub fn forget_local(&mut self, page: u32) {
        let tag = page >> self.local_shift;
        for utlb in &mut self.utlbs {
            utlb.invalidate(tag);
        }
        self.l2.invalidate(tag);
    }

    /// Lookups of the first level and misses of the second.
    pub fn counts(&self) -> (TlbCounts, TlbCounts) {
        let mut first = TlbCounts::default();
        for utlb in &self.utlbs {
            let counts = utlb.counts();
            first.lookups += counts.lookups;
            first.misses += counts.misses;
            first.merged += counts.merged;
        }
        (first, self.l2.counts())
    }
}

#[cfg(test)]
mod tests;
