use super::*;
use pagemill_policy::residency::{Action, Side};

fn call(bytes: Range<u64>, action: Action) -> Call {
    Call { bytes, action }
}

#[test]
fn every_byte_of_an_allocation_gets_the_calls_that_it_had() {
    let actions = [Action::ReadMostly, Action::Prefetch(Side::Cpu)];
    let sizes = [(4, 3), (2, 2), (8, 5), (2, 1)];
    for (from, middle) in (0..16).flat_map(|from| (from..=16).map(move |to| (from, to))) {
        let calls = [
            call(from..middle, actions[0]),
            call(middle..16, actions[1]),
            call(0..from, actions[0]),
        ];
        let divided = divide(&calls, &sizes);
        let mut start = 0;
        for (number, (footprint, bytes)) in sizes.into_iter().enumerate() {
            for byte in 0..bytes {
                let whole: Vec<Action> = calls
                    .iter()
                    .filter(|call| call.bytes.contains(&(start + byte)))
                    .map(|call| call.action)
                    .collect();
                let own: Vec<Action> = divided
                    .iter()
                    .filter(|(of, call)| *of == number && call.bytes.contains(&byte))
                    .map(|(_, call)| call.action)
                    .collect();
                assert_eq!(own, whole, "byte {byte} of {number}, {from} and {middle}");
            }
            start += footprint;
        }
        for (number, call) in divided {
            assert!(!call.bytes.is_empty() && call.bytes.end <= sizes[number].1);
        }
    }
}

#[test]
fn allocations_get_their_calls_one_after_the_other() {
    let calls = [
        call(0..4, Action::AccessedByGpu),
        call(0..4, Action::Prefetch(Side::Gpu)),
    ];
    let numbers: Vec<usize> = divide(&calls, &[(2, 2), (2, 1)])
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, [0, 0, 1, 1]);
}
