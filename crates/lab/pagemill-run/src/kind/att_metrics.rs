//! Metrics of the address translation table, for every kind that has one.

use pagemill_nic::TranslationCounts;
use pagemill_report::ColumnKind::{Count, Rate};

use crate::quotient::quotient;
use pagemill_report::metric::Metric;

/// What may have looked translations up.
pub trait Translates {
    /// What it counted; `None` leaves the columns empty.
    fn translation(&self) -> Option<&TranslationCounts>;
}

pub const fn att_lookups<T: Translates>() -> Metric<T> {
    Metric::sometimes(
        "att_lookups",
        Count,
        "translations that were not in an engine's register",
        |of| Some(of.translation()?.lookups.into()),
    )
}

pub const fn att_misses<T: Translates>() -> Metric<T> {
    Metric::sometimes(
        "att_misses",
        Count,
        "lookups for which the table in memory was read",
        |of| Some(of.translation()?.misses.into()),
    )
}

pub const fn att_miss_rate<T: Translates>() -> Metric<T> {
    Metric::sometimes("att_miss_rate", Rate, "att_misses / att_lookups", |of| {
        let table = of.translation()?;
        Some(quotient(table.misses as f64, table.lookups).into())
    })
}
