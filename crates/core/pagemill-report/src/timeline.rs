//! What happened when: tracks, spans, counters and instants in picoseconds.

/// Handle of a track in its [`Timeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrackId(pub(crate) u32);

/// Handle of a name in its [`Timeline`]. Names are kept once, events refer to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameId(pub(crate) u32);

/// What a track holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A heading for other tracks: a GPU, the link.
    Group,
    /// Spans that nest like calls, and instants.
    Spans,
    /// Spans that overlap as they please: each gets a free lane, as long as there are any. And instants.
    Lanes,
    /// A number over time.
    Counter(CounterUnit),
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Hundredths of a whole.
    Percent,
}

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// The heading it stands under.
    pub parent: Option<TrackId>,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: TrackKind,
}

/// Something with a beginning and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it is drawn.
    pub track: TrackId,
    /// What it is called.
    pub name: NameId,
    /// Begin in picoseconds.
    pub start_ps: u64,
    /// End in picoseconds, not before `start_ps`.
    pub end_ps: u64,
    /// Bytes it moved, shown with it; 0 shows nothing.
    pub bytes: u64,
    /// The page it moved, shown with it.
    pub page: Option<u64>,
    /// The allocation of that page, shown with it.
    pub allocation: Option<NameId>,
}

/// Something that happened at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Where it is drawn.
    pub track: TrackId,
    /// What it is called.
    pub name: NameId,
    /// Time in picoseconds.
    pub at_ps: u64,
}

/// A new value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// A counter track.
    pub track: TrackId,
    /// Time in picoseconds.
    pub at_ps: u64,
    /// The value from now on.
    pub value: i64,
}

/// A recorded run. Events may be added in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    pub(crate) tracks: Vec<Track>,
    pub(crate) names: Vec<String>,
    pub(crate) spans: Vec<Span>,
    pub(crate) instants: Vec<Instant>,
    pub(crate) samples: Vec<Sample>,
}

impl Timeline {
    /// A timeline without tracks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a track.
    pub fn track(
        &mut self,
        parent: Option<TrackId>,
        name: impl Into<String>,
        kind: TrackKind,
    ) -> TrackId {
        let id = TrackId(u32::try_from(self.tracks.len()).expect("fewer than 2^32 tracks"));
        self.tracks.push(Track {
            parent,
            name: name.into(),
            kind,
        });
        id
    }

    /// Keeps a name for spans and instants. Ask once per name, not once per event.
    pub fn name(&mut self, name: impl Into<String>) -> NameId {
        let id = NameId(u32::try_from(self.names.len()).expect("fewer than 2^32 names"));
        self.names.push(name.into());
        id
    }

    /// Adds a span. An end before the start counts as the start.
    pub fn span(&mut self, span: Span) {
        self.spans.push(Span {
            end_ps: span.end_ps.max(span.start_ps),
            ..span
        });
    }

    /// Adds an instant.
    pub fn instant(&mut self, instant: Instant) {
        self.instants.push(instant);
    }

    /// Adds a counter value.
    pub fn sample(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    /// How many spans, instants and samples there are.
    pub fn event_count(&self) -> usize {
        self.spans.len() + self.instants.len() + self.samples.len()
    }
}
