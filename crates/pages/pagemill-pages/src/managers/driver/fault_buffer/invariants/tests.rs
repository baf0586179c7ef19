use super::super::access::Access;
use super::super::{FaultOrder, FaultSpec};
use super::*;
use pagemill_types::Picos;

/// Six pages of three blocks wait, after one was served.
fn buffer() -> FaultBuffer<Access> {
    let spec = FaultSpec {
        utlb_outstanding: 4,
        batch_entries: 8,
        interrupt_latency: Picos::ZERO,
        order: FaultOrder::Arrival,
    };
    let mut buffer = FaultBuffer::new(2, &spec);
    buffer.grow(3);
    for page in [0, 1, 2, 513, 514, 1024, 1027] {
        buffer.fault(Access(page));
    }
    buffer.replay(&[0], |page, _| page == 1, &mut Vec::new());
    buffer
}

#[test]
fn a_broken_state_says_what_is_wrong() {
    let broken = |change: fn(&mut FaultBuffer<Access>), what: &str| {
        let mut buffer = buffer();
        change(&mut buffer);
        let wrong = buffer.broken_invariant().expect("it is broken");
        assert!(wrong.contains(what), "{wrong}");
    };
    assert_eq!(buffer().broken_invariant(), None);
    broken(|buffer| buffer.limit = 3, "room");
    broken(|buffer| buffer.tables[0].pages.swap(0, 1), "table");
    broken(|buffer| buffer.order.swap(0, 2), "order");
    broken(|buffer| buffer.first_number += 1, "order");
    broken(|buffer| buffer.free.clear(), "free");
    broken(|buffer| buffer.of_block[1] = NONE, "lists");
    broken(|buffer| buffer.of_block.swap(0, 1), "lists");
}
