use pagemill_nic::Cause;
use proptest::prelude::*;

use super::*;

fn places() -> impl Strategy<Value = Place> {
    let keys = prop_oneof![
        any::<u64>().prop_map(|key| MemoryKey::Registered(Key(key))),
        Just(MemoryKey::Trusted),
        Just(MemoryKey::Physical),
    ];
    (any::<u64>(), keys).prop_map(|(address, key)| Place { address, key })
}

fn bodies() -> impl Strategy<Value = Body> {
    let word = any::<u64>;
    prop_oneof![
        word().prop_map(|tag| Body::Eager { tag }),
        (word(), word(), word()).prop_map(|(tag, bytes, send)| Body::Announce {
            tag,
            bytes,
            send: Request(send)
        }),
        (word(), word(), word(), word()).prop_map(|(send, receive, address, bytes)| {
            Body::Clear {
                send: Request(send),
                receive: Request(receive),
                address,
                bytes,
            }
        }),
        (word(), word(), word()).prop_map(|(send, receive, bytes)| Body::Data {
            send: Request(send),
            receive: Request(receive),
            bytes,
        }),
        (word(), word()).prop_map(|(send, receive)| Body::Window {
            send: Request(send),
            receive: Request(receive),
        }),
        word().prop_map(|operation| Body::Write {
            operation: Request(operation)
        }),
        word().prop_map(|operation| Body::Read {
            operation: Request(operation)
        }),
        word().prop_map(|operation| Body::ReadData {
            operation: Request(operation)
        }),
        (word(), 0..STATUSES.len()).prop_map(|(operation, status)| Body::Acknowledge {
            operation: Request(operation),
            status: STATUSES[status]
        }),
        (
            0..CALLS.len(),
            any::<u32>(),
            0..STATUSES.len(),
            word(),
            word()
        )
            .prop_map(|(kind, port, status, asked, at)| Body::Call {
                kind: CALLS[kind],
                port: PortId(port),
                status: STATUSES[status],
                asked: Picos(asked),
                at: Picos(at),
            }),
    ]
}

prop_compose! {
    fn packets()(source: u32, dest: u32, sequence: u64, kind in 0_u8..4, is_bulk: bool, port: u32, bytes: u64,
                 from in places(), to in places(), first: u64, last: u64, body in bodies()) -> Packet {
        let flight = Flight {
            kind: flight_kind(kind).expect("in range"),
            lane: if is_bulk { Lane::Bulk } else { Lane::Message },
            port: PortId(port),
            bytes,
            from,
            to,
            departure: Departure { first: Picos(first), last: Picos(last) },
        };
        Packet { source, dest, sequence, flight, body }
    }
}

prop_compose! {
    fn trails(end_ps: u64)(parts in proptest::collection::vec((0..Cause::ALL.len(), 1_u64..1 << 40), 0..40)) -> Trail {
        let mut trail = Trail::new(0);
        for (cause, span_ps) in parts {
            trail.go_on(trail.end_ps() + span_ps, Cause::ALL[cause]);
        }
        Trail::of_words(end_ps, &trail.words()).expect("sound")
    }
}

proptest! {
    #[test]
    fn every_packet_survives_the_ring((packet, trail) in packets().prop_flat_map(|packet| {
        (Just(packet), trails(packet.flight.departure.last.0))
    }), data: Option<u64>) {
        let frame = Frame { packet, data, payload: Vec::new(), trail };
        prop_assert_eq!(Frame::from_head(&frame.head()), Some((frame, 0)));
    }

    #[test]
    fn no_head_panics(head: [u64; HEAD_WORDS]) {
        let _ = Frame::from_head(&head);
    }
}
