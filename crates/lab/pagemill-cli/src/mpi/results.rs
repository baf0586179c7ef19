//! What a job's processes counted, as rows.

use pagemill_fabric::board::StationView;
use pagemill_fabric::counters::{Cause, Counter, share};
use pagemill_nic::{NicCounts, TranslationCounts};
use pagemill_report::Row;
use pagemill_run::{MpiReport, RankReport, row_of_rank as row};
use pagemill_scenario::Point;
use pagemill_types::Picos;

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
        let whole = row(point, station.index, None, &rank_report(station));
        let calls = CALLS.iter().filter_map(|call| {
            let report = call_report(station, std::slice::from_ref(call));
            let is_made =
                report.time != Picos::ZERO || report.operations.is_some_and(|(count, _)| count > 0);
            row(point, station.index, Some(call.name), &report).filter(|_| is_made)
        });
        whole.into_iter().chain(calls).collect::<Vec<Row>>()
    };
    stations.iter().flat_map(of_rank).collect()
}

fn count(station: &StationView, counter: Counter) -> u64 {
    let counted = station.counters.get(counter as usize);
    counted.copied().unwrap_or(0)
}

fn time(station: &StationView, counter: Counter) -> Picos {
    Picos(count(station, counter))
}

/// What the station did in `calls`.
fn call_report(station: &StationView, calls: &[Call]) -> MpiReport {
    let of = |counter| count(station, counter);
    let software = Picos(calls.iter().filter_map(|call| call.software).map(of).sum());
    let wait = Picos(calls.iter().map(|call| of(call.wait)).sum());
    let waited_for = |cause: Cause| {
        let places = calls.iter().filter_map(|call| share(call.wait, cause));
        Picos(places.filter_map(|place| station.counters.get(place)).sum())
    };
    let operations = calls.iter().filter_map(|call| call.operations);
    let operations = operations.map(|[operations, bytes]| (of(operations), of(bytes)));
    MpiReport {
        time: software + wait,
        software,
        wait,
        wait_by_cause: Cause::ALL.map(waited_for),
        operations: operations.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1)),
        rank: None,
    }
}

fn rank_report(station: &StationView) -> MpiReport {
    let (of, time) = (|it| count(station, it), |it| time(station, it));
    let interface = NicCounts {
        sent: of(Counter::TransfersOut),
        received: of(Counter::TransfersIn),
        translation: TranslationCounts {
            lookups: of(Counter::AttLookups),
            misses: of(Counter::AttMisses),
            waited: time(Counter::AttWaitPs),
            ..TranslationCounts::default()
        },
        port_misses: of(Counter::PortMisses),
        ..NicCounts::default()
    };
    let rank = RankReport {
        compute: time(Counter::ComputePs),
        clock: time(Counter::ClockPs),
        start: time(Counter::StartPs),
        interface,
        error_completions: of(Counter::ErrorCompletions),
        late_steps: of(Counter::LateSteps),
        forced_steps: of(Counter::ForcedSteps),
    };
    MpiReport {
        time: Picos(station.clock_ps),
        rank: Some(rank),
        ..call_report(station, CALLS)
    }
}
