//! The causes and state names that page managers use in page maps.

use pagemill_map::{Cause, Effect, Legend};

/// A kernel needed bytes that were not there.
pub(crate) const FAULT: u8 = 0;
/// Bytes moved once more, because a request does not wait for those of others.
pub(crate) const REPEAT: u8 = 1;
/// The program asked for them before a kernel did.
pub(crate) const PREFETCH: u8 = 2;
/// The page left to make room.
pub(crate) const EVICTION: u8 = 3;
/// The page left because the CPU touched it.
pub(crate) const HOST_TOUCH: u8 = 4;
/// The program freed the page.
pub(crate) const FREED: u8 = 5;
/// A kernel was the first to touch the bytes: they were allocated, and nothing moved.
pub(crate) const FIRST_TOUCH: u8 = 6;

/// The causes in the order of their numbers.
pub(crate) fn legend() -> Legend {
    let cause = |name: &str, effect| Cause {
        name: name.to_owned(),
        effect,
    };
    Legend {
        absent: "on the CPU".to_owned(),
        partial: "partly on the GPU".to_owned(),
        present: "on the GPU".to_owned(),
        departed: "back on the CPU".to_owned(),
        place: "SM".to_owned(),
        causes: vec![
            cause("fault", Effect::Arrive),
            cause("repeated transfer", Effect::Repeat),
            cause("prefetch", Effect::Arrive),
            cause("eviction", Effect::Leave),
            cause("CPU touch", Effect::Leave),
            cause("freed", Effect::Leave),
            cause("first touch", Effect::Arrive),
        ],
    }
}
