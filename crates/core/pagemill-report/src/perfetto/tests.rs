use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;

use super::schema::Trace;
use super::*;
use crate::timeline::{Instant, NameId, Sample};

fn decode(timeline: &Timeline) -> Trace {
    let mut bytes = Vec::new();
    write(timeline, &mut bytes).unwrap();
    Trace::decode(bytes.as_slice()).unwrap()
}

/// What a viewer would draw: (track name, span name, start, end), read back the way Perfetto does.
fn drawn(trace: &Trace) -> Vec<(String, String, u64, u64)> {
    let names: BTreeMap<u64, String> = trace.packet[0]
        .interned_data
        .iter()
        .flat_map(|data| &data.event_names)
        .map(|name| (name.iid(), name.name().to_owned()))
        .collect();
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut spans = Vec::new();
    let mut last_ns = 0;
    for packet in &trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id(), SEQUENCE_ID);
        if let Some(track) = &packet.track_descriptor {
            assert!(
                track
                    .parent_uuid
                    .is_none_or(|parent| tracks.contains_key(&parent))
            );
            let twice = tracks.insert(track.uuid(), track.name().to_owned());
            assert_eq!(twice, None);
        }
        let Some(event) = &packet.track_event else {
            continue;
        };
        assert!(packet.timestamp() >= last_ns, "events are in order of time");
        last_ns = packet.timestamp();
        let track = &tracks[&event.track_uuid()];
        match event.r#type() {
            EventType::SliceBegin => {
                let span = (names[&event.name_iid()].clone(), packet.timestamp());
                open.entry(event.track_uuid()).or_default().push(span);
            }
            EventType::SliceEnd => {
                let stack = open
                    .get_mut(&event.track_uuid())
                    .expect("an end has a begin");
                let (name, start) = stack.pop().expect("an end has a begin");
                spans.push((track.clone(), name, start, packet.timestamp()));
            }
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty), "every begin has an end");
    spans.sort();
    spans
}

fn two_tracks(kind: TrackKind) -> (Timeline, [TrackId; 2]) {
    let mut timeline = Timeline::new();
    let group = timeline.track(None, "gpu", TrackKind::Group);
    let a = timeline.track(Some(group), "a", kind);
    let b = timeline.track(Some(group), "b", kind);
    (timeline, [a, b])
}

proptest! {
    #[test]
    fn every_span_is_drawn_once_where_it_was(
        spans in proptest::collection::vec((0usize..2, 0u64..20_000, 0u64..9_000), 0..16),
        kind in prop_oneof![Just(TrackKind::Lanes), Just(TrackKind::Spans)],
    ) {
        let (mut timeline, tracks) = two_tracks(kind);
        let mut expected = Vec::new();
        for (index, (track, start_ps, length_ps)) in spans.into_iter().enumerate() {
            let name = timeline.name(format!("span {index}"));
            let end_ps = start_ps + length_ps;
            timeline.span(Span { track: tracks[track], name, start_ps, end_ps, bytes: 1, page: None, allocation: None });
            let track_name = ["a", "b"][track].to_owned();
            expected.push((track_name, format!("span {index}"), to_ns(start_ps), to_ns(end_ps)));
        }
        expected.sort();
        prop_assert_eq!(drawn(&decode(&timeline)), expected);
    }

    #[test]
    fn lanes_never_overlap_and_are_as_few_as_can_be(
        spans in proptest::collection::vec((0u64..50, 1u64..20), 1..40),
    ) {
        let at = |(start_ps, length): (u64, u64)| Span {
            track: TrackId(0), name: NameId(0), start_ps, end_ps: start_ps + length, bytes: 0, page: None, allocation: None,
        };
        let mut spans: Vec<Span> = spans.into_iter().map(at).collect();
        lanes::sort(&mut spans);
        let lanes = lanes::disjoint(&spans);
        let most_at_once = (0..80)
            .map(|t| spans.iter().filter(|s| s.start_ps <= t && t < s.end_ps).count())
            .max();
        let lane_count = lanes.iter().flatten().max().map(|lane| lane + 1);
        prop_assert_eq!(lane_count, most_at_once.map(|most| most.min(lanes::LANES_MAX)));
        prop_assert!(most_at_once > Some(lanes::LANES_MAX) || lanes.iter().all(Option::is_some));
        for (i, a) in spans.iter().enumerate() {
            for (j, b) in spans.iter().enumerate().skip(i + 1) {
                let apart = a.end_ps <= b.start_ps || b.end_ps <= a.start_ps;
                prop_assert!(lanes[i].is_none() || lanes[i] != lanes[j] || apart);
            }
        }
    }
}

#[test]
fn calls_that_nest_share_one_track() {
    let (mut timeline, [a, _]) = two_tracks(TrackKind::Spans);
    let name = timeline.name("call");
    for (start_ps, end_ps) in [(2_000, 3_000), (0, 9_000), (3_000, 3_000), (3_000, 8_000)] {
        timeline.span(Span {
            track: a,
            name,
            start_ps,
            end_ps,
            bytes: 0,
            page: None,
            allocation: None,
        });
    }
    let trace = decode(&timeline);
    let described = trace
        .packet
        .iter()
        .filter(|p| p.track_descriptor.is_some())
        .count();
    assert_eq!(described, 3, "no extra lanes");
    assert_eq!(drawn(&trace).len(), 4);
}

#[test]
fn counters_and_instants_come_back() {
    let mut timeline = Timeline::new();
    let moved = timeline.track(None, "bytes moved", TrackKind::Counter(CounterUnit::Bytes));
    let link = timeline.track(None, "link", TrackKind::Spans);
    let fault = timeline.name("fault");
    timeline.sample(Sample {
        track: moved,
        at_ps: 2_000,
        value: -7,
    });
    timeline.sample(Sample {
        track: moved,
        at_ps: 1_000,
        value: 4096,
    });
    timeline.instant(Instant {
        track: link,
        at_ps: 1_499,
        name: fault,
    });
    let trace = decode(&timeline);
    let counter = trace.packet[1]
        .track_descriptor
        .as_ref()
        .unwrap()
        .counter
        .as_ref()
        .unwrap();
    assert_eq!(counter.unit(), UNIT_SIZE_BYTES);
    let events: Vec<_> = trace
        .packet
        .iter()
        .filter_map(|p| {
            p.track_event
                .as_ref()
                .map(|e| (p.timestamp(), e.r#type(), e.counter_value))
        })
        .collect();
    let expected = [
        (1, EventType::Instant, None),
        (1, EventType::Counter, Some(4096)),
        (2, EventType::Counter, Some(-7)),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_thousand_spans_at_a_time_share_sixteen_lanes() {
    let (mut timeline, [a, _]) = two_tracks(TrackKind::Lanes);
    let (name, allocation) = (timeline.name("migration"), timeline.name("table"));
    for index in 0..1000 {
        timeline.span(Span {
            track: a,
            name,
            start_ps: index * 1000,
            end_ps: 10_000_000,
            bytes: 4096,
            page: Some(index),
            allocation: Some(allocation),
        });
    }
    let trace = decode(&timeline);
    let tracks = trace
        .packet
        .iter()
        .filter_map(|p| p.track_descriptor.as_ref());
    let names: Vec<&str> = tracks.map(|track| track.name()).collect();
    assert_eq!(names.len(), 3 + 15);
    assert_eq!(names[1], "a (without 984 of 1000)");
    let begins = trace.packet.iter().filter_map(|p| p.track_event.as_ref());
    let first = begins.clone().next().unwrap();
    let arguments: Vec<_> = first
        .debug_annotations
        .iter()
        .map(|argument| (argument.uint_value, argument.string_value.as_deref()))
        .collect();
    assert_eq!(
        arguments,
        [(Some(4096), None), (Some(0), None), (None, Some("table"))]
    );
}

#[test]
fn an_empty_timeline_is_a_valid_trace() {
    assert_eq!(decode(&Timeline::new()).packet.len(), 1);
}

/// The wire format, byte by byte: field numbers and types cannot change unnoticed.
#[test]
fn bytes_of_one_span() {
    let mut timeline = Timeline::new();
    let track = timeline.track(None, "t", TrackKind::Spans);
    let name = timeline.name("n");
    timeline.span(Span {
        track,
        name,
        start_ps: 5_000,
        end_ps: 7_000,
        bytes: 3,
        page: None,
        allocation: None,
    });
    let mut bytes = Vec::new();
    write(&timeline, &mut bytes).unwrap();
    // names: sequence 1, interned data { event name 1 "n", annotation name 1 "bytes" }, flags 1
    #[rustfmt::skip]
    let names: &[u8] = &[
        0x0a, 50, 0x50, 1, 0x62, 44,
            0x12, 5, 0x08, 1, 0x12, 1, b'n',
            0x1a, 9, 0x08, 1, 0x12, 5, b'b', b'y', b't', b'e', b's',
            0x1a, 8, 0x08, 2, 0x12, 4, b'p', b'a', b'g', b'e',
            0x1a, 14, 0x08, 3, 0x12, 10, b'a', b'l', b'l', b'o', b'c', b'a', b't', b'i', b'o', b'n',
        0x68, 1,
    ];
    assert!(bytes.starts_with(names), "{bytes:x?}");
    // begin: time 5, sequence 1, event { annotation { name 1, 3 }, begin, name 1, track 1 }, flags 2
    #[rustfmt::skip]
    let begin: &[u8] = &[
        0x0a, 20, 0x40, 5, 0x50, 1, 0x5a, 12,
            0x22, 4, 0x08, 1, 0x18, 3, 0x48, 1, 0x50, 1, 0x58, 1,
        0x68, 2,
    ];
    let end: &[u8] = &[
        0x0a, 12, 0x40, 7, 0x50, 1, 0x5a, 4, 0x48, 2, 0x58, 1, 0x68, 2,
    ];
    assert!(bytes.ends_with(&[begin, end].concat()), "{bytes:x?}");
}
