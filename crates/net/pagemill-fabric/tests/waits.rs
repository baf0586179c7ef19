//! What ranks wait for.

use crate::common::{Finished, Programs, lacks_open_mpi, mpirun, run, run_with};
use pagemill_fabric::board::StationView;
use pagemill_fabric::counters::{Cause, Counter, WAITS, share};
use pagemill_fabric::events::{RankEvent, Track};
use pagemill_fabric::launch::{Behavior, Clocks};
use pagemill_nic::NicMachine;

const MICROSECOND_PS: u64 = 1_000_000;

fn waited_ps(station: &StationView, wait: Counter, cause: Cause) -> u64 {
    station.counters[share(wait, cause).expect("a wait")]
}

/// Runs a program; every wait is the sum of its causes.
fn run_checked(machine: &NicMachine, program: &str, ranks: u32) -> Finished {
    let programs = Programs::new();
    let mut command = mpirun(ranks);
    command.arg(programs.compile("mpicc", program, &[]));
    let finished = run(machine, Clocks::Mpi, command);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let mut waits = 0;
    for station in &finished.stations {
        for wait in WAITS {
            let shares = Cause::ALL.map(|cause| waited_ps(station, wait, cause));
            let whole_ps = station.counters[wait as usize];
            assert_eq!(shares.iter().sum::<u64>(), whole_ps, "{wait:?} {shares:?}");
            waits += whole_ps;
        }
    }
    assert!(waits > 0);
    finished
}

#[test]
fn causes_add_up_to_the_wait_and_a_late_partner_is_one_of_them() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let machine = NicMachine::pni();
    let finished = run_checked(&machine, "waits", 2);
    let partner_us = |rank: usize, wait| {
        waited_ps(&finished.stations[rank], wait, Cause::Partner) / MICROSECOND_PS
    };
    let late_sender = partner_us(1, Counter::ReceiveWaitPs);
    assert!((299..310).contains(&late_sender), "{late_sender} us");
    let late_receiver = partner_us(0, Counter::SendWaitPs);
    assert!((490..510).contains(&late_receiver), "{late_receiver} us");
    // The receiver of the large message waits for it, not for its sender, who has announced it long ago.
    let of_receiver = |cause| waited_ps(&finished.stations[1], Counter::ReceiveWaitPs, cause);
    let wire_ps = machine.wire.bandwidth.time_for(1 << 20).0;
    let moved_ps = [Cause::Wire, Cause::Interface]
        .map(of_receiver)
        .iter()
        .sum::<u64>();
    assert!(moved_ps >= wire_ps / 2, "{moved_ps} of {wire_ps}");
}

#[test]
fn a_timeline_has_every_picosecond_of_a_rank_and_the_messages_to_it() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let mut command = mpirun(2);
    command.arg(programs.compile("mpicc", "waits", &[]));
    let behavior = Behavior {
        records_events: true,
        ..Behavior::default()
    };
    let (finished, _) = run_with(&NicMachine::pni(), behavior, command);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.timelines.len(), 2);
    for ((rank, recorded), station) in finished.timelines.iter().zip(&finished.stations) {
        assert_eq!((*rank, recorded.dropped), (station.index, 0));
        let (time, messages): (Vec<&RankEvent>, Vec<&RankEvent>) =
            (recorded.events.iter()).partition(|event| event.track == Track::Time);
        let span_ps = |event: &&RankEvent| event.end_ps - event.start_ps;
        let is_cause = |event: &&&RankEvent| CAUSES.contains(&event.name.as_str());
        let parts_ps: u64 = time.iter().filter(is_cause).map(span_ps).sum();
        let whole_ps: u64 = time.iter().map(span_ps).sum::<u64>() - parts_ps;
        assert_eq!(whole_ps, station.clock_ps, "what passed is the clock");
        let waits_ps: u64 = WAITS
            .map(|wait| station.counters[wait as usize])
            .iter()
            .sum();
        assert_eq!(parts_ps, waits_ps, "each wait has its parts");
        if *rank == 1 {
            let large = messages.iter().find(|message| message.bytes == 1 << 20);
            let large = large.expect("the large message");
            assert_eq!(large.name, "from rank 0");
            assert!(
                span_ps(large) > 490 * MICROSECOND_PS,
                "it waits for its receive"
            );
        }
    }
}

/// Names of the parts of a wait.
const CAUSES: [&str; 7] = [
    "partner",
    "software on the way",
    "interface",
    "port state",
    "other transfers",
    "table miss",
    "wire",
];

#[test]
fn causes_add_up_in_collectives_and_one_sided_communication() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let mut machine = NicMachine::pni();
    machine.att.cache_bytes = 4096;
    for (program, ranks) in [("collectives", 4), ("bandwidth", 2), ("windows", 2)] {
        run_checked(&machine, program, ranks);
    }
}
