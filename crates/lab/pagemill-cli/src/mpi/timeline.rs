//! The timeline of a job: a group of tracks for each rank.

use std::collections::BTreeMap;
use std::path::Path;

use pagemill_fabric::events::{RankEvents, Track};
use pagemill_fabric::launch::Job;
use pagemill_report::timeline::{NameId, Span, TrackKind};
use pagemill_report::{Timeline, perfetto};

use crate::failure::Failure;
use crate::output::write_file;

/// Writes what the job's ranks did when; the file is whole or not there.
///
/// # Errors
/// A rank left no events, or the file cannot be written.
pub fn keep(job: &Job, path: &Path) -> Result<(), Failure> {
    let ranks = job.timelines().map_err(Failure::Run)?;
    let timeline = build(&ranks);
    write_file(path, |out| perfetto::write(&timeline, out))
}

fn build(ranks: &[(u32, RankEvents)]) -> Timeline {
    let mut timeline = Timeline::new();
    let mut names: BTreeMap<String, NameId> = BTreeMap::new();
    for (rank, events) in ranks {
        let dropped = match events.dropped {
            0 => String::new(),
            dropped => format!(", without {dropped} events, which were left out evenly"),
        };
        let group = timeline.track(None, format!("rank {rank}{dropped}"), TrackKind::Group);
        let time = timeline.track(Some(group), "time", TrackKind::Spans);
        let messages = timeline.track(Some(group), "messages to it", TrackKind::Lanes);
        for event in &events.events {
            let name = match names.get(&event.name) {
                Some(name) => *name,
                None => {
                    let name = timeline.name(event.name.as_str());
                    names.insert(event.name.clone(), name);
                    name
                }
            };
            timeline.span(Span {
                track: match event.track {
                    Track::Time => time,
                    Track::Messages => messages,
                },
                name,
                start_ps: event.start_ps,
                end_ps: event.end_ps,
                bytes: event.bytes,
                page: None,
                allocation: None,
            });
        }
    }
    timeline
}
