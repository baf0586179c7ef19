//! The events of all points as one timeline, a group of tracks for each point.

use pagemill_map::Map;
use pagemill_report::Timeline;
use pagemill_report::timeline::{CounterUnit, Sample, TrackId, TrackKind};
use pagemill_scenario::Point;

use crate::Outcome;

/// All events.
pub(crate) fn build(points: &[Point], outcomes: &[Outcome]) -> Timeline {
    let mut timeline = Timeline::new();
    for (point, outcome) in points.iter().zip(outcomes) {
        let Some(events) = &outcome.events else {
            continue;
        };
        let dropped = match events.dropped() {
            0 => String::new(),
            dropped => format!(", without {dropped} events, which were left out evenly"),
        };
        let group = timeline.track(None, format!("{point}{dropped}"), TrackKind::Group);
        let map = Map::decode(&outcome.page_map).ok();
        if let Some(map) = &map {
            add_counters(&mut timeline, group, map);
        }
        events.add_to(&mut timeline, group, map.as_ref());
    }
    timeline
}

/// What the page map counted over time: nothing of it is left out.
fn add_counters(timeline: &mut Timeline, group: TrackId, map: &Map) {
    let causes = map.legend.causes.len();
    let totals = totals(map);
    let column_ns = (map.column_ps / 1000).max(1);
    let mut add = |name: &str, unit, value: &dyn Fn(usize) -> u64| {
        let track = timeline.track(Some(group), name, TrackKind::Counter(unit));
        let mut before = None;
        for column in 0..map.columns {
            let value = value(column) as i64;
            if before.replace(value) != Some(value) {
                timeline.sample(Sample {
                    track,
                    at_ps: column as u64 * map.column_ps,
                    value,
                });
            }
        }
    };
    add("resident", CounterUnit::Bytes, &|column| {
        totals[column].resident
    });
    let used = |bytes: u64| {
        let room = u128::from(map.link_bytes_per_second) * u128::from(map.column_ps);
        (u128::from(bytes) * 100 * 1_000_000_000_000 / room.max(1)) as u64
    };
    add("link to the GPU", CounterUnit::Percent, &|column| {
        used(totals[column].in_bytes)
    });
    add("link to the CPU", CounterUnit::Percent, &|column| {
        used(totals[column].out_bytes)
    });
    for (number, cause) in map.legend.causes.iter().enumerate() {
        let count = |column: usize| map.counts[column * causes + number];
        if (0..map.columns).any(|column| count(column) > 0) {
            let name = format!("{}, a second", cause.name);
            add(&name, CounterUnit::Count, &|column| {
                count(column).saturating_mul(1_000_000_000) / column_ns
            });
        }
    }
}

/// Bytes of a column, of all addresses.
#[derive(Clone, Copy, Default)]
struct Column {
    in_bytes: u64,
    out_bytes: u64,
    resident: u64,
}

fn totals(map: &Map) -> Vec<Column> {
    let mut totals = vec![Column::default(); map.columns];
    for row in map.tiles.chunks(map.columns.max(1)) {
        for (column, tile) in totals.iter_mut().zip(row) {
            column.in_bytes += tile.arrived;
            column.out_bytes += tile.left;
            column.resident += tile.arrived;
        }
    }
    let mut resident = 0u64;
    for column in &mut totals {
        resident = (resident + column.resident).saturating_sub(column.out_bytes);
        column.resident = resident;
    }
    spread_over_the_link(map, &mut totals);
    totals
}

/// Bytes were counted when the last arrived or the first left: the others were on the link before or after, at its rate.
fn spread_over_the_link(map: &Map, totals: &mut [Column]) {
    let room = u128::from(map.link_bytes_per_second) * u128::from(map.column_ps);
    let room = u64::try_from(room / 1_000_000_000_000)
        .unwrap_or(u64::MAX)
        .max(1);
    let mut carried = 0;
    for column in totals.iter_mut().rev() {
        carried += column.in_bytes;
        column.in_bytes = carried.min(room);
        carried -= column.in_bytes;
    }
    carried = 0;
    for column in totals {
        carried += column.out_bytes;
        column.out_bytes = carried.min(room);
        carried -= column.out_bytes;
    }
}
