//! The events of a GPU as tracks.

use pagemill_map::Map;
use pagemill_report::Timeline;
use pagemill_report::timeline::{NameId, Span, TrackId, TrackKind};
use pagemill_sim::{Timeline as GpuTimeline, TimelineKind};
use pagemill_wire::readable_name;

use crate::kind::PointEvents;

impl PointEvents for GpuTimeline {
    fn dropped(&self) -> u64 {
        self.dropped()
    }

    fn add_to(&self, timeline: &mut Timeline, group: TrackId, map: Option<&Map>) {
        add(timeline, group, self, map);
    }
}

fn add(timeline: &mut Timeline, group: TrackId, events: &GpuTimeline, map: Option<&Map>) {
    let kernels = timeline.track(Some(group), "kernels", TrackKind::Spans);
    let host = timeline.track(Some(group), "host copies", TrackKind::Lanes);
    let migrations = timeline.track(Some(group), "migrations", TrackKind::Lanes);
    let waits = timeline.track(Some(group), "migration buffer full", TrackKind::Lanes);
    let mut batches = None;
    let [to_gpu, to_cpu, migration, eviction, batch, full] = [
        "copy to GPU",
        "copy from GPU",
        "migration",
        "eviction",
        "batch",
        "wait for an entry",
    ]
    .map(|name| timeline.name(name));
    let allocations = Allocations::new(timeline, map);
    let mut kernel_names = Vec::new();
    for event in events.events() {
        let (track, name) = match &event.kind {
            TimelineKind::Kernel { name } => {
                let known = kernel_names
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, id)| *id);
                let id = known.unwrap_or_else(|| {
                    let id = timeline.name(readable_name(name).as_str());
                    kernel_names.push((name, id));
                    id
                });
                (kernels, id)
            }
            TimelineKind::CopyToGpu => (host, to_gpu),
            TimelineKind::CopyFromGpu => (host, to_cpu),
            TimelineKind::Migration { .. } => (migrations, migration),
            TimelineKind::Eviction { .. } => (migrations, eviction),
            TimelineKind::FaultBatch => {
                let track = batches.get_or_insert_with(|| {
                    timeline.track(Some(group), "fault batches", TrackKind::Spans)
                });
                (*track, batch)
            }
            TimelineKind::BufferFull { .. } => (waits, full),
        };
        let page = match event.kind {
            TimelineKind::Migration { page, .. } | TimelineKind::Eviction { page } => Some(page),
            _ => None,
        };
        let (start_ps, end_ps) = (event.start.0, event.end.0);
        timeline.span(Span {
            track,
            name,
            start_ps,
            end_ps,
            bytes: event.bytes,
            page,
            allocation: page.and_then(|page| allocations.of(page)),
        });
    }
}

/// Which allocation a page is of: its first page, and its name.
struct Allocations(Vec<(u64, NameId)>);

impl Allocations {
    fn new(timeline: &mut Timeline, map: Option<&Map>) -> Self {
        let bands = map.iter().flat_map(|map| {
            let page_bytes = map.page_bytes;
            map.bands
                .iter()
                .map(move |band| (band.address / page_bytes, band.name.clone()))
        });
        Self(
            bands
                .map(|(page, name)| (page, timeline.name(name)))
                .collect(),
        )
    }

    fn of(&self, page: u64) -> Option<NameId> {
        let after = self.0.partition_point(|(first, _)| *first <= page);
        self.0.get(after.checked_sub(1)?).map(|(_, name)| *name)
    }
}
