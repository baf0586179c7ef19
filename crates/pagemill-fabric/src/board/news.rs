//! Waiting for what other processes do, without keeping a core from them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::thread::futex;

use super::Board;
use super::layout::Layout;

/// Looks before a waiter sleeps: an answer by a process that runs comes sooner than a sleeper wakes.
const SPINS: u32 = 400;

/// Longest sleep: programs also wait for what is not on the board.
const SLEEP: futex::Timespec = futex::Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

impl Board {
    /// The state of the news. Read it before a look around that may find nothing to do.
    pub fn news(&self) -> u32 {
        self.words[Layout::NEWS].load(Ordering::SeqCst) as u32
    }

    /// Tells everybody that something has changed.
    pub fn tell(&self) {
        self.words[Layout::NEWS].fetch_add(1, Ordering::SeqCst);
        // A sleeper that is not counted yet sees the new state before it sleeps.
        if self.words[Layout::SLEEPERS].load(Ordering::SeqCst) > 0 {
            let word = low_half(&self.words[Layout::NEWS]);
            let _ = futex::wake(word, futex::Flags::empty(), u32::MAX);
        }
    }

    /// Waits until the news are others than `seen`, or a moment. Somebody who is killed here stays counted, which costs the
    /// others a system call a time.
    pub fn wait_for_news(&self, seen: u32) {
        for _ in 0..SPINS {
            if self.news() != seen {
                return;
            }
            std::hint::spin_loop();
        }
        if cfg!(miri) {
            return std::thread::yield_now();
        }
        self.words[Layout::SLEEPERS].fetch_add(1, Ordering::SeqCst);
        let word = low_half(&self.words[Layout::NEWS]);
        let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&SLEEP));
        self.words[Layout::SLEEPERS].fetch_sub(1, Ordering::SeqCst);
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
        let words: Vec<AtomicU64> = (0..Board::WORDS.min(64))
            .map(|_| AtomicU64::new(0))
            .collect();
        Board {
            words: words.leak(),
        }
    }

    #[test]
    fn news_that_are_missed_do_not_make_anybody_wait() {
        let board = board();
        let seen = board.news();
        board.tell();
        board.wait_for_news(seen);
        assert_ne!(board.news(), seen);
    }

    #[test]
    fn two_threads_take_turns() {
        const TURNS: u32 = if cfg!(miri) { 20 } else { 2000 };
        let board = board();
        let until = |odd: u32| loop {
            let seen = board.news();
            if seen % 2 == odd {
                return;
            }
            board.wait_for_news(seen);
        };
        std::thread::scope(|scope| {
            for odd in [0, 1] {
                scope.spawn(move || {
                    for _ in 0..TURNS {
                        until(odd);
                        board.tell();
                    }
                });
            }
        });
        assert_eq!(board.news(), 2 * TURNS);
    }
}
