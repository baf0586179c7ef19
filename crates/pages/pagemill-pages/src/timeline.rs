//! What happened when, for a picture: bounded, and off unless asked for.

use pagemill_map::{Change, Legend, Limits, Recorder};
use pagemill_types::{PageRange, Picos};
use serde::{Deserialize, Serialize};

/// Kind of a span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimelineKind {
    /// A kernel ran.
    Kernel {
        /// Its name.
        name: String,
    },
    /// The host copied to the GPU or brought pages back by writing.
    CopyToGpu,
    /// The host copied from the GPU or brought pages back by reading.
    CopyFromGpu,
    /// Bytes of a page moved from CPU to GPU.
    Migration {
        /// Page number in the address space.
        page: u64,
        /// Memory partition whose buffer held the entry.
        partition: u32,
    },
    /// A page was moved from GPU to CPU to make room.
    Eviction {
        /// Page number in the address space.
        page: u64,
    },
    /// The driver served a batch of faults and reports.
    FaultBatch,
    /// A request waited because a migration buffer was full.
    BufferFull {
        /// Memory partition whose buffer was full.
        partition: u32,
    },
}

/// A span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// What happened.
    pub kind: TimelineKind,
    /// From.
    pub start: Picos,
    /// To.
    pub end: Picos,
    /// Bytes moved, if any.
    pub bytes: u64,
}

/// The events of a run, in the order they were decided: all, or evenly chosen ones up to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    limit: usize,
    events: Vec<TimelineEvent>,
    dropped: u64,
    /// Of this many events one is kept.
    #[serde(default)]
    stride: u64,
    /// Events so far.
    #[serde(default)]
    seen: u64,
    /// Kernels so far that were kept.
    #[serde(default)]
    kernels: usize,
    /// Where pages were, if that is recorded.
    #[serde(skip)]
    pages: Option<Box<Recorder>>,
}

/// Bytes of a page that arrive or leave.
#[derive(Clone, Copy, Debug)]
pub struct PageChange {
    /// Its number in the legend of causes.
    pub cause: u8,
    /// The page, counted from the start of what can be managed.
    pub page: u64,
    /// The bytes of the page that changed.
    pub range: PageRange,
    /// When they set out.
    pub start: Picos,
    /// When they are there.
    pub done: Picos,
    /// What the legend says: the SM, or the batch of a driver.
    pub place: u32,
}

impl Timeline {
    /// A timeline that keeps up to `limit` events, and when there are more, each second, fourth and so on of all.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            events: Vec::new(),
            dropped: 0,
            stride: 1,
            seen: 0,
            kernels: 0,
            pages: None,
        }
    }

    /// Also records where pages of `page_bytes` are, in the words of `legend`.
    pub fn record_pages(&mut self, page_bytes: u64, legend: Legend) {
        let recorder = Recorder::new(page_bytes, legend, Limits::default());
        self.pages = Some(Box::new(recorder));
    }

    /// The recorder of pages, where there is one.
    #[inline]
    pub fn pages(&mut self) -> Option<&mut Recorder> {
        self.pages.as_deref_mut()
    }

    /// Bytes of a page arrive or leave.
    #[inline]
    pub fn page(&mut self, change: PageChange) {
        if let Some(recorder) = self.pages() {
            recorder.changed(&Change {
                cause: change.cause,
                page: change.page,
                range: change.range.start..change.range.end,
                start_ps: change.start.0,
                done_ps: change.done.0,
                place: change.place,
            });
        }
    }

    /// Of the bytes of a page that arrive at `done`, these have moved to it before.
    #[inline]
    pub fn moved_again(&mut self, page: u64, range: PageRange, done: Picos) {
        if let Some(recorder) = self.pages() {
            recorder.moved_again(page, range.start..range.end, done.0);
        }
    }

    /// The page map of a run that ended at `end`, as the bytes of its file; empty where none was recorded.
    pub fn finish_pages(&mut self, end: Picos, link_bytes_per_second: u64) -> Vec<u8> {
        let recorder = self.pages.take();
        recorder.map_or_else(Vec::new, |recorder| {
            recorder.finish("", end.0, link_bytes_per_second).encode()
        })
    }

    /// The events.
    pub fn events(&self) -> &[TimelineEvent] {
        &self.events
    }

    /// How many events were left out, evenly.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Keeps the event that `make` makes, if events are kept.
    #[inline]
    pub fn record(&mut self, make: impl FnOnce() -> TimelineEvent) {
        if self.limit == 0 {
            return;
        }
        // Every `stride`th event, so that what is kept is spread over the whole run and not its beginning.
        let is_chosen = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        if !is_chosen {
            self.dropped += 1;
            return;
        }
        self.events.push(make());
        if self.events.len() > self.limit {
            self.thin();
        }
    }

    /// Records a kernel: all are kept as long as they leave room for others.
    pub fn record_kernel(&mut self, make: impl FnOnce() -> TimelineEvent) {
        // Half of the room at most: many small kernels must not push out what moved between them.
        if self.kernels < self.limit / 2 {
            self.kernels += 1;
            self.events.push(make());
        } else {
            self.record(make);
        }
    }

    /// Leaves out every second event but for kernels.
    #[cold]
    fn thin(&mut self) {
        let before = self.events.len();
        let mut index = 0;
        self.events.retain(|event| {
            let is_kernel = matches!(event.kind, TimelineKind::Kernel { .. });
            index += usize::from(!is_kernel);
            // Kernels stay: a picture without them has nothing to hang the others on.
            is_kernel || index % 2 == 1
        });
        self.dropped += (before - self.events.len()) as u64;
        self.stride *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_evenly_chosen_events() {
        let mut timeline = Timeline::with_limit(10);
        for at in 0..1000 {
            timeline.record(|| TimelineEvent {
                kind: TimelineKind::FaultBatch,
                start: Picos(at),
                end: Picos(at),
                bytes: 0,
            });
        }
        let kept: Vec<u64> = timeline
            .events()
            .iter()
            .map(|event| event.start.0)
            .collect();
        assert!((5..=10).contains(&kept.len()), "{kept:?}");
        assert_eq!(timeline.dropped(), 1000 - kept.len() as u64);
        let step = kept[1] - kept[0];
        assert!(
            kept.windows(2).all(|pair| pair[1] - pair[0] == step),
            "{kept:?}"
        );
        assert!(kept[kept.len() - 1] + step >= 1000, "{kept:?}");
    }
}
