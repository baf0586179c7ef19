//! The loop: thread blocks and the driver in one heap, the earliest goes on.

use pagemill_policy::residency::{Touch, WarpRead};
use pagemill_types::Picos;

use super::fault_buffer::{FaultBuffer, Waiter};
use super::fault_handler::HandlerStep;
use super::grid::Crew;
use super::machine::UvmMachine;
use super::memory::{Access, Memory, Mover};
use super::piece::{Piece, add_pieces};
use crate::gpu::event_heap::{EventHeap, MAX_LAUNCH_TIME, WARP_BITS};

/// The driver's number in the heap; no actor has it.
const DRIVER: u32 = (1 << WARP_BITS) - 1;

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
    crew: Crew,
    sleeps: Vec<Sleep>,
    heap: EventHeap,
    memory: &'a mut Memory,
    buffer: &'a mut FaultBuffer,
    driver_awake: bool,
    step: Vec<WarpRead>,
    pieces: Vec<Piece>,
    awake: Vec<Waiter>,
    end: Picos,
    pub reads: u64,
}

impl<'a> Kernel<'a> {
    pub(super) fn new(
        machine: &'a UvmMachine,
        crew: Crew,
        memory: &'a mut Memory,
        buffer: &'a mut FaultBuffer,
    ) -> Self {
        Self {
            machine,
            sleeps: vec![Sleep::default(); crew.len() as usize],
            crew,
            heap: EventHeap::default(),
            memory,
            buffer,
            driver_awake: false,
            step: Vec::new(),
            pieces: Vec::new(),
            awake: Vec::new(),
            end: Picos::ZERO,
            reads: 0,
        }
    }

    /// Runs the kernel from `start` on; answers when its last warp has ended. `watch` is told from time to time how many
    /// reads were made, and ends the run by answering false.
    pub(super) fn run(
        &mut self,
        start: Picos,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Option<Picos> {
        self.heap.restart(start);
        self.end = start;
        for actor in 0..self.crew.len() {
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
            if actor == DRIVER {
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
        self.step.clear();
        self.crew.next_step(actor, &mut self.step);
        if self.step.is_empty() {
            self.end = self.end.max(at);
            self.heap.pop();
            return;
        }
        self.reads += self.step.len() as u64;
        self.pieces.clear();
        for &read in &self.step {
            add_pieces(read, &mut self.pieces);
        }
        let utlb = self.crew.utlb(actor);
        let mut sleep = Sleep {
            waiting: 0,
            done: at,
        };
        let mut call_driver = false;
        for &piece in &self.pieces {
            match self.memory.access(at, utlb, piece) {
                Access::Done(done) => sleep.done = sleep.done.max(done),
                Access::Reported(done) => {
                    sleep.done = sleep.done.max(done);
                    call_driver = true;
                }
                Access::Fault => {
                    sleep.waiting += 1;
                    self.buffer.fault(Waiter { actor, utlb, piece });
                    call_driver = true;
                }
            }
        }
        if sleep.waiting == 0 {
            let next = sleep.done + self.machine.sm.iteration;
            self.heap.replace_top(next, actor);
        } else {
            self.heap.pop();
            self.sleeps[actor as usize] = sleep;
        }
        if call_driver {
            self.call_driver(at);
        }
    }

    /// An idle driver is interrupted.
    fn call_driver(&mut self, at: Picos) {
        if !self.driver_awake {
            self.driver_awake = true;
            let latency = self.machine.faults.interrupt_latency;
            self.heap.push(at + latency, DRIVER);
        }
    }

    /// The driver, which is on top of the heap, goes on.
    fn run_driver(&mut self, now: Picos) {
        let Mover::Driver(handler) = &mut self.memory.mover else {
            self.heap.pop();
            return;
        };
        match handler.advance(now, self.buffer, &mut self.memory.wires) {
            HandlerStep::Again(at) => self.heap.replace_top(at, DRIVER),
            HandlerStep::Replay => {
                self.heap.pop();
                self.driver_awake = false;
                self.replay(now);
                // Those that came along and found their page left room that no later replay would give away.
                while self.buffer.waits_for_nothing() {
                    self.replay(now);
                }
                self.go_on_serving(now);
            }
        }
    }

    /// What is left is served at once, or when its throttle ends.
    fn go_on_serving(&mut self, now: Picos) {
        if self.driver_awake {
            return;
        }
        let Mover::Driver(handler) = &self.memory.mover else {
            return;
        };
        let due = if handler.has_reports() {
            Some(now)
        } else {
            self.buffer.next_due()
        };
        if let Some(due) = due {
            self.driver_awake = true;
            self.heap.push(due.max(now), DRIVER);
        }
    }

    /// Repeats the accesses whose pages are there.
    fn replay(&mut self, now: Picos) {
        let Mover::Driver(handler) = &self.memory.mover else {
            return;
        };
        let driver = handler.driver();
        let mut awake = std::mem::take(&mut self.awake);
        let is_there = |page| driver.touch(page) != Touch::Fault;
        self.buffer.replay(handler.served(), is_there, &mut awake);
        for waiter in awake.drain(..) {
            self.repeat(now, waiter);
        }
        self.awake = awake;
    }

    fn repeat(&mut self, now: Picos, waiter: Waiter) {
        let sleep = &mut self.sleeps[waiter.actor as usize];
        match self.memory.access(now, waiter.utlb, waiter.piece) {
            Access::Done(done) | Access::Reported(done) => {
                sleep.waiting -= 1;
                sleep.done = sleep.done.max(done);
                if sleep.waiting == 0 {
                    let next = sleep.done + self.machine.sm.iteration;
                    self.heap.push(next, waiter.actor);
                }
            }
            Access::Fault => self.buffer.fault(waiter),
        }
    }
}
