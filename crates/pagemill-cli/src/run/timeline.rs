//! The events of all points as one timeline, a group of tracks for each point.

use pagemill_report::Timeline;
use pagemill_report::timeline::{Span, TrackId, TrackKind};
use pagemill_scenario::Point;
use pagemill_sim::{Timeline as GpuTimeline, TimelineKind};

/// What happened at one point.
pub struct PointEvents {
    gpu: GpuTimeline,
}

impl PointEvents {
    /// The events of a GPU.
    pub fn new(gpu: GpuTimeline) -> Self {
        Self { gpu }
    }
}

/// All events.
pub fn build<'a>(points: &[Point], events: impl Iterator<Item = &'a PointEvents>) -> Timeline {
    let mut timeline = Timeline::new();
    for (point, events) in points.iter().zip(events) {
        let dropped = match events.gpu.dropped() {
            0 => String::new(),
            dropped => format!(", without the last {dropped} events"),
        };
        let group = timeline.track(None, format!("{point}{dropped}"), TrackKind::Group);
        add_gpu(&mut timeline, group, &events.gpu);
    }
    timeline
}

fn add_gpu(timeline: &mut Timeline, group: TrackId, events: &GpuTimeline) {
    let kernels = timeline.track(Some(group), "kernels", TrackKind::Spans);
    let host = timeline.track(Some(group), "host copies", TrackKind::Lanes);
    let migrations = timeline.track(Some(group), "migrations", TrackKind::Lanes);
    let waits = timeline.track(Some(group), "migration buffer full", TrackKind::Lanes);
    let [to_gpu, to_cpu, migration, eviction, full] = [
        "copy to GPU",
        "copy from GPU",
        "migration",
        "eviction",
        "wait for an entry",
    ]
    .map(|name| timeline.name(name));
    let mut kernel_names = Vec::new();
    for event in events.events() {
        let (track, name) = match &event.kind {
            TimelineKind::Kernel { name } => {
                let known = kernel_names
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, id)| *id);
                let id = known.unwrap_or_else(|| {
                    let id = timeline.name(name.as_str());
                    kernel_names.push((name, id));
                    id
                });
                (kernels, id)
            }
            TimelineKind::CopyToGpu => (host, to_gpu),
            TimelineKind::CopyFromGpu => (host, to_cpu),
            TimelineKind::Migration { .. } => (migrations, migration),
            TimelineKind::Eviction { .. } => (migrations, eviction),
            TimelineKind::BufferFull { .. } => (waits, full),
        };
        let (start_ps, end_ps) = (event.start.0, event.end.0);
        timeline.span(Span {
            track,
            name,
            start_ps,
            end_ps,
            bytes: event.bytes,
        });
    }
}
