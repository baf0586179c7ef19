//! The processor's IOMMU: it keeps some translations and walks the page tables for the others.

use pagemill_policy::translation::AttSpec;
use pagemill_types::Picos;

use super::machine::IommuSpec;
use super::timed_cache::{Asked, Side, TimedCache};
use pagemill_pages::SpecError;
use pagemill_pages::parts::calendar::Calendar;

/// Translations that the IOMMU keeps (its IOTLB), and the walks behind them.
#[derive(Debug)]
pub(crate) struct Iommu {
    walk: Picos,
    kept: TimedCache,
    /// Walkers for what is sent and for what is received: a transfer asks for its later pages ahead of earlier requests of others.
    send: Calendar,
    receive: Calendar,
}

impl Iommu {
    pub fn new(spec: &IommuSpec) -> Result<Self, SpecError> {
        let cache = AttSpec::of_entries(spec.entries, spec.ways).build();
        let cache = cache.map_err(|error| spec_error("iommu", &error))?;
        Ok(Self {
            walk: spec.walk_latency,
            // Walkers are what bounds the misses.
            kept: TimedCache::new(cache, u32::MAX),
            send: Calendar::new(spec.walkers, spec.walk_latency),
            receive: Calendar::new(spec.walkers, spec.walk_latency),
        })
    }

    /// When the page of `entry` is known, asked for at `at` by a transfer that began at `began`; a miss is a walk.
    #[inline]
    pub fn translate(&mut self, side: Side, began: Picos, at: Picos, entry: u64) -> Asked {
        let walk = self.walk;
        let walkers = match side {
            Side::Send => &mut self.send,
            Side::Receive => &mut self.receive,
        };
        self.kept.ask(side, at, entry, walk, |start| {
            walkers.book(began.min(start), start) + walk
        })
    }

    pub fn invalidate(&mut self, first: u64, last: u64) {
        self.kept.invalidate(first, last);
    }

    pub fn forget(&mut self, entry: u64) {
        self.kept.forget(entry);
    }
}

/// The error of a cache that `section` describes, as the machine names its values.
pub(crate) fn spec_error(
    section: &str,
    error: &pagemill_policy::translation::AttSpecError,
) -> SpecError {
    let key = match error.key {
        "cache_bytes" => "entries",
        key => key,
    };
    let value = match error.key {
        "cache_bytes" => error.value / 8,
        _ => error.value,
    };
    let allowed = format!("must be {}", error.allowed);
    SpecError::new(format!("{section}.{key}"), value, allowed)
}
