//! Waiting for what other processes do, without keeping a core from them.
//!
//! A process wakes another one only if that one can go on, as a wake costs more than all else that a message takes.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::layout::Layout;
use super::{Board, NEVER};

/// How long a waiter looks before it sleeps: about what a sleep and a wake take, so that a look that finds nothing at most doubles the cost.
const LOOK: Duration = Duration::from_micros(20);

/// Looks between two readings of the clock.
const LOOKS: u32 = 32;

/// Looks in a row that find nothing, after which a waiter begins to leave some out.
const EMPTY_LOOKS: u32 = 4;

/// Looks that are left out at most, as a power of 2.
const LEFT_OUT_LOG: u32 = 6;

/// Longest sleep: programs also wait for what is not on the board.
const SHORT_SLEEP: futex::Timespec = futex::Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Longest sleep of a waiter that was woken each time of late. Longer than a tick of the kernel: for a shorter one, it sets the
/// processor's timer and resets it, 4 us of CPU time on a virtual machine.
const LONG_SLEEP: futex::Timespec = futex::Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Wakes in a row after which a waiter sleeps longer.
const WAKES: u32 = 8;

/// What a waiter knows of the others.
#[derive(Clone, Copy)]
pub struct Seen {
    /// The state of its news.
    pub news: u32,
    /// The earliest base of the others: it cannot go on while it is that.
    pub others_ps: u64,
    /// How long after its departure a message arrives at least.
    pub lookahead_ps: u64,
}

impl Seen {
    /// Of a waiter that does not wait for the others' time.
    pub fn news(news: u32) -> Self {
        Self {
            news,
            others_ps: NEVER,
            lookahead_ps: 0,
        }
    }
}

/// What a thread has learned from its waits.
#[derive(Clone, Copy, Default)]
struct Habits {
    /// Looks in a row that found nothing.
    empty: u32,
    /// Looks to leave out.
    left_out: u32,
    /// Wakes in a row.
    wakes: u32,
    asleep_ns: u64,
}

thread_local! {
    static HABITS: Cell<Habits> = const {
        Cell::new(Habits { empty: 0, left_out: 0, wakes: 0, asleep_ns: 0 })
    };
}

/// Real time in nanoseconds for which this thread has slept here.
pub fn asleep_ns() -> u64 {
    HABITS.get().asleep_ns
}

impl Habits {
    /// Whether to look before the next sleep.
    fn looks(&mut self) -> bool {
        let looks = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        looks
    }

    fn has_looked(&mut self, was_empty: bool) {
        self.empty = if was_empty { self.empty + 1 } else { 0 };
        if let Some(more) = self.empty.checked_sub(EMPTY_LOOKS) {
            self.left_out = 1 << more.min(LEFT_OUT_LOG);
        }
    }

    fn longest_sleep(&self) -> &'static futex::Timespec {
        match self.wakes < WAKES {
            true => &SHORT_SLEEP,
            false => &LONG_SLEEP,
        }
    }

    fn has_slept(&mut self, span: Duration, was_woken: bool) {
        self.asleep_ns += span.as_nanos() as u64;
        self.wakes = if was_woken {
            self.wakes.saturating_add(1)
        } else {
            0
        };
    }
}

/// Threads of this process that wait. The last one to go takes its station off the lists of those who wait.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// Cores that this process may use.
fn cores() -> u32 {
    static CORES: OnceLock<u32> = OnceLock::new();
    *CORES
        .get_or_init(|| std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32))
}

impl Board {
    /// The state of a station's news. Read it before a look around that may find nothing to do.
    pub fn news(&self, index: u32) -> u32 {
        self.news_word(index).load(Ordering::SeqCst) as u32
    }

    /// Notifies a station of a change.
    pub fn notify(&self, index: u32) {
        let word = self.news_word(index);
        word.fetch_add(1, Ordering::SeqCst);
        // A sleeper that is not noted yet sees the new state before it sleeps.
        let bit = 1 << index;
        if self.sleepers().load(Ordering::SeqCst) & bit != 0 {
            self.sleepers().fetch_and(!bit, Ordering::SeqCst);
            match self.bells.and_then(|bells| bells.of(index)) {
                Some(bell) => bell.ring(),
                None => {
                    let _ = futex::wake(low_half(word), futex::Flags::empty(), u32::MAX);
                }
            }
        }
    }

    /// Notifies every station of a set, a bit for each.
    pub fn notify_each(&self, mut stations: u64) {
        while stations != 0 {
            self.notify(stations.trailing_zeros());
            stations &= stations - 1;
        }
    }

    /// Notifies all stations.
    pub fn notify_all(&self) {
        (0..self.stations()).for_each(|index| self.notify(index));
    }

    /// Waits until the news of a station are others than those seen, or a moment.
    ///
    /// Looks for as long as a sleep would cost before it sleeps, but only while a core is free for the processes that are awake: the
    /// one that answers may need the core of the one that looks.
    pub fn wait_for_news(&self, index: u32, seen: Seen) {
        if cfg!(miri) {
            return std::thread::yield_now();
        }
        let bit = 1 << index;
        WAITING.fetch_add(1, Ordering::SeqCst);
        self.waiters().fetch_or(bit, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // From here on, others notify. Before, one may have gone on without doing so.
        if !self.has_become_due(index, seen.others_ps, seen.lookahead_ps) {
            let mut habits = HABITS.get();
            if !self.look(index, seen.news, &mut habits) {
                self.sleep(index, seen.news, &mut habits);
            }
            HABITS.set(habits);
        }
        // The bit of a sleeper is left to the next wake, which takes it away: one that is too many does no harm.
        if WAITING.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.waiters().fetch_and(!bit, Ordering::SeqCst);
            if WAITING.load(Ordering::SeqCst) > 0 {
                self.waiters().fetch_or(bit, Ordering::SeqCst);
            }
        }
    }

    /// Looks for news; returns whether there is some.
    fn look(&self, index: u32, seen: u32, habits: &mut Habits) -> bool {
        if self.news(index) != seen {
            return true;
        }
        let awake = self
            .stations()
            .saturating_sub(self.sleepers().load(Ordering::Relaxed).count_ones());
        if awake > cores() || !habits.looks() {
            return false;
        }
        let has_news = |_| {
            std::hint::spin_loop();
            self.news(index) != seen
        };
        let until = Instant::now() + LOOK;
        let found = loop {
            let found = (0..LOOKS).any(has_news);
            if found || Instant::now() >= until {
                break found;
            }
        };
        habits.has_looked(!found);
        found
    }

    /// Sleeps until there is news.
    fn sleep(&self, index: u32, seen: u32, habits: &mut Habits) {
        let bit = 1 << index;
        let longest = habits.longest_sleep();
        let begin = Instant::now();
        self.sleepers().fetch_or(bit, Ordering::SeqCst);
        match self.bells.and_then(|bells| bells.of(index)) {
            // A notification after this look sees the sleeper.
            Some(bell) if self.news(index) == seen => bell.sleep(longest),
            Some(_) => {}
            None => {
                let word = low_half(self.news_word(index));
                let _ = futex::wait(word, futex::Flags::empty(), seen, Some(longest));
            }
        }
        habits.has_slept(begin.elapsed(), self.news(index) != seen);
    }

    /// Stations whose processes wait, a bit for each.
    pub(super) fn waiters(&self) -> &AtomicU64 {
        &self.words[Layout::WAITERS]
    }

    /// Stations whose processes sleep, a bit for each.
    pub(super) fn sleepers(&self) -> &AtomicU64 {
        &self.words[Layout::SLEEPERS]
    }

    fn news_word(&self, index: u32) -> &AtomicU64 {
        &self.words[Layout::station(index) + Layout::NEWS]
    }
}

/// What the kernel waits for: the half that changes with every addition.
#[allow(unsafe_code, reason = "a futex waits on half of the word")]
fn low_half(word: &AtomicU64) -> &AtomicU32 {
    let halves: *mut u32 = word.as_ptr().cast();
    let low = usize::from(cfg!(target_endian = "big"));
    // SAFETY: both halves lie in `word` and are aligned for 32 bits; only the kernel reads through this reference.
    unsafe { AtomicU32::from_ptr(halves.add(low)) }
}

#[cfg(test)]
mod tests;
