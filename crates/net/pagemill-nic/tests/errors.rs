//! Bad input gets the completion that an interface gives, is counted, and does not affect other ranks.

use pagemill_nic::{
    Arrived, Flight, Key, Lane, MemoryKey, Nic, NicMachine, Operation, Place, PortId, Post, Posted,
    Rank, Receive, Rma, Send, Status, Step,
};
use pagemill_types::Picos;

const MEMORY: u64 = 1 << 30;
const BYTES: u64 = 1 << 16;

/// A near and a far interface with two ports each, of process 10 and 20, and memory registered for each.
struct Pair {
    near: Nic,
    far: Nic,
    ports: [PortId; 2],
    near_keys: [Key; 2],
    far_keys: [Key; 2],
}

fn pair() -> Pair {
    let machine = NicMachine::pni();
    let (mut near, mut far) = (Nic::new(&machine).unwrap(), Nic::new(&machine).unwrap());
    let ports = [10, 20].map(|process| near.open_port(process).unwrap());
    let far_ports = [10, 20].map(|process| far.open_port(process).unwrap());
    assert_eq!(ports, far_ports);
    let near_keys = ports.map(|port| near.register(port, MEMORY, BYTES));
    let far_keys = ports.map(|port| far.register(port, MEMORY, BYTES));
    Pair {
        near,
        far,
        ports,
        near_keys,
        far_keys,
    }
}

fn place(address: u64, key: Key) -> Place {
    Place {
        address,
        key: MemoryKey::Registered(key),
    }
}

fn write(pair: &Pair, who: usize, local: Place, remote: Place, bytes: u64) -> Post {
    Post {
        port: pair.ports[who],
        process: [10, 20][who],
        target_port: pair.ports[who],
        operation: Operation::Write {
            local,
            remote,
            bytes,
            lane: Lane::Bulk,
        },
    }
}

fn sent(posted: Posted) -> Flight {
    match posted {
        Posted::Sent { flight, .. } => flight,
        Posted::Refused { status, .. } => panic!("it was refused: {status:?}"),
    }
}

fn good(pair: &mut Pair, who: usize, at: Picos) -> Arrived {
    let post = write(
        pair,
        who,
        place(MEMORY, pair.near_keys[who]),
        place(MEMORY, pair.far_keys[who]),
        100,
    );
    let flight = sent(pair.near.post(at, &post));
    pair.far.arrive(&flight)
}

#[test]
fn a_bad_descriptor_is_refused_at_home() {
    let mut pair = pair();
    let (near, far) = (pair.near_keys, pair.far_keys);
    let remote = place(MEMORY, far[0]);
    let cases = [
        (
            write(&pair, 0, place(MEMORY, Key(99)), remote, 8),
            Status::Unregistered,
        ),
        (
            write(&pair, 0, place(MEMORY + 1, near[0]), remote, BYTES),
            Status::OutOfBounds,
        ),
        (
            write(&pair, 0, place(MEMORY - 1, near[0]), remote, 1),
            Status::OutOfBounds,
        ),
        (
            write(&pair, 0, place(u64::MAX, near[0]), remote, u64::MAX),
            Status::OutOfBounds,
        ),
        (
            write(&pair, 0, place(MEMORY, near[1]), remote, 8),
            Status::ForeignPort,
        ),
        (
            Post {
                process: 20,
                ..write(&pair, 0, place(MEMORY, near[0]), remote, 8)
            },
            Status::ForeignPort,
        ),
        (
            Post {
                port: PortId(7),
                ..write(&pair, 0, place(MEMORY, near[0]), remote, 8)
            },
            Status::ForeignPort,
        ),
    ];
    for (post, expected) in cases {
        match pair.near.post(Picos(1000), &post) {
            Posted::Refused { at, status } => {
                assert_eq!(status, expected, "{post:?}");
                assert!(at > Picos(1000), "the completion entry takes time");
            }
            Posted::Sent { .. } => panic!("{post:?} was sent"),
        }
    }
    let refused = pair.near.counts().refused;
    assert_eq!(
        (
            refused.unregistered,
            refused.out_of_bounds,
            refused.foreign_port,
            refused.wrong_key
        ),
        (1, 3, 3, 0)
    );
    assert_eq!(pair.near.counts().sent, 0);
}

#[test]
fn a_bad_target_is_rejected_there() {
    let mut pair = pair();
    let local = place(MEMORY, pair.near_keys[0]);
    let taken_back = pair.far.register(pair.ports[0], MEMORY, BYTES);
    assert!(pair.far.deregister(taken_back) && !pair.far.deregister(taken_back));
    let unregistered = write(&pair, 0, local, place(MEMORY, taken_back), 8);
    let past_the_end = write(
        &pair,
        0,
        local,
        place(MEMORY + BYTES - 4, pair.far_keys[0]),
        8,
    );
    let of_another = write(&pair, 0, local, place(MEMORY, pair.far_keys[1]), 8);
    let to_closed_port = Post {
        target_port: PortId(9),
        ..write(&pair, 0, local, place(MEMORY, pair.far_keys[0]), 8)
    };
    let cases = [
        (unregistered, Status::Unregistered),
        (past_the_end, Status::OutOfBounds),
        (of_another, Status::ForeignPort),
        (to_closed_port, Status::ForeignPort),
    ];
    for (post, expected) in cases {
        let flight = sent(pair.near.post(Picos(1000), &post));
        assert_eq!(pair.far.arrive(&flight).status, expected);
    }
    let again = pair.far.register(pair.ports[0], MEMORY, BYTES);
    assert_ne!(again, taken_back);
    let flight = sent(pair.near.post(
        Picos(1000),
        &write(&pair, 0, local, place(MEMORY, taken_back), 8),
    ));
    assert_eq!(
        pair.far.arrive(&flight).status,
        Status::WrongKey,
        "its place is another registration's now"
    );
    let rejected = pair.far.counts().rejected;
    assert_eq!(rejected.total(), 5);
    assert_eq!(
        (
            rejected.unregistered,
            rejected.out_of_bounds,
            rejected.foreign_port,
            rejected.wrong_key
        ),
        (1, 1, 2, 1)
    );
    assert_eq!(pair.far.counts().received, 0);
}

#[test]
fn errors_of_one_port_leave_the_other_alone() {
    let late = Picos::from_nanos(100_000);
    let undisturbed = good(&mut pair(), 1, late);
    assert_eq!(undisturbed.status, Status::Success);
    let mut pair = pair();
    for number in 0..50 {
        let bad_remote = write(
            &pair,
            0,
            place(MEMORY, pair.near_keys[0]),
            place(MEMORY, Key(500 + number)),
            4096,
        );
        let flight = sent(pair.near.post(Picos(number), &bad_remote));
        assert!(!pair.far.arrive(&flight).status.is_success());
        let bad_local = write(
            &pair,
            0,
            place(0, Key(500)),
            place(MEMORY, pair.far_keys[0]),
            4096,
        );
        assert!(matches!(
            pair.near.post(Picos(number), &bad_local),
            Posted::Refused { .. }
        ));
    }
    // The sources of the bad writes were translated, so its own look-up is all that differs from a fresh interface.
    let disturbed = good(&mut pair, 1, late);
    assert_eq!(disturbed, undisturbed);
}

#[test]
fn deregistration_forgets_cached_entries() {
    let mut pair = pair();
    good(&mut pair, 0, Picos(0));
    assert_eq!(pair.far.counts().translation.misses, 1);
    good(&mut pair, 0, Picos::from_nanos(10_000));
    assert_eq!(
        pair.far.counts().translation.misses,
        1,
        "the entry is cached"
    );
    pair.far.deregister(pair.far_keys[0]);
    assert_eq!(pair.far.counts().translation.invalidated, 1);
    pair.far_keys[0] = pair.far.register(pair.ports[0], MEMORY, BYTES);
    good(&mut pair, 0, Picos::from_nanos(20_000));
    assert_eq!(pair.far.counts().translation.misses, 2, "it is read again");
}

/// Carries every packet between two ranks, and returns all completions.
fn deliver_all(ranks: &mut [Rank; 2], steps: &mut Vec<Step>) -> Vec<Status> {
    let mut ends = Vec::new();
    while !steps.is_empty() {
        let mut next = Vec::new();
        for step in steps.drain(..) {
            match step {
                Step::Transmit(packet) => ranks[packet.dest as usize].arrive(&packet, &mut next),
                Step::Complete { completion, .. } => ends.push(completion.status),
                _ => {}
            }
        }
        *steps = next;
    }
    ends
}

#[test]
fn rma_tells_its_initiator_how_it_ended() {
    let machine = NicMachine::pni();
    let mut ranks = [
        Rank::new(&machine, 0).unwrap(),
        Rank::new(&machine, 1).unwrap(),
    ];
    let key = ranks[1].register(MEMORY, BYTES);
    let rma = |remote_address, key, bytes| Rma {
        dest: 1,
        remote_address,
        key,
        bytes,
        address: MEMORY,
    };
    let cases = [
        (rma(MEMORY, key, BYTES), Status::Success),
        (rma(MEMORY, key, 0), Status::Success),
        (rma(MEMORY + 1, key, BYTES), Status::OutOfBounds),
        (rma(MEMORY, Key(1 << 40), 8), Status::WrongKey),
        (rma(MEMORY, Key(12), 8), Status::Unregistered),
    ];
    let mut steps = Vec::new();
    for (number, (rma, expected)) in cases.iter().enumerate() {
        let at = Picos::from_nanos(100_000 * (number as u64 + 1));
        ranks[0].write(at, rma, &mut steps);
        assert_eq!(
            deliver_all(&mut ranks, &mut steps),
            [*expected],
            "write {rma:?}"
        );
        ranks[0].read(at + Picos::from_nanos(50_000), rma, &mut steps);
        assert_eq!(
            deliver_all(&mut ranks, &mut steps),
            [*expected],
            "read {rma:?}"
        );
    }
    assert_eq!(ranks[1].counts().rejected.total(), 6);
    assert_eq!(ranks[0].waiting(), (0, 0, 0));
}

#[test]
fn a_message_that_is_too_long_is_cut_and_says_so() {
    let machine = NicMachine::pni();
    for bytes in [100, 5000, 50_000] {
        let mut ranks = [
            Rank::new(&machine, 0).unwrap(),
            Rank::new(&machine, 1).unwrap(),
        ];
        let mut steps = Vec::new();
        ranks[1].receive(
            Picos(0),
            &Receive {
                source: None,
                tag: 3,
                ignore: 0,
                bytes: 60,
                address: 0,
            },
            &mut steps,
        );
        ranks[0].send(
            Picos(0),
            &Send {
                dest: 1,
                tag: 3,
                bytes,
                address: 0,
            },
            &mut steps,
        );
        let ends = deliver_all(&mut ranks, &mut steps);
        assert_eq!(ends.len(), 2, "{bytes}");
        assert!(
            ends.contains(&Status::Success) && ends.contains(&Status::Truncated),
            "{bytes}: {ends:?}"
        );
    }
}

#[test]
fn a_receive_can_be_taken_back_once() {
    let machine = NicMachine::pni();
    let mut rank = Rank::new(&machine, 0).unwrap();
    let mut steps = Vec::new();
    let request = rank.receive(
        Picos(0),
        &Receive {
            source: Some(1),
            tag: 0,
            ignore: 0,
            bytes: 8,
            address: 0,
        },
        &mut steps,
    );
    assert!(rank.cancel(Picos(5), request, &mut steps));
    assert!(!rank.cancel(Picos(6), request, &mut steps));
    assert!(
        matches!(steps[..], [Step::Complete { completion, .. }] if completion.status == Status::Canceled)
    );
}

#[test]
fn impossible_machines_are_refused_with_the_key() {
    let refused = |change: fn(&mut NicMachine)| {
        let mut machine = NicMachine::pni();
        change(&mut machine);
        Nic::new(&machine).unwrap_err().key
    };
    assert_eq!(
        refused(|machine| machine.wire.payload_bytes = 0),
        "wire.payload_bytes"
    );
    assert_eq!(
        refused(|machine| machine.host.read_request_bytes = 0),
        "host.read_request_bytes"
    );
    assert_eq!(
        refused(|machine| machine.att.cache_bytes = 0),
        "att.cache_bytes"
    );
    assert_eq!(
        refused(|machine| machine.messages.eager_bytes = 1),
        "messages.eager_bytes"
    );
    assert_eq!(
        refused(|machine| machine.wire.hop_latency = Picos(u64::MAX)),
        "wire.hop_latency"
    );
    assert_eq!(
        refused(|machine| (machine.wire.latency, machine.wire.hops) = (Picos::ZERO, 0)),
        "wire.latency"
    );
}
