//! Eviction in Python. What happens to pages is collected and handed over in one list when a victim is needed, so that an access
//! never goes through the interpreter.

use std::sync::{Arc, Mutex};

use pagemill_policy::residency::{ChunkList, Eviction, EvictionEntry};
use pagemill_types::Lent;
use pyo3::prelude::*;

use super::{Instance, Shared};
use crate::loaded::locked;

/// Events after which the list is handed over without a question.
const EVENTS_MAX: usize = 1 << 16;

/// The entry under the policy's name.
pub(super) fn entry(shared: Arc<Shared>) -> Lent {
    let name = shared.name;
    let build = move || -> Box<dyn Eviction> {
        let policy = shared.instance(|_| Ok(Vec::new()));
        Box::new(Asked {
            tracks_use: policy.attribute("tracks_use", "True or False"),
            policy,
            events: Mutex::default(),
            along: Mutex::default(),
        })
    };
    Box::leak(Box::new(EvictionEntry {
        name,
        summary: "written in Python",
        build: Box::leak(Box::new(build)),
    }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Came,
    Brought,
    Used,
    Left,
    /// A use that a later one stands for.
    Repeated,
}

impl What {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Came => Some("came"),
            Self::Brought => Some("brought"),
            Self::Used => Some("used"),
            Self::Left => Some("left"),
            Self::Repeated => None,
        }
    }
}

/// What happened since the last question, in order. Of several uses of a page without another event of the page between them, the
/// last stands for all.
#[derive(Debug, Default)]
struct Events {
    list: Vec<(What, u32)>,
    /// For each page, the place behind that of its last event.
    behind: Vec<usize>,
}

impl Events {
    fn add(&mut self, what: What, page: u32) {
        let index = page as usize;
        if index >= self.behind.len() {
            self.behind.resize(index + 1, 0);
        }
        if what == What::Used
            && let Some(before) = self.behind[index].checked_sub(1)
            && let Some(event) = self.list.get_mut(before)
            && *event == (What::Used, page)
        {
            event.0 = What::Repeated;
        }
        self.list.push((what, page));
        self.behind[index] = self.list.len();
    }

    fn take(&mut self) -> Vec<(&'static str, u32)> {
        let events = self.list.drain(..);
        events
            .filter_map(|(what, page)| Some((what.name()?, page)))
            .collect()
    }
}

#[derive(Debug)]
struct Asked {
    policy: Instance,
    tracks_use: bool,
    events: Mutex<Events>,
    /// What leaves with the last victim.
    along: Mutex<Vec<u32>>,
}

impl Asked {
    fn note(&mut self, what: What, page: u32) {
        let events = self.events.get_mut();
        let events = events.unwrap_or_else(std::sync::PoisonError::into_inner);
        events.add(what, page);
        if events.list.len() >= EVENTS_MAX {
            let taken = events.take();
            self.hand_over(taken);
        }
    }

    fn hand_over(&self, events: Vec<(&'static str, u32)>) {
        if !events.is_empty() {
            self.policy.ask("noted", |policy| {
                policy.call_method1("noted", (events,)).map(drop)
            });
        }
    }

    /// The victims that the policy names, held against what is in GPU memory.
    fn ask(&self, chunks: &ChunkList, keep: u32) -> Option<Vec<u32>> {
        let kept = chunks.contains(keep).then_some(keep);
        self.policy.ask("victim", |policy| {
            let answer = policy.call_method1("victim", (kept,))?;
            let one = answer.extract::<u32>().map(|page| vec![page]);
            let victims: Vec<u32> = one.or_else(|_| answer.extract()).map_err(|_| {
                let needed = "the number of a page in GPU memory, or a list of such numbers,";
                self.policy.shared.wrong_type("victim", &answer, needed)
            })?;
            let breach = |what: String| Err(self.policy.shared.breach("victim", &answer, what));
            if victims.is_empty() {
                return breach("at least one page has to leave".to_owned());
            }
            for (place, &page) in victims.iter().enumerate() {
                if page == keep {
                    return breach(format!("page {page} needs the room itself"));
                }
                if !chunks.contains(page) {
                    return breach(format!("page {page} is not in GPU memory"));
                }
                if victims[..place].contains(&page) {
                    return breach(format!("page {page} is named twice"));
                }
            }
            Ok(victims)
        })
    }
}

impl Eviction for Asked {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        let events = locked(&self.events).take();
        self.hand_over(events);
        let mut victims = self.ask(chunks, keep).unwrap_or_default().into_iter();
        // A run that is stopped goes on soundly until it ends.
        let oldest = || chunks.oldest_first().find(|&page| page != keep);
        let victim = victims.next().or_else(oldest);
        *locked(&self.along) = victims.collect();
        victim
    }

    fn along(&self, _: &ChunkList, _: u32, _: u32, more: &mut Vec<u32>) {
        more.append(&mut locked(&self.along));
    }

    fn came(&mut self, block: u32) {
        self.note(What::Came, block);
    }

    fn left(&mut self, block: u32) {
        self.note(What::Left, block);
    }

    fn brought(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
        self.note(What::Brought, block);
    }

    fn tracks_use(&self) -> bool {
        self.tracks_use
    }

    fn used(&mut self, chunks: &mut ChunkList, block: u32) {
        // Only the newest page is not asked about again.
        chunks.renew(block);
        self.note(What::Used, block);
    }
}
