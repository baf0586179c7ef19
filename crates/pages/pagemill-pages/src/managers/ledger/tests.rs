use super::*;
use proptest::prelude::*;

#[test]
fn launches_and_batches_count_once() {
    let mut ledger = Ledger::default();
    ledger.open(100..200);
    ledger.served(100, 1, 0);
    for (launch, batch) in [(2, 1), (2, 1), (2, 2), (5, 3)] {
        ledger.set_launch(Some(launch));
        ledger.served(150, 3, batch);
    }
    let [report] = ledger.reports()[..] else {
        panic!("one allocation");
    };
    let traffic = report.traffic;
    assert_eq!(
        (traffic.faults, traffic.services, traffic.batches),
        (13, 5, 4)
    );
    assert_eq!((traffic.first_launch, traffic.launches), (Some(2), 2));
}

proptest! {
    #[test]
    fn every_byte_is_booked_to_the_allocation_that_holds_it(
        sizes in prop::collection::vec((1u64..50, 0u64..20), 1..12),
        addresses in prop::collection::vec(0u64..600, 0..80),
    ) {
        let mut ledger = Ledger::default();
        let mut ranges = Vec::new();
        let mut next = 7;
        for (bytes, gap) in sizes {
            ledger.open(next..next + bytes);
            ranges.push(next..next + bytes);
            next += bytes + gap;
        }
        let mut expected = vec![0; ranges.len()];
        for address in addresses {
            // The rest of an allocation's last page is its own.
            if let Some(place) = ranges.iter().rposition(|range| range.start <= address) {
                expected[place] += 3;
            }
            ledger.remote(address, 3);
        }
        let booked: Vec<u64> = ledger.reports().iter().map(|report| report.traffic.remote_bytes).collect();
        prop_assert_eq!(booked, expected);
    }
}
