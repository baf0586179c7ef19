//! `timeline.pftrace`: timelines for <https://ui.perfetto.dev>.

mod lanes;
mod schema;

use std::io::{self, Write};

use schema::{
    CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName, MERGE_BY_NAME,
    NEEDS_STATE, ORDER_EXPLICIT, STATE_CLEARED, TRACE_PACKET_FIELD, TracePacket, TrackDescriptor,
    TrackEvent, UNIT_COUNT, UNIT_SIZE_BYTES,
};

use crate::timeline::{CounterUnit, Span, Timeline, Track, TrackId, TrackKind};

/// All packets come from one writer.
const SEQUENCE_ID: u32 = 1;
/// The arguments of a span.
const BYTES_IID: u64 = 1;
const PAGE_IID: u64 = 2;
const ALLOCATION_IID: u64 = 3;

/// Writes `timeline` in the format of Perfetto, packet by packet.
///
/// Perfetto counts nanoseconds, so times are rounded to the nearest one; order and nesting stay.
/// Spans of a [`TrackKind::Lanes`] track get as many lanes as overlap, up to sixteen; the track's name says how many found none.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(timeline: &Timeline, out: impl Write) -> io::Result<()> {
    let mut packets = PacketWriter {
        out,
        buffer: Vec::new(),
    };
    packets.write(&names(timeline))?;
    let mut events = Vec::new();
    let mut next_uuid = timeline.tracks.len() as u64 + 1;
    let by_track = spans_by_track(timeline);
    for ((index, track), mut spans) in timeline.tracks.iter().enumerate().zip(by_track) {
        let rank = index as i32;
        if matches!(track.kind, TrackKind::Group | TrackKind::Counter(_)) {
            packets.write(&descriptor(track, uuid_of(index), rank))?;
            continue;
        }
        lanes::sort(&mut spans);
        let lanes = match track.kind {
            TrackKind::Lanes => lanes::disjoint(&spans),
            _ => lanes::nested(&spans),
        };
        let track = &with_left_out(track, &lanes);
        packets.write(&descriptor(track, uuid_of(index), rank))?;
        for (lane, spans) in by_lane(&spans, &lanes).iter().enumerate() {
            let mut uuid = uuid_of(index);
            if lane > 0 {
                uuid = next_uuid;
                next_uuid += 1;
                packets.write(&descriptor(track, uuid, rank))?;
            }
            push_span_events(&mut events, uuid, spans);
        }
    }
    push_point_events(&mut events, timeline);
    events.sort_by_key(|event| event.at_ns);
    for event in &events {
        packets.write(&event.packet(&timeline.names))?;
    }
    packets.out.flush()
}

struct PacketWriter<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> PacketWriter<W> {
    fn write(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.buffer.clear();
        prost::encoding::message::encode(TRACE_PACKET_FIELD, packet, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }
}

/// One event of the trace; events of one track are made in drawing order, and sorting by time
/// keeps that order among equals.
#[derive(Clone, Copy)]
struct Event {
    at_ns: u64,
    track_uuid: u64,
    kind: EventKind,
}

#[derive(Clone, Copy)]
enum EventKind {
    Begin {
        name: u32,
        bytes: u64,
        page: Option<u64>,
        allocation: Option<u32>,
    },
    End,
    Instant {
        name: u32,
    },
    Counter(i64),
}

impl Event {
    fn packet(&self, names: &[String]) -> TracePacket {
        let mut event = TrackEvent {
            track_uuid: Some(self.track_uuid),
            ..TrackEvent::default()
        };
        let event_type = match self.kind {
            EventKind::Begin {
                name,
                bytes,
                page,
                allocation,
            } => {
                event.name_iid = Some(name_iid(name));
                let bytes = (bytes > 0).then_some(bytes);
                for (iid, number) in [(BYTES_IID, bytes), (PAGE_IID, page)] {
                    event
                        .debug_annotations
                        .extend(number.map(|number| DebugAnnotation {
                            name_iid: Some(iid),
                            uint_value: Some(number),
                            string_value: None,
                        }));
                }
                event
                    .debug_annotations
                    .extend(allocation.map(|name| DebugAnnotation {
                        name_iid: Some(ALLOCATION_IID),
                        uint_value: None,
                        string_value: names.get(name as usize).cloned(),
                    }));
                EventType::SliceBegin
            }
            EventKind::End => EventType::SliceEnd,
            EventKind::Instant { name } => {
                event.name_iid = Some(name_iid(name));
                EventType::Instant
            }
            EventKind::Counter(value) => {
                event.counter_value = Some(value);
                EventType::Counter
            }
        };
        event.set_type(event_type);
        TracePacket {
            timestamp: Some(self.at_ns),
            track_event: Some(event),
            sequence_flags: Some(NEEDS_STATE),
            ..packet()
        }
    }
}

fn packet() -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE_ID),
        ..TracePacket::default()
    }
}

/// The first packet: every name once.
fn names(timeline: &Timeline) -> TracePacket {
    let interned = |iid, name: &str| InternedName {
        iid: Some(iid),
        name: Some(name.to_owned()),
    };
    let event_names = (0..)
        .zip(&timeline.names)
        .map(|(i, name)| interned(name_iid(i), name));
    TracePacket {
        sequence_flags: Some(STATE_CLEARED),
        interned_data: Some(InternedData {
            event_names: event_names.collect(),
            debug_annotation_names: vec![
                interned(BYTES_IID, "bytes"),
                interned(PAGE_IID, "page"),
                interned(ALLOCATION_IID, "allocation"),
            ],
        }),
        ..packet()
    }
}

fn descriptor(track: &Track, uuid: u64, rank: i32) -> TracePacket {
    let counter = match track.kind {
        TrackKind::Counter(unit) => Some(CounterDescriptor {
            unit: match unit {
                CounterUnit::Count => Some(UNIT_COUNT),
                CounterUnit::Bytes => Some(UNIT_SIZE_BYTES),
                CounterUnit::Percent => None,
            },
            unit_name: (unit == CounterUnit::Percent).then(|| "%".to_owned()),
        }),
        _ => None,
    };
    TracePacket {
        track_descriptor: Some(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(track.name.clone()),
            parent_uuid: track.parent.map(|parent| uuid_of(parent.0 as usize)),
            counter,
            child_ordering: (track.kind == TrackKind::Group).then_some(ORDER_EXPLICIT),
            sibling_order_rank: Some(rank),
            sibling_merge_behavior: (track.kind == TrackKind::Lanes).then_some(MERGE_BY_NAME),
        }),
        ..packet()
    }
}

/// 0 is taken by the trace itself.
fn uuid_of(track_index: usize) -> u64 {
    track_index as u64 + 1
}

/// 0 means no name.
fn name_iid(name: u32) -> u64 {
    u64::from(name) + 1
}

fn to_ns(ps: u64) -> u64 {
    ps / 1000 + u64::from(ps % 1000 >= 500)
}

fn spans_by_track(timeline: &Timeline) -> Vec<Vec<Span>> {
    let mut by_track = vec![Vec::new(); timeline.tracks.len()];
    for span in &timeline.spans {
        by_track[span.track.0 as usize].push(*span);
    }
    by_track
}

fn by_lane(spans: &[Span], lanes: &[Option<usize>]) -> Vec<Vec<Span>> {
    let lane_count = lanes.iter().flatten().max().map_or(0, |lane| lane + 1);
    let mut by_lane = vec![Vec::new(); lane_count];
    for (span, lane) in spans.iter().zip(lanes) {
        if let Some(lane) = lane {
            by_lane[*lane].push(*span);
        }
    }
    by_lane
}

/// The track, whose name says how many spans found no lane.
fn with_left_out(track: &Track, lanes: &[Option<usize>]) -> Track {
    let left_out = lanes.iter().filter(|lane| lane.is_none()).count();
    let mut track = track.clone();
    if left_out > 0 {
        track.name = format!("{} (without {left_out} of {})", track.name, lanes.len());
    }
    track
}

/// Begins and ends in drawing order: a span ends before the next one that it does not hold begins.
fn push_span_events(events: &mut Vec<Event>, track_uuid: u64, spans: &[Span]) {
    let end_at = |at_ps| Event {
        at_ns: to_ns(at_ps),
        track_uuid,
        kind: EventKind::End,
    };
    let mut open: Vec<u64> = Vec::new();
    for span in spans {
        while let Some(end_ps) = open.pop_if(|end_ps| *end_ps <= span.start_ps) {
            events.push(end_at(end_ps));
        }
        let kind = EventKind::Begin {
            name: span.name.0,
            bytes: span.bytes,
            page: span.page,
            allocation: span.allocation.map(|name| name.0),
        };
        events.push(Event {
            at_ns: to_ns(span.start_ps),
            track_uuid,
            kind,
        });
        open.push(span.end_ps);
    }
    events.extend(open.into_iter().rev().map(end_at));
}

/// Instants and counter values, each track in order of time. Those on a track of another kind
/// have no place to be drawn and are left out.
fn push_point_events(events: &mut Vec<Event>, timeline: &Timeline) {
    let is_counter = |track: TrackId| {
        matches!(
            timeline.tracks[track.0 as usize].kind,
            TrackKind::Counter(_)
        )
    };
    let uuid = |track: TrackId| uuid_of(track.0 as usize);
    let mut instants: Vec<_> = timeline
        .instants
        .iter()
        .filter(|i| !is_counter(i.track))
        .collect();
    instants.sort_by_key(|instant| instant.at_ps);
    events.extend(instants.into_iter().map(|instant| Event {
        at_ns: to_ns(instant.at_ps),
        track_uuid: uuid(instant.track),
        kind: EventKind::Instant {
            name: instant.name.0,
        },
    }));
    let mut samples: Vec<_> = timeline
        .samples
        .iter()
        .filter(|s| is_counter(s.track))
        .collect();
    samples.sort_by_key(|sample| sample.at_ps);
    events.extend(samples.into_iter().map(|sample| Event {
        at_ns: to_ns(sample.at_ps),
        track_uuid: uuid(sample.track),
        kind: EventKind::Counter(sample.value),
    }));
}

#[cfg(test)]
mod tests;
