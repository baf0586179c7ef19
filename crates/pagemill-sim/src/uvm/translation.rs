//! First-level TLBs of neighbouring SMs, a second level for all, and page walks.

use pagemill_types::Picos;

use super::machine::{TranslationSpec, UvmMachine};
use crate::parts::calendar::Calendar;
use crate::parts::tlb::{Tlb, TlbCounts, TlbSpec, Translation};

/// Tags of pages in CPU memory begin here; those in GPU memory lie below.
const REMOTE_TAGS: u32 = 1 << 31;

/// Lookups of a cycle, of either level.
const PORTS: u32 = 4;
/// Cycles in which the second level's ports are booked at a time.
const PORT_CYCLES: u32 = 16;

/// All translation of a GPU.
#[derive(Clone, Debug)]
pub(super) struct Translations {
    spec: TranslationSpec,
    utlbs: Vec<Tlb>,
    l2: Tlb,
    l2_ports: Calendar,
    walks: Calendar,
    local_shift: u32,
    remote_shift: u32,
}

impl Translations {
    pub(super) fn new(machine: &UvmMachine) -> Self {
        let spec = machine.translation;
        let level = |entries, ways| {
            let spec = TlbSpec {
                entries,
                ways,
                ports: PORTS,
                hit_latency_cycles: 0,
            };
            Tlb::new(&spec, machine.sm.clock)
        };
        let utlb = level(spec.utlb_entries, spec.utlb_entries);
        let shift = |bytes: u64| bytes.trailing_zeros() - 12;
        Self {
            utlbs: vec![utlb; machine.utlbs() as usize],
            l2: level(spec.l2_entries, spec.l2_ways),
            l2_ports: Calendar::new(
                PORTS * PORT_CYCLES,
                machine.sm.clock.cycles(PORT_CYCLES.into()),
            ),
            walks: Calendar::new(spec.concurrent_walks, spec.walk_latency),
            local_shift: shift(spec.local_page.bytes()),
            remote_shift: shift(spec.remote_page.bytes()),
            spec,
        }
    }

    /// How much later than `at` the translation of 4 KiB page `page` is known to the SMs of `utlb`.
    #[inline]
    pub(super) fn delay(&mut self, at: Picos, utlb: u32, page: u32, remote: bool) -> Picos {
        let tag = if remote {
            REMOTE_TAGS | page >> self.remote_shift
        } else {
            page >> self.local_shift
        };
        let known_at = match self.utlbs[utlb as usize].lookup(at, tag) {
            Translation::Hit(known_at) | Translation::Merged(known_at) => known_at,
            Translation::Miss(miss) => {
                let known_at = self.second_level(at, miss.start, tag);
                self.utlbs[utlb as usize].fill(miss, known_at);
                known_at
            }
        };
        known_at.saturating_since(at)
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

    /// Lookups of the first level and misses of the second.
    pub(super) fn counts(&self) -> (TlbCounts, TlbCounts) {
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
mod tests {
    use super::*;

    #[test]
    fn a_first_level_that_is_full_holds_up_no_other() {
        let machine = UvmMachine::a100_pcie4_x86();
        let mut translations = Translations::new(&machine);
        let blocks = |count: u32| (0..count).map(|block| block << 9);
        // All are in the second level, and in no first level that is asked below.
        for page in blocks(200) {
            translations.delay(Picos::ZERO, 2, page, false);
        }
        let at = Picos::from_nanos(1_000_000);
        let waits: Vec<Picos> = blocks(200)
            .map(|page| translations.delay(at, 0, page, false))
            .collect();
        let entries = machine.translation.utlb_entries as usize;
        let rounds = (200 / entries) as u64;
        assert!(waits[entries - 1] < Picos(2 * machine.translation.l2_latency.0));
        assert!(waits[199] >= Picos(rounds * machine.translation.l2_latency.0));
        let other = translations.delay(at, 1, 0, false);
        assert!(
            other < Picos(2 * machine.translation.l2_latency.0),
            "{other:?}"
        );
    }
}
