//! Waiting for what other processes do, without keeping a core from them.
//!
//! A process wakes another one only if that one can go on, as a wake costs more than all else that a message takes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::thread::futex;

use super::Board;
use super::layout::Layout;

/// Looks before a waiter sleeps. Few, as the process that answers may need the waiter's core.
const SPINS: u32 = 8;

/// Longest sleep: programs also wait for what is not on the board.
const SLEEP: futex::Timespec = futex::Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

impl Board {
    /// The state of a station's news. Read it before a look around that may find nothing to do.
    pub fn news(&self, index: u32) -> u32 {
        self.news_word(index).load(Ordering::SeqCst) as u32
    }

    /// Notifies a station of a change.
    pub fn tell(&self, index: u32) {
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
    pub fn tell_each(&self, mut stations: u64) {
        while stations != 0 {
            self.tell(stations.trailing_zeros());
            stations &= stations - 1;
        }
    }

    /// Notifies all stations.
    pub fn tell_all(&self) {
        (0..self.stations()).for_each(|index| self.tell(index));
    }

    /// Waits until the news of a station are others than `seen`, or a moment.
    pub fn wait_for_news(&self, index: u32, seen: u32) {
        for _ in 0..SPINS {
            if self.news(index) != seen {
                return;
            }
            std::hint::spin_loop();
        }
        if cfg!(miri) {
            return std::thread::yield_now();
        }
        let bit = 1 << index;
        self.sleepers().fetch_or(bit, Ordering::SeqCst);
        match self.bells.and_then(|bells| bells.of(index)) {
            // A notification after this look sees the sleeper.
            Some(bell) if self.news(index) == seen => bell.sleep(&SLEEP),
            Some(_) => {}
            None => {
                let word = low_half(self.news_word(index));
                let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&SLEEP));
            }
        }
        self.sleepers().fetch_and(!bit, Ordering::SeqCst);
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
mod tests {
    use super::*;

    fn board() -> Board {
        let words: Vec<AtomicU64> = (0..Layout::station(1)).map(|_| AtomicU64::new(0)).collect();
        Board {
            words: words.leak(),
            bells: None,
        }
    }

    #[test]
    fn missed_news_make_no_thread_wait() {
        let board = board();
        let seen = board.news(0);
        board.tell(0);
        board.wait_for_news(0, seen);
        assert_ne!(board.news(0), seen);
    }

    #[test]
    fn two_threads_take_turns() {
        const TURNS: u32 = if cfg!(miri) { 20 } else { 2000 };
        let board = board();
        let until = |odd: u32| loop {
            let seen = board.news(0);
            if seen % 2 == odd {
                return;
            }
            board.wait_for_news(0, seen);
        };
        std::thread::scope(|scope| {
            for odd in [0, 1] {
                scope.spawn(move || {
                    for _ in 0..TURNS {
                        until(odd);
                        board.tell(0);
                    }
                });
            }
        });
        assert_eq!(board.news(0), 2 * TURNS);
    }
}
