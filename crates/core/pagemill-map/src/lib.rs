//! Where pages were, when and why: a map of address, time and state that stays small however long a run is.
//!
//! A page manager reports to a [`Recorder`] what arrives and what leaves. The recorder keeps two things (ADR 0020):
//! *tiles*, which count bytes and events for every address and all of the time, ever more coarsely, and *histories*,
//! which hold every event of some pages: of all pages at first, of fewer the more events there are.
//! A history is whole or absent, so that what is seen of a page is what happened.
#![forbid(unsafe_code)]

mod bands;
mod format;
mod history;
mod recorder;
mod tiles;
mod varint;

pub use bands::Band;
pub use format::{MAGIC, Map, MapError};
pub use history::Event;
pub use recorder::{Change, Recorder};
pub use tiles::Tile;

use serde::{Deserialize, Serialize};

/// What bounds a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of the tiles, all bands together; each is a stretch of addresses.
    pub rows: usize,
    /// Columns of the tiles; each is a stretch of time.
    pub columns: usize,
    /// Events in histories.
    pub events: usize,
    /// Launches with name and time.
    pub launches: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows: 512,
            columns: 1024,
            events: 150_000,
            launches: 4096,
        }
    }
}

/// A cause of changes, and what it does to a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// In a few words: `fault`.
    pub name: String,
    /// Whether bytes arrive, leave, or stay.
    pub effect: Effect,
    /// What the bytes are from then on, where the effect is [`Effect::Mark`]: `in both memories`. None for what does not last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl Cause {
    /// A cause that leaves no state.
    pub fn new(name: &str, effect: Effect) -> Self {
        Self {
            name: name.to_owned(),
            effect,
            state: None,
        }
    }
}

/// What a change does to the bytes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// They are there from now on.
    Arrive,
    /// They are no longer there.
    Leave,
    /// They moved while they were there or on their way, which changes nothing.
    Repeat,
    /// They stay where they are, and something else is true of them.
    Mark,
}

/// The words and colors of a map: what its states are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Legend {
    /// Nothing is there yet: `on the CPU`.
    pub absent: String,
    /// Some is: `partly on the GPU`.
    pub partial: String,
    /// All is: `on the GPU`.
    pub present: String,
    /// Nothing is there any more: `back on the CPU`.
    pub departed: String,
    /// What marks mean, in a few words; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub marked: String,
    /// What an event's place is: `SM`; empty where places say nothing.
    pub place: String,
    /// The causes, by the number that events have.
    pub causes: Vec<Cause>,
}

/// A stretch of time with a name: a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel.
    pub name: String,
    /// From, in picoseconds.
    pub start_ps: u64,
    /// To.
    pub end_ps: u64,
}
