use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Lets `fork` happen while no thread is inside of the pager, so that the child finds every lock open.
///
/// Made of plain numbers: a lock could be taken at the moment of the `fork` by a thread that the child does not have.
#[derive(Debug, Default)]
pub struct Gate {
    is_closed: AtomicBool,
    inside: AtomicU32,
}

/// A thread is inside as long as this lives.
#[derive(Debug)]
pub struct Inside<'a>(&'a Gate);

impl Gate {
    pub fn enter(&self) -> Inside<'_> {
        loop {
            self.inside.fetch_add(1, Ordering::SeqCst);
            if !self.is_closed.load(Ordering::SeqCst) {
                return Inside(self);
            }
            self.inside.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Returns once no thread is inside.
    pub fn close(&self) {
        while self.is_closed.swap(true, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_micros(50));
        }
        while self.inside.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    /// In a child of `fork`, whose only thread is outside: one of the parent's may have been counted while it looked whether it may enter.
    pub fn open_alone(&self) {
        self.inside.store(0, Ordering::SeqCst);
        self.open();
    }

    pub fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}
