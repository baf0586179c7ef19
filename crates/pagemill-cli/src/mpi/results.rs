//! What a job's processes counted, as rows.

use pagemill_fabric::board::StationView;
use pagemill_fabric::counters::Counter;
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
    row.metric("time_ns", nanoseconds(station.clock_ps))
        .metric("software_time_ns", sum(|call| call.software))
        .metric("wait_time_ns", sum(|call| Some(call.wait)))
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
    Some(match operations {
        Some([operations, bytes]) => row.metric("operations", operations).metric("bytes", bytes),
        None => row,
    })
}
