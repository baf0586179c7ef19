use super::*;
use proptest::prelude::*;

fn spec(payload_bytes: u32, header_bytes: u32) -> LinkSpec {
    LinkSpec {
        to_gpu: Bandwidth::new(16_000_000_000).unwrap(),
        to_cpu: Bandwidth::new(8_000_000_000).unwrap(),
        latency: Picos::from_nanos(500),
        payload_bytes,
        header_bytes,
        reads: None,
    }
}

#[test]
fn the_wire_is_idle_while_copies_are_set_up() {
    let mut link = Link::new(spec(0, 0));
    let setup = Picos::from_nanos(3000);
    // 16 kB at 16 GB/s are a microsecond.
    let first = link.copy(Picos::ZERO, Direction::ToGpu, 16_000, setup);
    assert_eq!(first.done.as_nanos(), 500 + 3000 + 1000);
    let second = link.copy(Picos::ZERO, Direction::ToGpu, 16_000, setup);
    assert_eq!(second.done, first.done + setup + Picos::from_nanos(1000));
    let other_way = link.copy(Picos::ZERO, Direction::ToCpu, 8_000, Picos::ZERO);
    assert_eq!(other_way.done.as_nanos(), 500 + 1000);
}

#[test]
fn an_unloaded_transfer_takes_latency_plus_bytes_over_bandwidth() {
    let mut link = Link::new(spec(0, 0));
    let to_gpu = link.transfer(Picos::from_nanos(100), Direction::ToGpu, 1600);
    assert_eq!(
        to_gpu,
        Transfer {
            start: Picos::from_nanos(600),
            done: Picos::from_nanos(700)
        }
    );
    let to_cpu = link.transfer(Picos::from_nanos(100), Direction::ToCpu, 1600);
    assert_eq!(
        to_cpu.done,
        Picos::from_nanos(800),
        "directions do not share the wire"
    );
}

#[test]
fn a_transfer_that_waits_holds_up_no_other() {
    let mut link = Link::new(spec(0, 0));
    let (now, later) = (Picos::from_nanos(100), Picos::from_nanos(9000));
    let waiting = link.transfer_from(now, later, Direction::ToGpu, 1600);
    assert_eq!(waiting.done, Picos::from_nanos(9600));
    let next = link.transfer(now, Direction::ToGpu, 1600);
    assert_eq!(
        next.done,
        Picos::from_nanos(800),
        "its bytes were booked first"
    );
    let ready = link.transfer_from(now, now, Direction::ToGpu, 1600);
    assert_eq!(ready.done, Picos::from_nanos(900));
}

#[test]
fn headers_are_bytes_on_the_wire() {
    let spec = spec(256, 24);
    assert_eq!(spec.wire_bytes(1), 25);
    assert_eq!(spec.wire_bytes(256), 280);
    assert_eq!(spec.wire_bytes(257), 257 + 48);
}

proptest! {
    #[test]
    fn bytes_never_overlap_and_the_wire_never_idles_with_work(requests in prop::collection::vec((0u64..2_000_000, 1u64..65536), 1..100)) {
        let mut link = Link::new(spec(0, 0));
        let mut at = Picos::ZERO;
        let mut last_done = Picos::ZERO;
        let mut bytes = 0;
        for (gap, length) in requests {
            at += Picos(gap);
            let transfer = link.transfer(at, Direction::ToGpu, length);
            prop_assert_eq!(transfer.start, last_done.max(at + Picos::from_nanos(500)));
            // 16 GB/s is 62.5 ps a byte, rounded up.
            prop_assert_eq!(transfer.done - transfer.start, Picos((length * 125).div_ceil(2)));
            last_done = transfer.done;
            bytes += length;
        }
        prop_assert_eq!(link.traffic(Direction::ToGpu).bytes, bytes);
        prop_assert_eq!(link.free_at(), last_done);
    }
}
