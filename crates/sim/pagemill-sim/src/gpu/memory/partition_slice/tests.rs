use super::*;

/// A slice that moves a line of 128 bytes in 10 ns.
fn rate(writes: Option<WriteBursts>) -> Rate {
    Rate {
        wire: Throughput::per_second(12_800_000_000),
        latency: Picos::from_nanos(300),
        line_bytes: 128,
        counts: DramCounts::default(),
        writes,
        gathered: 0,
    }
}

#[test]
fn reads_wait_for_a_burst_of_writes_and_its_turns() {
    let turn_round = Picos::from_nanos(96);
    let mut memory = rate(Some(WriteBursts {
        lines: 4,
        turn_round,
    }));
    for _ in 0..3 {
        memory.write(Picos::ZERO);
    }
    assert_eq!(memory.read(Picos::ZERO).as_nanos(), 310, "none is written");
    memory.write(Picos::ZERO);
    assert_eq!(memory.read(Picos::ZERO).as_nanos(), 10 + 96 + 4 * 10 + 310);
    assert_eq!(memory.counts.bytes, 6 * 128);
}

#[test]
fn without_bursts_a_write_takes_the_time_of_a_read() {
    let mut memory = rate(None);
    memory.write(Picos::ZERO);
    assert_eq!(memory.read(Picos::ZERO).as_nanos(), 320);
}
