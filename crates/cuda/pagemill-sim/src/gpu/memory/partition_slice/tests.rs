use super::*;
use crate::gtx480::gtx480;
use pagemill_types::Clock;

/// A slice that moves a line of 128 bytes in 10 ns.
fn rate(writes: Option<WriteBursts>) -> Rate {
    Rate {
        wire: Throughput::per_second(12_800_000_000),
        latency: Picos::from_nanos(300),
        line_bytes: 128,
        counts: DramCounts::default(),
        writes,
        gathered: 0,
        has_read: false,
    }
}

#[test]
fn reads_wait_for_a_burst_of_writes_and_its_turns() {
    let turn_round = Picos::from_nanos(96);
    let mut memory = rate(Some(WriteBursts {
        lines: 4,
        turn_round,
        hold_stores: true,
    }));
    for _ in 0..3 {
        memory.write(Picos::ZERO);
    }
    assert_eq!(
        memory.read(Picos::ZERO, 128).as_nanos(),
        310,
        "none is written"
    );
    assert_eq!(
        memory.write(Picos::ZERO).as_nanos(),
        10 + 96,
        "a burst begins"
    );
    assert_eq!(
        memory.read(Picos::ZERO, 128).as_nanos(),
        10 + 96 + 4 * 10 + 310
    );
    assert_eq!(memory.counts.bytes, 6 * 128);
}

#[test]
fn writes_that_follow_writes_turn_no_bus_and_wait_for_it() {
    let mut memory = rate(Some(WriteBursts {
        lines: 2,
        turn_round: Picos::from_nanos(96),
        hold_stores: true,
    }));
    let goes_on: Vec<u64> = (0..6)
        .map(|_| memory.write(Picos::ZERO).as_nanos())
        .collect();
    assert_eq!(goes_on, [0, 0, 0, 20, 0, 40]);
}

#[test]
fn without_bursts_a_write_takes_the_time_of_a_read() {
    let mut memory = rate(None);
    memory.write(Picos::ZERO);
    assert_eq!(memory.read(Picos::ZERO, 128).as_nanos(), 320);
}

/// A slice in cycles of 1 ns.
fn slice() -> PartitionSlice {
    let mut machine = gtx480();
    machine.l2_clock = Clock::new(1_000_000_000).expect("it is a clock");
    machine.l2.hit_latency_cycles = 100;
    machine.interconnect.bytes_per_cycle = 64;
    machine.interconnect.store_bytes_per_cycle = Some(20);
    PartitionSlice::new(&machine)
}

const LATER: Picos = Picos(1_000_000_000);

#[test]
fn stores_wait_for_stores_and_loads_for_loads() {
    let mut slice = slice();
    (0..9).for_each(|line| slice.place(Picos::ZERO, line, false));
    let line = Picos(6400);
    let ends: Vec<u64> = (0..4)
        .map(|at| slice.store(LATER, at, ALL_SECTORS, line).0)
        .collect();
    let steps: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps, [6400; 3]);
    assert_eq!((slice.load(LATER, 8, ALL_SECTORS) - LATER).as_nanos(), 100);
}

#[test]
fn what_a_fill_leaves_is_written_back_when_it_makes_room() {
    let written = |is_dirty| {
        let mut slice = slice();
        let lines = slice.capacity_lines() as u64;
        (0..lines).for_each(|line| slice.place(Picos::ZERO, line, is_dirty));
        (lines..2 * lines).for_each(|line| {
            slice.load(LATER, line, ALL_SECTORS);
        });
        slice.counts().0.writebacks
    };
    assert_eq!(written(false), 0);
    assert!(written(true) > 0);
}

#[test]
fn a_miss_fetches_the_neighbors_of_its_sectors() {
    let mut machine = gtx480();
    machine.l2_fetch_bytes = Some(64);
    machine.memory = Memory::Rate {
        bandwidth: pagemill_types::Bandwidth::new(1_000_000_000_000).expect("it is a rate"),
        latency: Picos::from_nanos(300),
        slices: 1,
        writes: None,
    };
    let mut slice = PartitionSlice::new(&machine);
    for (sectors, bytes) in [(0b0001, 64), (0b0010, 64), (0b0110, 128), (0b1111, 128)] {
        slice.load(LATER, 7, sectors);
        assert_eq!(slice.counts().1.bytes, bytes, "{sectors:#06b}");
    }
    slice.store(LATER, 8, 0b0001, Picos::ZERO);
    slice.load(LATER, 8, 0b0001);
    assert_eq!(slice.counts().1.bytes, 128, "what is stored is there");
    slice.load(LATER, 8, 0b0100);
    assert_eq!(slice.counts().1.bytes, 192);
}
