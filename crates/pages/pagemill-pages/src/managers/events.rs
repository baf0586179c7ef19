//! The causes and state names that page managers use in page maps.

use pagemill_map::{Cause, Effect, Legend};

/// A kernel needed bytes that were not there.
pub const FAULT: u8 = 0;
/// Bytes moved once more, because a request does not wait for those of others.
pub const REPEAT: u8 = 1;
/// The program asked for them before a kernel did.
pub const PREFETCH: u8 = 2;
/// The page left to make room.
pub const EVICTION: u8 = 3;
/// The page left because the CPU touched it.
pub const HOST_TOUCH: u8 = 4;
/// The program freed the page, or gave up its contents.
pub const FREED: u8 = 5;
/// A kernel was the first to touch the bytes: they were allocated, and nothing moved.
pub const FIRST_TOUCH: u8 = 6;
/// They moved along with bytes that a kernel needed.
pub const GROWTH: u8 = 7;
/// Access counters reported them.
pub const COUNTER: u8 = 8;
/// A call of the program sent the page back.
pub const SENT_BACK: u8 = 9;
/// The page left to make room, and CPU memory had it as well: nothing was copied.
pub const DROPPED: u8 = 10;
/// CPU memory has the bytes as well, to be read.
pub const DUPLICATED: u8 = 11;
/// The GPU wrote to bytes that were in both memories, or a call gave the copy up.
pub const COPY_VOID: u8 = 12;
/// The GPU uses the bytes in CPU memory.
pub const IN_PLACE: u8 = 13;
/// As that, for a while, because the page moved to and fro.
pub const PINNED: u8 = 14;
/// The while has ended: the GPU faults again.
pub const UNPINNED: u8 = 15;
/// The fault was put off because the page moves to and fro.
pub const THROTTLED: u8 = 16;

/// What an event's place is under a driver.
pub const BATCH: &str = "batch";
/// What it is where the GPU moves ranges by itself.
pub const SM: &str = "SM";

/// The causes in the order of their numbers.
pub fn legend(place: &str) -> Legend {
    let mark = |name: &str, state: Option<&str>| Cause {
        state: state.map(str::to_owned),
        ..Cause::new(name, Effect::Mark)
    };
    Legend {
        absent: "on the CPU".to_owned(),
        partial: "partly on the GPU".to_owned(),
        present: "on the GPU".to_owned(),
        departed: "back on the CPU".to_owned(),
        marked: match place {
            BATCH => "in both memories, used in place, or put off".to_owned(),
            _ => String::new(),
        },
        place: place.to_owned(),
        causes: vec![
            Cause::new("fault", Effect::Arrive),
            Cause::new("repeated transfer", Effect::Repeat),
            Cause::new("prefetch", Effect::Arrive),
            Cause::new("eviction", Effect::Leave),
            Cause::new("CPU touch", Effect::Leave),
            Cause::new("freed", Effect::Leave),
            Cause::new("first touch", Effect::Arrive),
            Cause::new("moved along", Effect::Arrive),
            Cause::new("access counter", Effect::Arrive),
            Cause::new("sent back by a call", Effect::Leave),
            Cause::new("dropped copy", Effect::Leave),
            mark("duplicated", Some("in both memories, to be read")),
            mark("copy void", Some("on the GPU alone")),
            mark("mapped in place", Some("on the CPU, used in place")),
            mark(
                "pinned",
                Some("pinned on the CPU because it thrashes, used in place"),
            ),
            mark("pin ended", Some("on the CPU")),
            mark("put off", None),
        ],
    }
}
