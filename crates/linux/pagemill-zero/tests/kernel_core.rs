//! The module's ring (C) and the policy (Rust) agree: who may touch which page when, and what a fault finds.

use std::collections::BTreeMap;

use pagemill_policy::zeroing::{
    Fault, JobId, Ledger, Mode, Owner, PageId, PageState, Settings, Watermarks,
};
use pagemill_testkit::{CProgram, Conversation};
use proptest::prelude::*;

const PAGES: usize = 8;
const ENTRIES: u64 = 64;

/// A page that a fault waits for, or that is being taken back.
struct Out {
    page: PageId,
    entry: u64,
    post: u64,
    served: bool,
}

struct Both<'a> {
    core: &'a mut Conversation,
    ledger: Ledger,
    out: BTreeMap<JobId, Out>,
    posts: u64,
}

impl Both<'_> {
    /// What the ring answers.
    fn ask(&mut self, command: &str, number: u64) -> i64 {
        self.core.ask_number(&format!("{command} {number}"))
    }

    fn fault(&mut self) {
        let (page, job) = match self.ledger.fault(Owner(1)) {
            Fault::Wait { page, job } => (page, job),
            Fault::Exhausted => return,
            other => panic!("{other:?} in offload-wait"),
        };
        let entry = self.ask("post", page.0 as u64);
        if entry < 0 {
            // The entry whose turn it is is still taken; the module then clears with the CPU.
            let lap = self.out.values().map(|out| self.posts - out.post).max();
            assert!(lap.is_some_and(|lap| lap >= ENTRIES), "a free ring refuses");
            self.ledger.deadline(job).unwrap();
            self.ledger.fenced(job).unwrap();
            self.ledger.cleared(page).unwrap();
            return;
        }
        let out = Out {
            page,
            entry: entry as u64,
            post: self.posts,
            served: false,
        };
        self.posts += 1;
        self.out.insert(job, out);
    }

    fn nth_job(&self, pick: u8) -> Option<JobId> {
        let count = self.out.len().max(1);
        self.out.keys().nth(usize::from(pick) % count).copied()
    }

    /// The engine answers in time; the fault takes the page.
    fn answer(&mut self, job: JobId) {
        let out = &self.out[&job];
        let (page, entry) = (out.page, out.entry);
        if self.ledger.state(page)
            != Some(PageState::Waiting {
                job,
                owner: Owner(1),
            })
        {
            return;
        }
        assert_eq!(self.ask("serve", entry), 1);
        self.ledger.done(job).unwrap();
        assert_eq!(self.ask("leave", entry), 1);
        assert_eq!(self.ask("end", entry), 1, "a served piece is clean");
        assert_eq!(self.ledger.state(page), Some(PageState::Lent(Owner(1))));
        self.out.remove(&job);
    }

    /// First the deadline, later the fence; between them the engine may come, and is too late.
    fn give_up(&mut self, job: JobId) {
        let out = self.out.get_mut(&job).unwrap();
        let (page, entry) = (out.page, out.entry);
        if matches!(self.ledger.state(page), Some(PageState::Waiting { .. })) {
            assert_eq!(self.ledger.deadline(job), Ok(page));
            assert_eq!(self.ask("leave", entry), 1);
        } else if !out.served {
            out.served = true;
            assert_eq!(self.ask("serve", entry), 0, "nothing is posted there");
            self.ledger.done(job).unwrap();
            assert_eq!(self.ask("leave", entry), 0);
        } else {
            assert_eq!(self.ask("end", entry), 0, "it was not cleaned");
            self.ledger.fenced(job).unwrap();
            self.ledger.cleared(page).unwrap();
            self.out.remove(&job);
        }
    }

    fn give_back(&mut self, pick: u8) {
        let page = PageId(usize::from(pick) % PAGES);
        if self.ledger.returned(page).is_ok() {
            self.ledger.unreachable(page, None).unwrap();
        }
    }

    /// The window shows a page exactly while the policy has a fault wait for the engine.
    fn compare(&mut self) {
        let out: Vec<(JobId, PageId, u64)> = self
            .out
            .iter()
            .map(|(&job, out)| (job, out.page, out.entry))
            .collect();
        for (job, page, entry) in out {
            let waits = PageState::Waiting {
                job,
                owner: Owner(1),
            };
            let shown = self.ask("window", entry);
            if self.ledger.state(page) == Some(waits) {
                assert_eq!(shown, page.0 as i64);
            } else {
                assert_eq!(shown, -1);
            }
        }
    }
}

#[test]
fn the_modules_ring_follows_the_policy() {
    let folder = tempfile::tempdir().unwrap();
    let sources = [
        "pagemill_zero/usertest/replay/core_replay.c",
        "pagemill_zero/core.c",
    ];
    let Some(program) = CProgram::compile(folder.path(), &sources) else {
        return pagemill_testkit::skip("there is no gcc");
    };
    let settings = Settings {
        mode: Mode::OffloadWait,
        watermarks: Watermarks {
            low_pages: 0,
            high_pages: 0,
        },
        batch_pages: 1,
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(48));
    let events = proptest::collection::vec((0..8_u8, any::<u8>()), 1..400);
    let result = runner.run(&events, |events| {
        let mut core = program.start();
        let mut both = Both {
            core: &mut core,
            ledger: Ledger::new(settings, PAGES),
            out: BTreeMap::new(),
            posts: 0,
        };
        for (event, pick) in events {
            match (event, both.nth_job(pick)) {
                (0..=2, _) | (_, None) => both.fault(),
                (3 | 4, Some(job)) => both.answer(job),
                (5, Some(job)) => both.give_up(job),
                _ => both.give_back(pick),
            }
            both.compare();
        }
        Ok(())
    });
    result.unwrap();
}
