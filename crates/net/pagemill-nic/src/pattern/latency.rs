use pagemill_types::Picos;

use super::super::descriptor::Key;
use super::super::machine::NicMachine;
use super::super::packet::{Completion, Receive, Request};
use super::super::program::{Action, Program};
use super::super::world::{World, WorldError, WorldReport};
use super::{Addresses, Level, Transfer, reach};

/// Ping-pong between two ranks: half of a round trip is the latency.
#[derive(Clone, Debug)]
pub struct LatencySpec {
    /// What carries the data.
    pub level: Level,
    /// Bytes of a message.
    pub bytes: u64,
    /// Round trips that count.
    pub iterations: u64,
    /// Round trips before them.
    pub warmup: u64,
    /// Where messages are sent from.
    pub source: Addresses,
    /// Where they go.
    pub target: Addresses,
}

/// One of the two ranks.
#[derive(Debug)]
pub struct LatencyRank {
    spec: LatencySpec,
    peer: u32,
    /// The peer's registration, for RDMA.
    key: Key,
    /// Whether it is this rank's turn to send.
    sends_next: bool,
    /// The receive that waits for the other's message.
    receive: Posting,
    left: u64,
    started_at: Picos,
    ended_at: Picos,
}

/// How far a receive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posting {
    No,
    Asked,
    Done(Request),
}

impl LatencySpec {
    /// Runs it; returns the mean latency, from send to receipt, and what the interfaces counted.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn run(&self, machine: &NicMachine) -> Result<(Picos, WorldReport), WorldError> {
        let rank = |id: u32| LatencyRank {
            spec: self.clone(),
            peer: 1 - id,
            key: Key::default(),
            sends_next: id == 0,
            receive: Posting::No,
            left: self.warmup + self.iterations,
            started_at: Picos::ZERO,
            ended_at: Picos::ZERO,
        };
        machine.check_reach(reach(&self.source, &self.target))?;
        let mut world = World::new(machine, [rank(0), rank(1)])?;
        world.register_both(self.target.extent(), |rank, key| rank.key = key);
        let report = world.run()?;
        let span = world
            .program(0)
            .map_or(Picos::ZERO, |rank| rank.ended_at - rank.started_at);
        Ok((Picos(span.0 / (2 * self.iterations.max(1))), report))
    }
}

impl LatencyRank {
    fn send(&mut self, now: Picos) -> Action {
        if self.left == self.spec.iterations {
            self.started_at = now;
        }
        self.sends_next = false;
        let transfer = Transfer {
            peer: self.peer,
            bytes: self.spec.bytes,
            tag: 0,
            key: self.key,
        };
        let spec = &mut self.spec;
        spec.level
            .carry(transfer, &mut spec.source, &mut spec.target)
    }

    fn received(&mut self, now: Picos) {
        self.receive = Posting::No;
        self.left -= 1;
        self.sends_next = true;
        self.ended_at = now;
    }
}

impl Program for LatencyRank {
    fn next(&mut self, now: Picos) -> Action {
        // The rank that answers has an answer to send after its last receipt.
        let is_over = self.left == 0 && !(self.peer == 0 && self.sends_next);
        if is_over {
            Action::Exit
        } else if self.spec.level == Level::Mpi && self.receive == Posting::No && self.left > 0 {
            self.receive = Posting::Asked;
            let address = self.spec.target.next_address();
            Action::Receive(Receive {
                source: Some(self.peer),
                tag: 0,
                ignore: 0,
                bytes: self.spec.bytes,
                address,
            })
        } else if self.sends_next {
            self.send(now)
        } else {
            Action::Wait
        }
    }

    fn started(&mut self, request: Request) {
        if self.receive == Posting::Asked {
            self.receive = Posting::Done(request);
        }
    }

    fn completed(&mut self, request: Request, _completion: &Completion, now: Picos) {
        if self.receive == Posting::Done(request) {
            self.received(now);
        }
    }

    fn stored(&mut self, _source: u32, _address: u64, _bytes: u64, now: Picos) {
        self.received(now);
    }
}
