//! Faults that are answered on the processor of the thread that faults.
//!
//! A fault puts its thread to sleep and wakes a handler, whose answer wakes the thread. The kernel wakes each on the idle processor that it
//! finds: by an interrupt, from a sleep of that processor, with a flush of both translation caches for each page that moves. On one processor
//! there is none of it, and while one thread waits for the other, nothing is lost by it.
//!
//! The kernel has no call that wakes a thread here. But a thread that sleeps in a fault runs nothing: it may have this one processor until it
//! is awake. The handler, which runs first there, gives it its own processors back before it runs. Running first takes a privilege; without
//! it, the kernel chooses.

use std::sync::atomic::{AtomicU32, Ordering};

use pagemill_linux::process::set_precedence;
use rustix::thread::{CpuSet, Pid, futex, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Faults of a thread, none of another between them, from which on it is the only one.
const ALONE_FROM: u32 = 64;

/// Faults after which the kernel chooses a processor again: the one in use may have other work by now.
const FAULTS_A_CHOICE: u32 = 4096;

/// Which thread faults, and which handler follows it.
#[derive(Debug, Default)]
pub struct Faulting {
    thread: AtomicU32,
    in_a_row: AtomicU32,
    /// Number of the handler, from 1, that alone takes faults; 0: all do. A waking thread takes the processor from its handler, which then
    /// is late for the next fault: another handler would answer that one, on another processor.
    follower: AtomicU32,
}

impl Faulting {
    /// Notes a fault of `thread` that `handler` answers; says whether it follows this thread, the only one that faults.
    fn note(&self, thread: u32, handler: u32) -> bool {
        if self.thread.swap(thread, Ordering::Relaxed) != thread {
            self.in_a_row.store(0, Ordering::Relaxed);
            self.end();
        }
        if thread == 0 || self.in_a_row.fetch_add(1, Ordering::Relaxed) < ALONE_FROM {
            return false;
        }
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = (self.follower).compare_exchange(0, handler, order.0, order.1);
        taken.is_ok() || taken == Err(handler)
    }

    /// No handler follows a thread any more.
    pub fn end(&self) {
        if self.follower.swap(0, Ordering::Relaxed) != 0 {
            let _ = futex::wake(&self.follower, futex::Flags::PRIVATE, i32::MAX as u32);
        }
    }

    /// Waits while another handler than `handler` follows a thread.
    fn wait_for_turn(&self, handler: u32) {
        loop {
            let follower = self.follower.load(Ordering::Relaxed);
            if follower == 0 || follower == handler {
                return;
            }
            let _ = futex::wait(&self.follower, futex::Flags::PRIVATE, follower, None);
        }
    }
}

/// A handler, and its processor.
#[derive(Debug)]
pub struct Beside {
    /// Its number, from 1.
    handler: u32,
    /// Processors that it had at first; none where it cannot choose.
    all: Option<CpuSet>,
    /// The one that it stays on.
    chosen: Option<usize>,
    answered: u32,
}

impl Beside {
    /// Of the thread that calls, handler `number` from 0.
    pub fn new(number: usize) -> Self {
        let all = sched_getaffinity(None).ok();
        let mut beside = Self {
            handler: number as u32 + 1,
            all: all.filter(|all| all.count() > 1),
            chosen: None,
            answered: 0,
        };
        if set_precedence(true)
            .and_then(|()| set_precedence(false))
            .is_err()
        {
            beside.all = None;
        }
        beside
    }

    /// Waits while another handler follows a thread.
    pub fn wait_for_turn(&self, faulting: &Faulting) {
        faulting.wait_for_turn(self.handler);
    }

    /// Whether it is to follow `thread`, which has met a fault.
    pub fn follows(&mut self, thread: u32, faulting: &Faulting) -> bool {
        let follows = self.all.is_some() && faulting.note(thread, self.handler);
        if !follows {
            self.let_go();
        }
        follows
    }

    /// Calls `wake`, so that `thread`, which sleeps in a fault, wakes on this processor.
    pub fn wake(&mut self, thread: u32, wake: impl FnOnce()) {
        let held = self.hold(thread);
        wake();
        let Some((thread, its_own)) = held else {
            return;
        };
        // Unless it was given other processors meanwhile.
        if sched_getaffinity(Some(thread)).ok() == self.chosen.map(only) {
            let _ = sched_setaffinity(Some(thread), &its_own);
        }
    }

    /// Gives `thread` this processor alone; returns what it had.
    fn hold(&mut self, thread: u32) -> Option<(Pid, CpuSet)> {
        self.answered += 1;
        if self.answered.is_multiple_of(FAULTS_A_CHOICE) {
            self.let_go();
        }
        let thread = Pid::from_raw(i32::try_from(thread).ok()?)?;
        let its_own = sched_getaffinity(Some(thread)).ok()?;
        if self.chosen.is_none() {
            self.stay();
        }
        let here = self.chosen?;
        if !its_own.is_set(here) {
            self.let_go();
            return None;
        }
        if its_own.count() > 1 {
            sched_setaffinity(Some(thread), &only(here)).ok()?;
            return Some((thread, its_own));
        }
        None
    }

    /// Stays on the processor that it is on, and comes first there: a thread that it wakes runs once that one's processors are its own
    /// again.
    fn stay(&mut self) {
        let here = sched_getcpu();
        if sched_setaffinity(None, &only(here)).is_ok() && set_precedence(true).is_ok() {
            self.chosen = Some(here);
        }
    }

    /// Has the kernel choose where and when this thread runs.
    fn let_go(&mut self) {
        if let (Some(all), Some(_)) = (&self.all, self.chosen.take()) {
            let _ = sched_setaffinity(None, all);
            let _ = set_precedence(false);
        }
    }
}

fn only(processor: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(processor);
    set
}
