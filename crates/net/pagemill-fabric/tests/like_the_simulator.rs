//! A real MPI program takes exactly the time that the simulator gives the same pattern.

use std::process::Command;

use crate::common::{Programs, lacks_open_mpi, mpirun, run};
use pagemill_fabric::launch::Clocks;
use pagemill_nic::{Action, Completion, NicMachine, Program, Receive, Request, Send, World};
use pagemill_types::Picos;

/// What `programs/latency.c` does: for each size, rounds of a message there and back.
struct PingPong {
    rank: u32,
    page_bytes: u64,
    sizes: Vec<u64>,
    size: usize,
    /// Sends and receives of this size that are over.
    done: u64,
    is_waiting: bool,
    /// Simulated pages: one buffer a size, as each is free again when the next is needed.
    address: u64,
    started_at: Picos,
    spans: Vec<u64>,
}

const ROUNDS: u64 = 10;

impl PingPong {
    fn new(rank: u32, page_bytes: u64) -> Self {
        let sizes = std::iter::once(0).chain((0..=10).map(|power| 4_u64.pow(power)));
        Self {
            rank,
            page_bytes,
            sizes: sizes.collect(),
            size: 0,
            done: 0,
            is_waiting: false,
            address: page_bytes,
            started_at: Picos::ZERO,
            spans: Vec::new(),
        }
    }
}

impl Program for PingPong {
    fn next(&mut self, now: Picos) -> Action {
        if self.is_waiting {
            return Action::Wait;
        }
        if self.done == 2 * ROUNDS {
            self.spans.push(now.0 - self.started_at.0);
            self.address += self.sizes[self.size]
                .max(1)
                .next_multiple_of(self.page_bytes);
            self.size += 1;
            self.done = 0;
            self.started_at = now;
        }
        let Some(&bytes) = self.sizes.get(self.size) else {
            return Action::Exit;
        };
        self.is_waiting = true;
        let (peer, tag, address) = (1 - self.rank, self.done / 2, self.address);
        if self.done % 2 == u64::from(self.rank) {
            Action::Send(Send {
                dest: peer,
                tag,
                bytes,
                address,
            })
        } else {
            Action::Receive(Receive {
                source: Some(peer),
                tag,
                ignore: 0,
                bytes,
                address,
            })
        }
    }

    fn completed(&mut self, _: Request, completion: &Completion, _: Picos) {
        assert!(completion.status.is_success());
        self.done += 1;
        self.is_waiting = false;
    }
}

fn simulated(machine: &NicMachine) -> Vec<u64> {
    let page_bytes = machine.att.layout.page.bytes();
    let ranks = [0, 1].map(|rank| PingPong::new(rank, page_bytes));
    let mut world = World::new(machine, ranks).expect("a machine");
    world.run().expect("an end");
    world.program(0).expect("rank 0").spans.clone()
}

fn real(machine: &NicMachine) -> Vec<u64> {
    let programs = Programs::new();
    let mut command: Command = mpirun(2);
    command.arg(programs.compile("mpicc", "latency", &[]));
    let lines = run(machine, Clocks::Mpi, command).result();
    let spans = lines.lines().map(|line| {
        line.split(' ')
            .nth(1)
            .expect("a time")
            .parse()
            .expect("a number")
    });
    spans.collect()
}

#[test]
fn ping_pong_takes_the_simulated_time_to_the_picosecond() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let pni = NicMachine::pni();
    let mut other = NicMachine::pni();
    other.messages.eager_bytes = 256;
    other.wire.hops = 3;
    other.att.prefetch_groups = 0;
    // Messages of 16, 64 KiB and more go in windows, the last of them not full.
    let mut windows = NicMachine::pni();
    windows.messages.eager_bytes = 4096;
    windows.messages.window_bytes = Some(12 << 10);
    for machine in [pni, other, windows] {
        assert_eq!(real(&machine), simulated(&machine), "{}", machine.name);
    }
}
