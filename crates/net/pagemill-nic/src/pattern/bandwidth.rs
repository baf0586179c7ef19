use pagemill_types::Picos;

use super::super::descriptor::Key;
use super::super::machine::NicMachine;
use super::super::packet::{Completion, Receive, Request, Send};
use super::super::program::{Action, Program};
use super::super::world::{World, WorldError, WorldReport};
use super::{Addresses, Level, Transfer, reach};

/// Windows of transfers from one rank to the other, or both ways at once.
///
/// With messages, each window is answered by an empty message, as the OSU programs do; with RDMA, the acknowledgements say that a
/// window is over.
#[derive(Clone, Debug)]
pub struct BandwidthSpec {
    /// What carries the data.
    pub level: Level,
    /// Whether both ranks send.
    pub both_ways: bool,
    /// Bytes of a transfer.
    pub bytes: u64,
    /// Transfers of a window.
    pub window: u64,
    /// Windows that count.
    pub iterations: u64,
    /// Windows before them.
    pub warmup: u64,
    /// Where transfers come from.
    pub source: Addresses,
    /// Where they go.
    pub target: Addresses,
}

/// One of the two ranks.
#[derive(Debug)]
pub struct BandwidthRank {
    spec: BandwidthSpec,
    peer: u32,
    key: Key,
    sends: bool,
    receives: bool,
    windows_left: u64,
    /// What is still to be started of this window.
    to_receive: u64,
    to_send: u64,
    answer: Answer,
    under_way: u64,
    started_at: Picos,
    ended_at: Picos,
}

/// How far the empty message that ends a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Due,
    Done,
}

const DATA: u64 = 0;
const ANSWER: u64 = 1;

impl BandwidthSpec {
    /// Runs it; returns the time of the windows that count and what the interfaces counted.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn run(&self, machine: &NicMachine) -> Result<(Picos, WorldReport), WorldError> {
        let rank = |id: u32| {
            let mut rank = BandwidthRank {
                spec: self.clone(),
                peer: 1 - id,
                key: Key::default(),
                sends: id == 0 || self.both_ways,
                receives: (id == 1 || self.both_ways) && self.level == Level::Mpi,
                windows_left: self.warmup + self.iterations,
                to_receive: 0,
                to_send: 0,
                answer: Answer::Done,
                under_way: 0,
                started_at: Picos::ZERO,
                ended_at: Picos::ZERO,
            };
            rank.open_window(Picos::ZERO);
            rank
        };
        machine.check_reach(reach(&self.source, &self.target))?;
        let mut world = World::new(machine, [rank(0), rank(1)])?;
        world.register_both(self.target.extent(), |rank, key| rank.key = key);
        let report = world.run()?;
        let span = world
            .program(0)
            .map_or(Picos::ZERO, |rank| rank.ended_at - rank.started_at);
        Ok((span, report))
    }

    /// Bytes that the windows that count move, both ways together.
    pub fn counted_bytes(&self) -> u64 {
        let ways = if self.both_ways { 2 } else { 1 };
        self.bytes * self.window * self.iterations * ways
    }
}

impl BandwidthRank {
    fn open_window(&mut self, now: Picos) {
        if self.windows_left == self.spec.iterations {
            self.started_at = now;
        }
        if self.windows_left == 0 {
            self.ended_at = now;
            return;
        }
        self.windows_left -= 1;
        let mpi = self.spec.level == Level::Mpi;
        // Where both send, the data of the other side is the answer.
        let answers = u64::from(mpi && !self.spec.both_ways);
        let data = if self.receives { self.spec.window } else { 0 };
        self.to_receive = data + if self.sends { answers } else { 0 };
        self.to_send = if self.sends { self.spec.window } else { 0 };
        self.answer = if answers == 1 && !self.sends {
            Answer::Due
        } else {
            Answer::Done
        };
    }

    fn next_receive(&mut self) -> Action {
        self.to_receive -= 1;
        let is_answer = !self.receives;
        let (tag, bytes) = if is_answer {
            (ANSWER, 0)
        } else {
            (DATA, self.spec.bytes)
        };
        let address = self.spec.target.next_address();
        Action::Receive(Receive {
            source: Some(self.peer),
            tag,
            ignore: 0,
            bytes,
            address,
        })
    }

    fn next_send(&mut self) -> Action {
        self.to_send -= 1;
        let transfer = Transfer {
            peer: self.peer,
            bytes: self.spec.bytes,
            tag: DATA,
            key: self.key,
        };
        let spec = &mut self.spec;
        spec.level
            .carry(transfer, &mut spec.source, &mut spec.target)
    }
}

impl Program for BandwidthRank {
    fn next(&mut self, now: Picos) -> Action {
        let is_over = self.to_receive + self.to_send + self.under_way == 0;
        if self.to_receive > 0 {
            self.next_receive()
        } else if self.to_send > 0 {
            self.next_send()
        } else if !is_over {
            Action::Wait
        } else if self.answer == Answer::Due {
            self.answer = Answer::Done;
            Action::Send(Send {
                dest: self.peer,
                tag: ANSWER,
                bytes: 0,
                address: 0,
            })
        } else if self.windows_left > 0 && (self.sends || self.receives) {
            self.open_window(now);
            self.next(now)
        } else {
            self.ended_at = now;
            Action::Exit
        }
    }

    fn started(&mut self, _request: Request) {
        self.under_way += 1;
    }

    fn completed(&mut self, _request: Request, _completion: &Completion, _now: Picos) {
        self.under_way -= 1;
    }
}
