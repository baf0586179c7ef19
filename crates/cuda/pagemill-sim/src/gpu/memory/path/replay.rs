//! The page traffic of launches that are executed only: what they touched first, in that order, as requests of SMs in turn.

use super::{BASE_SEGMENT, MemoryPath};
use crate::gpu::ALL_SECTORS;
use crate::gpu::common::request::{Request, Route, Stage};
use pagemill_pages::managers::Touch as Answer;
use pagemill_ptx::Touch;
use pagemill_types::Picos;
use std::collections::BTreeSet;

impl MemoryPath {
    /// A bit for each segment of managed memory that kernels may use without a look: it was touched before, and it is on
    /// the GPU. With `follows_use`, none: each launch shows all that it uses.
    pub(crate) fn known_segments(&self, follows_use: bool) -> Vec<u64> {
        let mut known = self.touched.words().to_vec();
        match follows_use {
            true => known.fill(0),
            false => self.pages.manager.keep_resident(&mut known),
        }
        known
    }

    /// Whether a kernel has touched `segment`, which is managed.
    pub(crate) fn was_touched(&self, segment: u64) -> bool {
        self.touched.contains(segment - BASE_SEGMENT)
    }

    /// Asks the page manager for what a launch at `at` touched first. Returns when the last of it is there.
    pub(crate) fn replay(&mut self, at: Picos, touches: &[Touch]) -> Picos {
        let mut now = at;
        let mut done = at;
        let sms = self.sms.len();
        let mut asked = BTreeSet::new();
        for (number, touch) in touches.iter().enumerate() {
            self.touched.mark(touch.segment - BASE_SEGMENT);
            if !self.pages.manager.asks_for(touch.segment, &mut asked) {
                continue;
            }
            let request = Request {
                segment: touch.segment,
                sm: (number % sms) as u32,
                warp: 0,
                kind: touch.kind,
                route: Route::Cached,
                slot: 0,
                lanes: 1,
                sectors: ALL_SECTORS,
                stage: Stage::Issued,
                instruction: touch.instruction,
            };
            done = done.max(self.ask(&mut now, &request));
        }
        self.serve_all(now).max(done)
    }

    /// Asks until there is an answer other than to ask again. Returns when the bytes are there, `now` if they come later by
    /// themselves.
    fn ask(&mut self, now: &mut Picos, request: &Request) -> Picos {
        loop {
            let place = self.l2.place(request.segment);
            let answer = self
                .pages
                .touch(*now, request, place.partition, &mut self.host_link);
            self.note_moves();
            match answer {
                Answer::Here(at) | Answer::Arrives(at) => return at,
                Answer::LooksUpAgain(at) => *now = at.max(*now),
                Answer::InPlace(at) => {
                    return self.host_link.link.read(at, 1, super::SEGMENT_BYTES);
                }
                Answer::Waits => return *now,
            }
        }
    }

    /// Lets the page manager work until nothing waits for it.
    fn serve_all(&mut self, at: Picos) -> Picos {
        let mut now = at;
        let mut done = at;
        let mut awake = Vec::new();
        while let Some(due) = self.pages.manager.due() {
            now = now.max(due);
            self.advance(now, &mut awake);
            for request in awake.drain(..) {
                done = done.max(self.ask(&mut now, &request));
            }
        }
        done.max(now)
    }
}
