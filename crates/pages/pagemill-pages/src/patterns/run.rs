//! The loop: thread blocks and the page manager in one heap, the earliest goes on.

use pagemill_types::Picos;

use super::grid::ReaderGrid;
use super::machine::UvmMachine;
use super::memory::{Memory, Reader, Sleeper};
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
    /// The page manager's number in the heap, behind those of all actors.
    manager_number: u32,
    memory: &'a mut Memory,
    /// Whether the page manager is in the heap.
    manager_awake: bool,
    awake: Vec<Sleeper>,
    end: Picos,
    pub reads: u64,
}

impl<'a> Kernel<'a> {
    pub(super) fn new(machine: &'a UvmMachine, grid: ReaderGrid, memory: &'a mut Memory) -> Self {
        Self {
            machine,
            sleeps: vec![Sleep::default(); grid.len() as usize],
            manager_number: grid.len(),
            grid,
            heap: EventHeap::default(),
            memory,
            manager_awake: false,
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
        self.heap.restart(start, self.manager_number + 1);
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
            // Reads of 120 GB on demand can last longer than the 18 minutes that a key has bits for.
            if at.saturating_since(self.heap.origin()).0 > MAX_LAUNCH_TIME.0 / 2 {
                self.heap.move_origin(at);
            }
            if actor == self.manager_number {
                self.run_manager(at);
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
        self.queue_manager();
    }

    /// A page manager that was woken takes its place in the heap.
    fn queue_manager(&mut self) {
        let manager = &mut self.memory.manager;
        // No cache and no TLB of this model keeps what has left.
        if let Some(moves) = manager.moves() {
            moves.clear();
        }
        if !self.manager_awake
            && let Some(due) = manager.due()
        {
            self.manager_awake = true;
            self.heap.push(due, self.manager_number);
        }
    }

    /// The page manager, which is on top of the heap, goes on, and again as long as reads can be repeated.
    fn run_manager(&mut self, now: Picos) {
        let mut awake = std::mem::take(&mut self.awake);
        self.heap.pop();
        self.manager_awake = false;
        loop {
            let memory = &mut *self.memory;
            (memory.manager).advance(now, &mut memory.paths.host_link, &mut awake);
            if awake.is_empty() {
                break;
            }
            for read in awake.drain(..) {
                self.repeat(now, read);
            }
        }
        self.awake = awake;
        self.queue_manager();
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
