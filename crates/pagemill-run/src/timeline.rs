//! The events of all points as one timeline, a group of tracks for each point.

use pagemill_report::Timeline;
use pagemill_report::timeline::TrackKind;
use pagemill_scenario::Point;

use crate::kind::PointEvents;

/// All events.
pub(crate) fn build<'a>(
    points: &[Point],
    events: impl Iterator<Item = Option<&'a dyn PointEvents>>,
) -> Timeline {
    let mut timeline = Timeline::new();
    for (point, events) in points.iter().zip(events) {
        let Some(events) = events else { continue };
        let dropped = match events.dropped() {
            0 => String::new(),
            dropped => format!(", without the last {dropped} events"),
        };
        let group = timeline.track(None, format!("{point}{dropped}"), TrackKind::Group);
        events.add_to(&mut timeline, group);
    }
    timeline
}
