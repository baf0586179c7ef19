//! What a job's processes counted, as rows.

use pagemill_fabric::board::StationView;
use pagemill_fabric::counters::{Cause, Counter, share};
use pagemill_report::Row;
use pagemill_run::{WHOLE_RANK, row_of_rank as row};
use pagemill_scenario::Point;

/// Picoseconds in a nanosecond.
const NANOSECOND_PS: f64 = 1000.0;

/// A kind of call: its name, and the counters of its operations, their bytes, its software, and waiting for it.
struct Call {
    name: &'static str,
    operations: Option<[Counter; 2]>,
    software: Option<Counter>,
    wait: Counter,
}

const CALLS: &[Call] = &[
    Call {
        name: "send",
        operations: Some([Counter::Sends, Counter::SentBytes]),
        software: Some(Counter::SendSoftwarePs),
        wait: Counter::SendWaitPs,
    },
    Call {
        name: "receive",
        operations: Some([Counter::Receives, Counter::ReceivedBytes]),
        software: Some(Counter::ReceiveSoftwarePs),
        wait: Counter::ReceiveWaitPs,
    },
    Call {
        name: "write",
        operations: Some([Counter::Writes, Counter::WrittenBytes]),
        software: Some(Counter::WriteSoftwarePs),
        wait: Counter::WriteWaitPs,
    },
    Call {
        name: "read",
        operations: Some([Counter::Reads, Counter::ReadBytes]),
        software: Some(Counter::ReadSoftwarePs),
        wait: Counter::ReadWaitPs,
    },
    Call {
        name: "probe",
        operations: None,
        software: None,
        wait: Counter::ProbeWaitPs,
    },
];

/// What a wait was for, and the column that has it.
const CAUSES: &[(Cause, &str)] = &[
    (Cause::Partner, "partner_wait_time_ns"),
    (Cause::Wire, "wire_wait_time_ns"),
    (Cause::Table, "table_wait_time_ns"),
    (Cause::Port, "port_wait_time_ns"),
    (Cause::Busy, "busy_wait_time_ns"),
    (Cause::Interface, "interface_wait_time_ns"),
    (Cause::Software, "software_wait_time_ns"),
];

/// A row for each rank and for each kind of call that it made.
pub fn rows(point: &Point, stations: &[StationView]) -> Vec<Row> {
    let of_rank = |station: &StationView| {
        let whole = row(point, station.index, WHOLE_RANK).map(|row| add_rank(row, station));
        let calls = CALLS.iter().filter_map(|call| {
            let row = row(point, station.index, call.name)?;
            add_call(row, call, station)
        });
        whole.into_iter().chain(calls).collect::<Vec<Row>>()
    };
    stations.iter().flat_map(of_rank).collect()
}

fn count(station: &StationView, counter: Counter) -> u64 {
    let counted = station.counters.get(counter as usize);
    counted.copied().unwrap_or(0)
}

/// Time in which the station waited for one of `calls` because of `cause`, in picoseconds.
fn waited_ps<'a>(
    station: &StationView,
    calls: impl IntoIterator<Item = &'a Call>,
    cause: Cause,
) -> u64 {
    let places = (calls.into_iter()).filter_map(|call| share(call.wait, cause));
    let counted = places.filter_map(|place| station.counters.get(place));
    counted.sum()
}

fn add_causes(row: Row, calls: &[Call], station: &StationView) -> Row {
    CAUSES.iter().fold(row, |row, (cause, column)| {
        row.metric(*column, nanoseconds(waited_ps(station, calls, *cause)))
    })
}

fn nanoseconds(ps: u64) -> f64 {
    ps as f64 / NANOSECOND_PS
}

fn add_rank(row: Row, station: &StationView) -> Row {
    let of = |counter| count(station, counter);
    let sum = |counter: fn(&Call) -> Option<Counter>| {
        let counters = CALLS.iter().filter_map(counter);
        nanoseconds(counters.map(of).sum())
    };
    let operations = |place: usize| {
        let counters = CALLS.iter().filter_map(|call| call.operations);
        counters.map(|counters| of(counters[place])).sum::<u64>()
    };
    let lookups = of(Counter::AttLookups);
    let by_lookups = |amount: f64| amount / lookups.max(1) as f64;
    let row = row
        .metric("time_ns", nanoseconds(station.clock_ps))
        .metric("software_time_ns", sum(|call| call.software))
        .metric("wait_time_ns", sum(|call| Some(call.wait)));
    add_causes(row, CALLS, station)
        .metric("compute_time_ns", nanoseconds(of(Counter::ComputePs)))
        .metric("clock_time_ns", nanoseconds(of(Counter::ClockPs)))
        .metric("start_time_ns", nanoseconds(of(Counter::StartPs)))
        .metric("operations", operations(0))
        .metric("bytes", operations(1))
        .metric("transfers_out", of(Counter::TransfersOut))
        .metric("transfers_in", of(Counter::TransfersIn))
        .metric("att_lookups", lookups)
        .metric("att_misses", of(Counter::AttMisses))
        .metric("att_miss_rate", by_lookups(of(Counter::AttMisses) as f64))
        .metric(
            "att_wait_time_ns",
            by_lookups(nanoseconds(of(Counter::AttWaitPs))),
        )
        .metric("port_misses", of(Counter::PortMisses))
        .metric("error_completions", of(Counter::ErrorCompletions))
        .metric("late_steps", of(Counter::LateSteps))
        .metric("forced_steps", of(Counter::ForcedSteps))
}

/// `None` if the rank made no such call.
fn add_call(row: Row, call: &Call, station: &StationView) -> Option<Row> {
    let of = |counter| count(station, counter);
    let software = call.software.map_or(0, of);
    let wait = of(call.wait);
    let operations = call.operations.map(|counters| counters.map(of));
    if operations.map_or(0, |[operations, _]| operations) + software + wait == 0 {
        return None;
    }
    let row = row
        .metric("time_ns", nanoseconds(software + wait))
        .metric("software_time_ns", nanoseconds(software))
        .metric("wait_time_ns", nanoseconds(wait));
    let row = add_causes(row, std::slice::from_ref(call), station);
    Some(match operations {
        Some([operations, bytes]) => row.metric("operations", operations).metric("bytes", bytes),
        None => row,
    })
}
