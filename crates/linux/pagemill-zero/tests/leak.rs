//! Ten thousand pages with marks of their holders, cleared by real engines that are interrupted at random: no holder ever finds a
//! mark of another, or misses one of its own.

use pagemill_linux::{Backing, Mapping};
use pagemill_policy::zeroing::{
    Fault, JobId, Ledger, Mode, Owner, PageId, PageState, Settings, Watermarks,
};
use pagemill_testkit::skip;
use pagemill_zero::engines::{Engine, NoOp, by_name};

const PAGE_BYTES: usize = 16 << 10;
const PAGES: usize = 64;
const FAULTS: usize = 10_000;

/// What users found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    leaks: usize,
    wipes: usize,
}

/// A number after a number (Steele et al. 2014, SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

struct Machine {
    memory: Mapping,
    ledger: Ledger,
    engine: Box<dyn Engine>,
    /// The engine's order that it has not begun.
    jobs: Vec<(JobId, Vec<PageId>)>,
    /// Pages in use, with their holder's mark; 0 before it wrote.
    held: Vec<(PageId, u8)>,
    seen: Seen,
    random: Random,
    faults: usize,
}

impl Machine {
    fn new(mode: Mode, engine: Box<dyn Engine>) -> Self {
        let settings = Settings {
            mode,
            watermarks: Watermarks {
                low_pages: 8,
                high_pages: 24,
            },
            batch_pages: 4,
        };
        let mut memory =
            Mapping::new(Backing::Anonymous, PAGES * PAGE_BYTES, true).expect("memory");
        memory.bytes_mut().fill(0xFF);
        Self {
            memory,
            ledger: Ledger::new(settings, PAGES),
            engine,
            jobs: Vec::new(),
            held: Vec::new(),
            seen: Seen::default(),
            random: Random(1),
            faults: 0,
        }
    }

    fn run(mut self) -> Seen {
        while self.faults < FAULTS {
            match self.random.below(8) {
                0..3 => self.fault(),
                3 => self.order(),
                4..6 => self.engine_runs(),
                6 => self.engine_dies(),
                _ => self.give_back(),
            }
            if self.held.len() > PAGES / 2 {
                self.give_back();
            }
        }
        self.seen
    }

    fn bytes(&mut self, page: PageId) -> &mut [u8] {
        &mut self.memory.bytes_mut()[page.0 * PAGE_BYTES..][..PAGE_BYTES]
    }

    fn fault(&mut self) {
        self.faults += 1;
        match self.ledger.fault(Owner(self.random.below(3) as u32)) {
            Fault::Map(page) => self.map(page),
            Fault::ClearThenMap(page) => {
                self.bytes(page).fill(0);
                self.ledger.cleared(page).expect("it was being cleared");
                self.map(page);
            }
            Fault::Wait { page, job } => self.jobs.push((job, vec![page])),
            Fault::MapNow { page, job } => {
                self.jobs.push((job, vec![page]));
                self.map(page);
            }
            Fault::Exhausted => {}
        }
    }

    /// The user looks, and writes its mark.
    fn map(&mut self, page: PageId) {
        let mark = 1 + self.random.below(200) as u8;
        let found_zeroes = self.bytes(page).iter().all(|&byte| byte == 0);
        self.seen.leaks += usize::from(!found_zeroes);
        self.bytes(page).fill(mark);
        self.held.push((page, mark));
    }

    /// A user looks at its mark a last time, and gives the page back.
    fn give_back(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let index = self.random.below(self.held.len());
        let (page, mark) = self.held.swap_remove(index);
        let is_whole = self.bytes(page).iter().all(|&byte| byte == mark);
        self.seen.wipes += usize::from(!is_whole);
        self.ledger.returned(page).expect("it was lent");
        self.ledger
            .unreachable(page, None)
            .expect("it was returned");
    }

    fn order(&mut self) {
        if let Some(batch) = self.ledger.take_batch() {
            self.jobs.push((batch.job, batch.pages));
        }
    }

    fn take_job(&mut self) -> Option<(JobId, Vec<PageId>)> {
        let index = match self.jobs.len() {
            0 => return None,
            jobs => self.random.below(jobs),
        };
        Some(self.jobs.swap_remove(index))
    }

    fn clear(&mut self, page: PageId) {
        let bytes = &mut self.memory.bytes_mut()[page.0 * PAGE_BYTES..][..PAGE_BYTES];
        self.engine.zero(&mut [bytes]).expect("cleared");
    }

    fn engine_runs(&mut self) {
        let Some((job, pages)) = self.take_job() else {
            return;
        };
        for &page in &pages {
            self.clear(page);
        }
        let waiting = self.waiting(job, &pages);
        self.ledger.done(job).expect("it was ordered");
        if let Some(page) = waiting {
            self.map(page);
        }
    }

    /// The engine ends in the middle of a job. Those who wait fall back on the CPU.
    fn engine_dies(&mut self) {
        let Some((job, pages)) = self.take_job() else {
            return;
        };
        let done = self.random.below(pages.len() + 1);
        for &page in &pages[..done] {
            self.clear(page);
        }
        match self.waiting(job, &pages) {
            Some(page) => {
                self.ledger.deadline(job).expect("it waits");
                self.ledger.fenced(job).expect("it has ended");
                self.bytes(page).fill(0);
                self.ledger.cleared(page).expect("it was being cleared");
                self.map(page);
            }
            None => {
                self.ledger.failed(job).expect("it was ordered");
                self.ledger.fenced(job).expect("it has ended");
            }
        }
    }

    fn waiting(&self, job: JobId, pages: &[PageId]) -> Option<PageId> {
        let is_waited_for = |page: &&PageId| {
            let state = self.ledger.state(**page);
            matches!(state, Some(PageState::Waiting { job: own, .. }) if own == job)
        };
        pages.iter().find(is_waited_for).copied()
    }
}

#[test]
fn every_safe_mode_is_clean_with_every_engine() {
    for name in ["auto", "memset", "opencl"] {
        for mode in Mode::ALL.into_iter().filter(|mode| mode.is_safe()) {
            match by_name(name) {
                Ok(engine) => assert_eq!(
                    Machine::new(mode, engine).run(),
                    Seen::default(),
                    "{name} {mode:?}"
                ),
                Err(error) => skip(&error.to_string()),
            }
        }
    }
}

#[test]
fn the_unsafe_mode_leaks_and_wipes() {
    let engine = by_name("auto").expect("a CPU");
    let seen = Machine::new(Mode::OffloadAsync, engine).run();
    assert!(seen.leaks > 0 && seen.wipes > 0, "{seen:?}");
}

#[test]
fn an_engine_that_does_nothing_leaks() {
    for mode in [Mode::Pool, Mode::OnFree, Mode::OffloadWait] {
        let seen = Machine::new(mode, Box::new(NoOp)).run();
        assert!(seen.leaks > 0 && seen.wipes == 0, "{mode:?} {seen:?}");
    }
}
