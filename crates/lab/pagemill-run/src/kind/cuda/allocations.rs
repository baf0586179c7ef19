//! Rows of managed memory: what moved for each allocation.

use std::cmp::Reverse;

use pagemill_report::ColumnKind::{Bytes, Count, Text, TimeNs};
use pagemill_report::{Fact, Row, Value, human};
use pagemill_sim::{AllocationReport, Report};

use super::about::About;
use pagemill_report::metric::{self, Metric};

/// The share of the time from which on faults are what a run's time is about.
const FAULTS_COUNT: f64 = 0.3;
/// The most rows of allocations.
const ROWS: usize = 50;

/// The allocations that anything moved for, or that were used in place, numbered from 1 in the order in which they were
/// made. Where there are more than 50, those with the most bytes over the link.
pub fn moved(allocations: &[AllocationReport]) -> Vec<(usize, AllocationReport)> {
    let numbered = (1..).zip(allocations.iter().copied());
    let mut moved: Vec<(usize, AllocationReport)> = numbered
        .filter(|(_, allocation)| {
            let traffic = &allocation.traffic;
            traffic.link_bytes() + traffic.populated_bytes > 0
        })
        .collect();
    moved.sort_by_key(|(_, allocation)| Reverse(allocation.traffic.link_bytes()));
    moved.truncate(ROWS);
    moved.sort_by_key(|(number, _)| *number);
    moved
}

/// What faults asked a driver for, of every row.
#[rustfmt::skip]
pub const FAULTED: &[Metric<u64>] = &[
    Metric::new("faulted_pages", Count, "under a driver: pages of 4 KiB that faults asked for, each once for each time that the driver served its block",
        |pages| (*pages).into()),
];

/// The row with what was asked for on demand: pages of a driver, or ranges where the GPU moves them by itself.
pub fn add_demand(row: Row, report: &Report, asked: u64) -> Row {
    match report.driven {
        true => metric::add(row, FAULTED, &asked),
        false => row.metric("migrations", asked),
    }
}

/// What page faults cost, where they are what the time of the only program is about.
pub fn why_faults_count(rows: &[Row]) -> Option<Fact> {
    let mut programs = rows.iter().filter(|row| About::Program.is_of(row));
    let (Some(row), None) = (programs.next(), programs.next()) else {
        return None;
    };
    let of = |metric: &str| row.number(metric).unwrap_or(0.0);
    let (busy, time) = (of("driver_busy_ns"), of("time_ns"));
    (busy > FAULTS_COUNT * time).then(|| {
        let shown = |metric: &str, kind| human(&Value::Float(of(metric)), kind);
        let text = format!(
            "{} of the time, for {} pages, which brought {} over the link; compare --mode programmer-copy, or ask \
             `pagemill advise program`",
            shown("driver_busy_ns", TimeNs),
            shown("faulted_pages", Count),
            shown("migrated_bytes", Bytes),
        );
        Fact::new("page_faults", text, Text, "Page faults")
    })
}

/// The row with the size of an allocation and what moved for it.
pub fn add_traffic(row: Row, allocation: &AllocationReport) -> Row {
    let traffic = &allocation.traffic;
    row.metric("allocated_bytes", allocation.bytes)
        .metric("launches", u64::from(traffic.launches))
        .metric("migrated_bytes", traffic.migrated_bytes)
        .metric("repeated_bytes", traffic.repeated_bytes)
        .metric("returned_bytes", traffic.returned_bytes)
        .metric("populated_bytes", traffic.populated_bytes)
        .metric("dropped_bytes", traffic.dropped_bytes)
        .metric("remote_bytes", traffic.remote_bytes)
        .metric("host_remote_bytes", traffic.host_remote_bytes)
        .metric("evictions", traffic.evictions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagemill_sim::Traffic;

    fn allocation(migrated_bytes: u64, populated_bytes: u64) -> AllocationReport {
        let mut report = AllocationReport {
            bytes: 100,
            traffic: Traffic::default(),
        };
        report.traffic.migrated_bytes = migrated_bytes;
        report.traffic.populated_bytes = populated_bytes;
        report
    }

    #[test]
    fn what_moved_keeps_its_number() {
        let all = [allocation(0, 0), allocation(7, 0), allocation(0, 3)];
        let numbers: Vec<usize> = moved(&all).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [2, 3]);
    }

    #[test]
    fn the_most_traffic_stays_where_there_are_many() {
        let all: Vec<_> = (1..=60).map(|bytes| allocation(bytes, 0)).collect();
        let numbers: Vec<usize> = moved(&all).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (11..=60).collect::<Vec<_>>());
    }
}
