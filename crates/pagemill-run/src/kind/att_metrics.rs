//! Metrics of the address translation table, for every kind that has one.

use pagemill_report::ColumnKind;

/// Name, kind and meaning.
pub type Metric = (&'static str, ColumnKind, &'static str);

/// Lookups in the cache of the table.
pub const ATT_LOOKUPS: Metric = (
    "att_lookups",
    ColumnKind::Count,
    "translations that were not in an engine's register",
);
/// Those that missed.
pub const ATT_MISSES: Metric = (
    "att_misses",
    ColumnKind::Count,
    "lookups for which the table in memory was read",
);
/// Their share.
pub const ATT_MISS_RATE: Metric = (
    "att_miss_rate",
    ColumnKind::Rate,
    "att_misses / att_lookups",
);
