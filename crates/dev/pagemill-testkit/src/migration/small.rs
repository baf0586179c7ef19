use pagemill_policy::migration::{FullSlotRule, MigrationSpec, PolicyEntry};
use pagemill_types::{PageRange, PageSize};

/// Bytes of the smallest page there is: small enough to visit everything that can happen to it.
const SMALL_PAGE_BYTES: u64 = 256;

/// Every specification worth trying on a page of 256 B cut into units of `unit_bytes`: all gap thresholds that
/// differ, one to three slots and no limit, both rules.
///
/// # Panics
/// If `unit_bytes` is 0.
pub fn small_specs(entry: &'static PolicyEntry, unit_bytes: u32) -> Vec<MigrationSpec> {
    let page = PageSize::new(SMALL_PAGE_BYTES).expect("256 B is the smallest page size");
    let units = SMALL_PAGE_BYTES as u32 / unit_bytes;
    let mut specs = Vec::new();
    for threshold_units in 0..=units {
        for range_slots in [None, Some(1), Some(2), Some(3)] {
            for when_full in FullSlotRule::ALL {
                specs.push(MigrationSpec {
                    unit_bytes,
                    gap_threshold_bytes: threshold_units * unit_bytes,
                    range_slots,
                    when_full,
                    ..MigrationSpec::new(page, entry)
                });
            }
        }
    }
    specs
}

/// Every range of whole units in the page of `spec`.
pub fn every_range(spec: &MigrationSpec) -> Vec<PageRange> {
    let unit = spec.unit_bytes;
    let units = (spec.page.bytes() / u64::from(unit)) as u32;
    let starts = 0..units;
    starts
        .flat_map(|start| (start + 1..=units).map(move |end| (start, end)))
        .map(|(start, end)| PageRange {
            start: start * unit,
            end: end * unit,
        })
        .collect()
}
