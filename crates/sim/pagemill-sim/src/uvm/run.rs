//! The loop: thread blocks and the driver in one heap, the earliest goes on.

use pagemill_types::Picos;

use super::grid::ReaderGrid;
use super::machine::UvmMachine;
use super::memory::{Memory, PageManager, Reader, Sleeper};
use crate::parts::event_heap::{EventHeap, MAX_LAUNCH_TIME};

/// Some milliseconds of real time.
const EVENTS_UNWATCHED: u32 = 1 << 16;

/// What an actor sleeps for.
#[derive(Clone, Copy, Debug, Default)]
struct Sleep {
    /// Accesses of its step that still wait.
    waiting: u32,
    /// When those that do not are done.
    done: Picos,
}

/// One run of the kernel.
pub(super) struct Kernel<'a> {
    machine: &'a UvmMachine,
    grid: ReaderGrid,
    sleeps: Vec<Sleep>,
    heap: EventHeap,
    /// The driver's number in the heap, behind those of all actors.
    driver: u32,
    memory: &'a mut Memory,
    /// Whether the driver is in the heap.
    driver_awake: bool,
    awake: Vec<Sleeper>,
    end: Picos,
    pub reads: u64,
}

impl<'a> Kernel<'a> {
    pub(super) fn new(machine: &'a UvmMachine, grid: ReaderGrid, memory: &'a mut Memory) -> Self {
        Self {
            machine,
            sleeps: vec![Sleep::default(); grid.len() as usize],
            driver: grid.len(),
            grid,
            heap: EventHeap::default(),
            memory,
            driver_awake: false,
            awake: Vec::new(),
            end: Picos::ZERO,
            reads: 0,
        }
    }

    /// Runs the kernel from `start` on; answers when its last warp has ended. `watch` gets from time to time how many
    /// reads were made, and ends the run by answering false.
    pub(super) fn run(
        &mut self,
        start: Picos,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Option<Picos> {
        self.heap.restart(start, self.driver + 1);
        self.end = start;
        for actor in 0..self.grid.len() {
            self.heap.push(start, actor);
        }
        let mut until_watched = EVENTS_UNWATCHED;
        while let Some((at, actor)) = self.heap.top() {
            until_watched -= 1;
            if until_watched == 0 {
                until_watched = EVENTS_UNWATCHED;
                if !watch(self.reads) {
                    return None;
                }
            }
            self.heap.enter_top();
            if at.saturating_since(self.heap.origin()).0 > MAX_LAUNCH_TIME.0 / 2 {
                self.heap.move_origin(at);
            }
            if actor == self.driver {
                self.run_driver(at);
            } else {
                self.run_actor(at, actor);
            }
        }
        Some(self.end)
    }

    /// The next step of the actor on top of the heap.
    #[inline]
    fn run_actor(&mut self, at: Picos, actor: u32) {
        let mut sleep = Sleep {
            waiting: 0,
            done: at,
        };
        let utlb = self.grid.utlb(actor);
        let memory = &mut *self.memory;
        let reads = self.grid.next_step(actor, |piece| {
            match memory.access(at, Reader { actor, utlb }, piece) {
                Some(done) => sleep.done = sleep.done.max(done),
                None => sleep.waiting += 1,
            }
        });
        if reads == 0 {
            self.end = self.end.max(at);
            self.heap.pop();
            return;
        }
        self.reads += reads;
        if sleep.waiting == 0 {
            let next = sleep.done + self.machine.sm.iteration;
            self.heap.replace_top(next, actor);
        } else {
            self.heap.pop();
            self.sleeps[actor as usize] = sleep;
        }
        self.queue_driver();
    }

    /// A driver that was woken takes its place in the heap.
    fn queue_driver(&mut self) {
        if let PageManager::Driver(pages) = &mut self.memory.manager {
            pages.moves().clear();
            if !self.driver_awake
                && let Some(due) = pages.due()
            {
                self.driver_awake = true;
                self.heap.push(due, self.driver);
            }
        }
    }

    /// The driver, which is on top of the heap, goes on.
    fn run_driver(&mut self, now: Picos) {
        let mut awake = std::mem::take(&mut self.awake);
        if let PageManager::Driver(pages) = &mut self.memory.manager {
            pages.advance(now, &mut self.memory.paths.host_link, &mut awake);
            if awake.is_empty()
                && let Some(due) = pages.due()
            {
                self.awake = awake;
                return self.heap.replace_top(due, self.driver);
            }
        }
        self.heap.pop();
        self.driver_awake = false;
        while !awake.is_empty() {
            for read in awake.drain(..) {
                self.repeat(now, read);
            }
            if let PageManager::Driver(pages) = &mut self.memory.manager {
                pages.release_blocked(now, &mut awake);
            }
        }
        self.awake = awake;
        self.queue_driver();
    }

    fn repeat(&mut self, now: Picos, read: Sleeper) {
        let Some(done) = self.memory.access(now, read.reader, read.piece) else {
            return;
        };
        let actor = read.reader.actor;
        let sleep = &mut self.sleeps[actor as usize];
        sleep.waiting -= 1;
        sleep.done = sleep.done.max(done);
        if sleep.waiting == 0 {
            let next = sleep.done + self.machine.sm.iteration;
            self.heap.push(next, actor);
        }
    }
}
