//! From addresses to places, at the depth that the machine says.

use crate::gpu::machine::{GpuMachine, TlbScope, Translation as Depth};
use pagemill_pages::MemoryStats;
use pagemill_pages::parts::page_walk::PageWalker;
use pagemill_pages::parts::tlb::{Tlb, Translation};
use pagemill_pages::parts::translation::Translations;
use pagemill_types::{PageSize, Picos};

/// All TLBs and page walks.
#[derive(Debug)]
pub(crate) enum Translator {
    OneLevel(OneLevel),
    TwoLevels(Box<TwoLevels>),
}

impl Translator {
    /// Empty TLBs for pages of `page`.
    pub(crate) fn new(machine: &GpuMachine, page: PageSize) -> Self {
        let (sms, clock) = (machine.sm.count, machine.core_clock);
        match machine.translation {
            Depth::OneLevel { tlb, scope, walker } => {
                let tlbs = match scope {
                    TlbScope::PerSm => sms,
                    // The document measures miss rates with one TLB of 256 entries for all (Zhang et al. 2019, section 5.3).
                    TlbScope::Shared => 1,
                };
                Self::OneLevel(OneLevel {
                    tlbs: vec![Tlb::new(&tlb, clock); tlbs as usize],
                    walker: PageWalker::new(&walker, page, clock),
                })
            }
            Depth::TwoLevels(spec) => Self::TwoLevels(Box::new(TwoLevels {
                levels: Translations::new(spec, sms, clock),
                sms_per_utlb: spec.sms_per_utlb,
            })),
        }
    }

    /// A page left the GPU: as the one level calls it, and its first 4 KiB page.
    pub(crate) fn forget(&mut self, key: u32, page: u32) {
        match self {
            Self::OneLevel(level) => level.tlbs.iter_mut().for_each(|tlb| tlb.invalidate(key)),
            Self::TwoLevels(levels) => levels.levels.forget_local(page),
        }
    }

    /// Look-ups, misses and walks so far.
    pub(crate) fn stats(&self) -> MemoryStats {
        let mut stats = MemoryStats::default();
        match self {
            Self::OneLevel(level) => {
                stats.walks = level.walker.walks();
                for tlb in &level.tlbs {
                    let counts = tlb.counts();
                    stats.tlb_lookups += counts.lookups;
                    stats.tlb_misses += counts.misses;
                    stats.tlb_merged_misses += counts.merged;
                }
            }
            Self::TwoLevels(levels) => {
                let (first, second) = levels.levels.counts();
                stats.walks = second.misses;
                stats.tlb_lookups = first.lookups;
                stats.tlb_misses = first.misses;
                stats.tlb_merged_misses = first.merged;
            }
        }
        stats
    }
}

/// One level of TLBs and a walker.
#[derive(Debug)]
pub(crate) struct OneLevel {
    tlbs: Vec<Tlb>,
    walker: PageWalker,
}

impl OneLevel {
    /// When the translation of page `key` is known to `sm`, and whether its TLB had it.
    #[inline]
    pub(crate) fn lookup(&mut self, at: Picos, sm: u32, key: u32) -> (Picos, bool) {
        let tlb = if self.tlbs.len() == 1 { 0 } else { sm as usize };
        match self.tlbs[tlb].lookup(at, key) {
            Translation::Hit(known) => (known, true),
            Translation::Merged(known) => (known, false),
            Translation::Miss(miss) => {
                let known = self.walker.walk(miss.start);
                self.tlbs[tlb].fill(miss, known);
                (known, false)
            }
        }
    }
}

/// Two levels of TLBs.
#[derive(Debug)]
pub(crate) struct TwoLevels {
    levels: Translations,
    sms_per_utlb: u32,
}

impl TwoLevels {
    /// When the translation of 4 KiB page `page` is known to `sm`, and whether its first-level TLB had it.
    #[inline]
    pub(crate) fn translate(
        &mut self,
        at: Picos,
        sm: u32,
        page: u32,
        remote: bool,
    ) -> (Picos, bool) {
        let utlb = sm / self.sms_per_utlb;
        self.levels.known_at(at, utlb, page, remote)
    }
}
